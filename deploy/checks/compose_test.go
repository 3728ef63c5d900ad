package checks

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
)

// project is the compose file as Docker Compose reads it: checked against the schema,
// with its variables and extensions resolved.
func project(t *testing.T) *compose.Project {
	t.Helper()
	file := compose.ConfigFile{Filename: "../compose/compose.yaml", Content: []byte(deployed(t, "compose/compose.yaml"))}
	p, err := loader.LoadWithContext(context.Background(), compose.ConfigDetails{
		WorkingDir: "../compose", ConfigFiles: []compose.ConfigFile{file}, Environment: compose.Mapping{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeFileHasFiveBackendsAndTwoProxies(t *testing.T) {
	p := project(t)
	var backends []string
	for _, name := range p.ServiceNames() {
		if strings.HasPrefix(name, "redis-") {
			backends = append(backends, name+":6379")
		}
	}
	if len(backends) != 5 {
		t.Fatalf("backends: %v", backends)
	}
	for _, name := range []string{"proxy-1", "proxy-2"} {
		s := p.Services[name]
		environ := map[string]string{"REDLOCK_PROXY_SERVER_LISTEN": "0.0.0.0:6380"} // of the image
		for k, v := range s.Environment {
			environ[k] = *v
		}
		files := map[string]string{}
		for _, secret := range s.Secrets {
			files["/run/secrets/"+secret.Source] = "secret-of-" + secret.Source
		}
		if _, there := files["/run/secrets/admin"]; there {
			t.Errorf("%s can read the administrator's password", name)
		}
		c := configured(t, environ, files)
		var listed []string
		for _, b := range c.Group.Backends {
			listed = append(listed, b.Address)
		}
		if !slices.Equal(listed, backends) {
			t.Errorf("%s votes with %v, and there are %v", name, listed, backends)
		}
		if c.Server.Password.Reveal() != "secret-of-clients" || c.Group.BackendPassword.Reveal() != "secret-of-backends" {
			t.Errorf("%s has not the passwords that are made for it", name)
		}
		if grace := time.Duration(*s.StopGracePeriod); grace <= c.Server.Drain {
			t.Errorf("%s is killed after %s, while it drains for %s", name, grace, c.Server.Drain)
		}
	}
}

func TestComposeFilePublishesNothingBeyondThisMachine(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is published on %q", name, port.HostIP)
			}
			if strings.HasPrefix(name, "redis-") {
				t.Errorf("backend %s is published", name)
			}
		}
		if strings.HasPrefix(name, "redis-") || strings.HasPrefix(name, "proxy-") {
			if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("%s may do more than it needs", name)
			}
		}
	}
	if !p.Networks["backends"].Internal {
		t.Error("the backends' network leads elsewhere")
	}
}

func TestComposeFileNamesOnlyWhatIsThere(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type == compose.VolumeTypeBind {
				if !exists(filepath.Join("../compose", v.Source)) {
					t.Errorf("%s mounts %s", name, v.Source)
				}
			}
		}
	}
	for name, c := range p.Configs {
		if !exists(filepath.Join("../compose", c.File)) {
			t.Errorf("configuration %s is %s", name, c.File)
		}
	}
	text := deployed(t, "compose/compose.yaml")
	for name := range p.Secrets {
		if !strings.Contains(text, "> secrets/"+name+" ") {
			t.Errorf("nobody says how to make the secret %s", name)
		}
	}
	if target := p.Services["prometheus"].Volumes[0].Target; target != "/etc/prometheus" {
		t.Errorf("prometheus.yml is in %s", target)
	}
	scraped := deployed(t, "prometheus/prometheus.yml")
	for _, proxy := range []string{"proxy-1:9121", "proxy-2:9121"} {
		if !strings.Contains(scraped, proxy) {
			t.Errorf("Prometheus does not scrape %s", proxy)
		}
	}
}
