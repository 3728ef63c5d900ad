package checks

import (
	"maps"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// object is what every type of Kubernetes has.
type object interface{ GetName() string }

// types are those of the manifests, by kind and version.
var types = map[string]func() object{
	"apps/v1 Deployment":                      func() object { return &apps.Deployment{} },
	"apps/v1 StatefulSet":                     func() object { return &apps.StatefulSet{} },
	"v1 ConfigMap":                            func() object { return &core.ConfigMap{} },
	"v1 Namespace":                            func() object { return &core.Namespace{} },
	"v1 Service":                              func() object { return &core.Service{} },
	"policy/v1 PodDisruptionBudget":           func() object { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() object { return &networking.NetworkPolicy{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() object { return &monitoring.ServiceMonitor{} },
	"monitoring.coreos.com/v1 PodMonitor":     func() object { return &monitoring.PodMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() object { return &monitoring.PrometheusRule{} },
}

// manifests are all objects of a file.
func manifests(t *testing.T, file string) []object {
	t.Helper()
	return objectsIn(t, file, deployed(t, "kubernetes/"+file))
}

// objectsIn are all objects of a text. A field that its type does not have, or that
// stands there twice, ends the test.
func objectsIn(t *testing.T, file, text string) (all []object) {
	t.Helper()
	for _, part := range strings.Split(text, "\n---\n") {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(part), &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		make, known := types[kind.APIVersion+" "+kind.Kind]
		if !known {
			t.Fatalf("%s has a %s of %s, which this test does not know", file, kind.Kind, kind.APIVersion)
		}
		o := make()
		if err := yaml.UnmarshalStrict([]byte(part), o); err != nil {
			t.Fatalf("%s, %s: %v", file, kind.Kind, err)
		}
		all = append(all, o)
	}
	return all
}

// shared are the objects of all files but the sidecar's, which is in a namespace of
// its own.
func shared(t *testing.T) []object {
	t.Helper()
	return slices.Concat(manifests(t, "namespace.yaml"), manifests(t, "redis.yaml"), manifests(t, "proxy.yaml"), manifests(t, "servicemonitor.yaml"))
}

// get is the object of one type and name.
func get[T object](t *testing.T, from []object, name string) T {
	t.Helper()
	for _, o := range from {
		if typed, ok := o.(T); ok && o.GetName() == name {
			return typed
		}
	}
	t.Fatalf("no %T called %s", *new(T), name)
	panic("unreachable")
}

// templates are the pods that the objects make, by their owner's name.
func templates(objects []object) map[string]core.PodTemplateSpec {
	all := map[string]core.PodTemplateSpec{}
	for _, o := range objects {
		switch o := o.(type) {
		case *apps.Deployment:
			all[o.Name] = o.Spec.Template
		case *apps.StatefulSet:
			all[o.Name] = o.Spec.Template
		}
	}
	return all
}

func containers(spec core.PodSpec) []core.Container {
	return slices.Concat(spec.InitContainers, spec.Containers)
}

// matches tells whether a selector finds labels; an empty one finds all, and none of
// ours is meant to.
func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

func TestSelectorsFindJustTheirPods(t *testing.T) {
	objects := shared(t)
	pods := templates(objects)
	check := func(what, owner string, selector map[string]string) {
		t.Helper()
		for name, pod := range pods {
			if found := matches(selector, pod.Labels); found != (name == owner) {
				t.Errorf("%s of %s: finds the pods of %s: %v", what, owner, name, found)
			}
		}
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *apps.Deployment:
			check("Deployment", o.Name, o.Spec.Selector.MatchLabels)
			for _, c := range o.Spec.Template.Spec.TopologySpreadConstraints {
				check("spread", o.Name, c.LabelSelector.MatchLabels)
			}
		case *apps.StatefulSet:
			check("StatefulSet", o.Name, o.Spec.Selector.MatchLabels)
			for _, c := range o.Spec.Template.Spec.TopologySpreadConstraints {
				check("spread", o.Name, c.LabelSelector.MatchLabels)
			}
			for _, c := range o.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				check("affinity", o.Name, c.LabelSelector.MatchLabels)
			}
		case *policy.PodDisruptionBudget:
			check("budget", o.Name, o.Spec.Selector.MatchLabels)
		case *networking.NetworkPolicy:
			check("policy", o.Name, o.Spec.PodSelector.MatchLabels)
		case *core.Service:
			check("service", strings.TrimSuffix(o.Name, "-admin"), o.Spec.Selector)
		}
	}
	get[*networking.NetworkPolicy](t, objects, "redis")
	get[*networking.NetworkPolicy](t, objects, "redlock-proxy")
	if n := get[*policy.PodDisruptionBudget](t, objects, "redlock-proxy").Spec.MaxUnavailable; n.IntValue() != 1 {
		t.Errorf("%v proxies may go at once", n)
	}
}

// ports are the named ports of a pod.
func ports(spec core.PodSpec) map[string]int32 {
	all := map[string]int32{}
	for _, c := range containers(spec) {
		for _, p := range c.Ports {
			all[p.Name] = p.ContainerPort
		}
	}
	return all
}

func TestPortsAreThoseThatProxiesAndBackendsListenOn(t *testing.T) {
	objects := shared(t)
	pods := templates(objects)
	if got := ports(pods["redlock-proxy"].Spec); !maps.Equal(got, map[string]int32{"redis": 6380, "admin": 9121}) {
		t.Errorf("the proxy's ports: %v", got)
	}
	if got := ports(pods["redis"].Spec); !maps.Equal(got, map[string]int32{"redis": 6379}) {
		t.Errorf("the backends' ports: %v", got)
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *core.Service:
			there := ports(pods[strings.TrimSuffix(o.Name, "-admin")].Spec)
			for _, p := range o.Spec.Ports {
				if there[p.TargetPort.StrVal] != p.Port {
					t.Errorf("service %s: port %d leads to %s", o.Name, p.Port, p.TargetPort.StrVal)
				}
			}
		case *networking.NetworkPolicy:
			for _, rule := range o.Spec.Ingress {
				for _, p := range rule.Ports {
					if _, there := ports(pods[o.Name].Spec)[p.Port.StrVal]; !there {
						t.Errorf("policy %s: there is no port %s", o.Name, p.Port)
					}
				}
			}
		case *monitoring.ServiceMonitor:
			service := get[*core.Service](t, objects, "redlock-proxy-admin")
			if !matches(o.Spec.Selector.MatchLabels, service.Labels) || matches(o.Spec.Selector.MatchLabels, get[*core.Service](t, objects, "redlock-proxy").Labels) {
				t.Errorf("the monitor does not find just the service of the admin address")
			}
			if len(o.Spec.Endpoints) != 1 || o.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name {
				t.Errorf("the monitor asks %v", o.Spec.Endpoints)
			}
			if service.Labels[o.Spec.JobLabel] != "redlock-proxy" {
				t.Errorf("the job is called %q", service.Labels[o.Spec.JobLabel])
			}
		}
	}
}

func TestNoPodMayDoMoreThanItNeeds(t *testing.T) {
	for name, pod := range templates(append(shared(t), manifests(t, "sidecar.yaml")...)) {
		spec := pod.Spec
		if !*spec.SecurityContext.RunAsNonRoot || *spec.SecurityContext.RunAsUser == 0 || spec.SecurityContext.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %+v", name, spec.SecurityContext)
		}
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s gets a token for Kubernetes", name)
		}
		volumes := map[string]bool{"data": name == "redis"} // made by its claim
		for _, v := range spec.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range containers(spec) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
				t.Errorf("%s, %s: %+v", name, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s, %s: %+v", name, c.Name, c.Resources)
			}
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s, %s: there is no volume %s", name, c.Name, m.Name)
				}
			}
		}
	}
}
