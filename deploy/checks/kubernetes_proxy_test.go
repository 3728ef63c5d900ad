package checks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"redlockproxy/conf"
)

// proxyIn is the configuration of the proxy in a pod, and its container.
func proxyIn(t *testing.T, spec core.PodSpec) (conf.Config, core.Container) {
	t.Helper()
	for _, c := range containers(spec) {
		if c.Name != "redlock-proxy" {
			continue
		}
		environ := map[string]string{"REDLOCK_PROXY_SERVER_LISTEN": "0.0.0.0:6380"} // of the image
		for _, from := range c.EnvFrom {
			for k, v := range get[*core.ConfigMap](t, shared(t), from.ConfigMapRef.Name).Data {
				environ[k] = v
			}
		}
		for _, e := range c.Env {
			environ[e.Name] = e.Value
		}
		files := secretFiles(t, spec, c)
		for path, text := range files {
			if strings.HasPrefix(text, "secret-of-admin") {
				t.Errorf("the proxy can read the administrator's password in %s", path)
			}
		}
		return configured(t, environ, files), c
	}
	t.Fatal("no proxy in the pod")
	panic("unreachable")
}

// secretFiles are the files of the secret "redlock" that a container sees.
func secretFiles(t *testing.T, spec core.PodSpec, c core.Container) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, m := range c.VolumeMounts {
		for _, v := range spec.Volumes {
			if v.Name != m.Name || v.Secret == nil {
				continue
			}
			if v.Secret.SecretName != "redlock" {
				t.Errorf("a secret %s", v.Secret.SecretName)
			}
			items := v.Secret.Items
			if items == nil { // all of the secret
				items = []core.KeyToPath{{Key: "backends", Path: "backends"}, {Key: "clients", Path: "clients"}, {Key: "admin", Path: "admin"}}
			}
			for _, i := range items {
				files[m.MountPath+"/"+i.Path] = "secret-of-" + i.Key + "\n"
			}
		}
	}
	return files
}

func TestProxiesInPodsStartWithTheirConfiguration(t *testing.T) {
	objects := shared(t)
	set := get[*apps.StatefulSet](t, objects, "redis")
	if *set.Spec.Replicas != 5 || set.Spec.ServiceName != get[*core.Service](t, objects, "redis").Name {
		t.Fatalf("%d backends of the service %s", *set.Spec.Replicas, set.Spec.ServiceName)
	}
	for name, spec := range map[string]core.PodSpec{
		"shared":  get[*apps.Deployment](t, objects, "redlock-proxy").Spec.Template.Spec,
		"sidecar": get[*apps.Deployment](t, manifests(t, "sidecar.yaml"), "application").Spec.Template.Spec,
	} {
		c, container := proxyIn(t, spec)
		if len(c.Group.Backends) != 5 {
			t.Fatalf("%s: %d backends", name, len(c.Group.Backends))
		}
		for i, b := range c.Group.Backends {
			if want := fmt.Sprintf("%s-%d.%s.%s:6379", set.Name, i, set.Spec.ServiceName, set.Namespace); b.Address != want {
				t.Errorf("%s: backend %d is %s, want %s", name, i, b.Address, want)
			}
		}
		if c.Group.BackendUser.Reveal() != "redlock-proxy" || c.Group.BackendPassword.Reveal() != "secret-of-backends" {
			t.Errorf("%s: logs in as %s", name, c.Group.BackendUser.Reveal())
		}
		if open := c.Server.Listen != "127.0.0.1:6380"; open && c.Server.Password.Reveal() != "secret-of-clients" {
			t.Errorf("%s: listens on %s without the clients' password", name, c.Server.Listen)
		}
		if c.Server.Admin != "0.0.0.0:9121" {
			t.Errorf("%s: probes can't reach %s", name, c.Server.Admin)
		}
		for _, p := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if p != nil && ports(spec)[p.HTTPGet.Port.StrVal] != 9121 {
				t.Errorf("%s: a probe asks %v", name, p.HTTPGet)
			}
		}
		if container.LivenessProbe.HTTPGet.Path != "/healthz" {
			t.Errorf("%s: is restarted by %s", name, container.LivenessProbe.HTTPGet.Path)
		}
		rest := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
		if container.Lifecycle != nil {
			rest -= time.Duration(container.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		}
		if rest <= c.Server.Drain {
			t.Errorf("%s: killed after %s, while it drains for %s", name, rest, c.Server.Drain)
		}
	}
}

func TestBackendsInPodsHaveTheConfigurationOfTheOthers(t *testing.T) {
	data := get[*core.ConfigMap](t, shared(t), "redis").Data
	if bare(data["redis.conf"]) != bare(deployed(t, "redis/redis.conf")) {
		t.Errorf("redis.conf in the ConfigMap is not deploy/redis/redis.conf:\n%s", data["redis.conf"])
	}
	if bare(data["rights.acl"]) != rights(t) {
		t.Errorf("rights.acl in the ConfigMap is not deploy/redis/rights.acl:\n%s", data["rights.acl"])
	}
}
