package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"

	"redlockproxy/conf"
	"redlockproxy/proxy/redistest"
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

// proxyPods are the pods with a proxy, and the objects that they stand among.
func proxyPods(t *testing.T) map[string][]object {
	t.Helper()
	return map[string][]object{"redlock-proxy": shared(t), "application": manifests(t, "sidecar.yaml")}
}

// The soft limit of memory, the program's own where a manifest has none, is below the hard
// one, and leaves the process some room.
func TestProxiesInPodsCollectBeforeTheirMemoryEnds(t *testing.T) {
	for name, objects := range proxyPods(t) {
		_, container := proxyIn(t, templates(objects)[name].Spec)
		limit := float64(container.Resources.Limits.Memory().Value())
		if name == "redlock-proxy" && limit <= 256<<20 { // the bound of the attacks in proxy/faults
			t.Errorf("%s: an attack ends it at %.0f MiB", name, limit/(1<<20))
		}
		t.Setenv("GOMEMLIMIT", "")
		if i := slices.IndexFunc(container.Env, func(e core.EnvVar) bool { return e.Name == "GOMEMLIMIT" }); i >= 0 {
			t.Setenv("GOMEMLIMIT", container.Env[i].Value)
		}
		p := redistest.StartProxy(t, nil, "-admin", "127.0.0.1:0")
		var soft float64
		if _, err := fmt.Sscanf(metric(t, p.Admin(), "go_gc_gomemlimit_bytes"), "%g", &soft); err != nil || soft > 0.85*limit {
			t.Errorf("%s: the soft limit is %.0f MiB of %.0f, %v", name, soft/(1<<20), limit/(1<<20), err)
		}
	}
}

func TestAdminPortsInPodsAreOpenToMonitoringAlone(t *testing.T) {
	for name, objects := range proxyPods(t) {
		pod := templates(objects)[name]
		policy := get[*networking.NetworkPolicy](t, objects, name)
		if !matches(policy.Spec.PodSelector.MatchLabels, pod.Labels) || !slices.Contains(policy.Spec.PolicyTypes, networking.PolicyTypeIngress) {
			t.Errorf("%s: its policy is another pod's", name)
		}
		open := 0
		for _, rule := range policy.Spec.Ingress {
			admin := len(rule.Ports) == 0
			for _, p := range rule.Ports {
				admin = admin || p.Port == nil || p.Port.String() == "9121" || p.Port.String() == "admin" || p.EndPort != nil
			}
			if !admin {
				continue
			}
			open++
			if len(rule.From) != 1 || rule.From[0].NamespaceSelector == nil || rule.From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "monitoring" {
				t.Errorf("%s: %v reach the admin address", name, rule.From)
			}
		}
		if open != 1 {
			t.Errorf("%s: %d rules lead to the admin address", name, open)
		}
	}
}

func TestSidecarsAreScraped(t *testing.T) {
	sidecar := templates(manifests(t, "sidecar.yaml"))["application"]
	spec := get[*monitoring.PodMonitor](t, manifests(t, "podmonitor.yaml"), "redlock-proxy-sidecars").Spec
	if !spec.NamespaceSelector.Any || !matches(spec.Selector.MatchLabels, sidecar.Labels) || matches(spec.Selector.MatchLabels, templates(shared(t))["redlock-proxy"].Labels) {
		t.Errorf("it finds %v of %v", spec.Selector, spec.NamespaceSelector)
	}
	if len(spec.PodMetricsEndpoints) != 1 {
		t.Fatalf("%v", spec.PodMetricsEndpoints)
	}
	e := spec.PodMetricsEndpoints[0]
	if e.Port == nil || ports(sidecar.Spec)[*e.Port] != 9121 || e.Path != "/metrics" {
		t.Errorf("it asks %v", e)
	}
	if r := e.RelabelConfigs; len(r) != 1 || r[0].TargetLabel != "job" || r[0].Replacement == nil || *r[0].Replacement != "redlock-proxy" {
		t.Errorf("the job is not that of the alerts: %v", r)
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
