package checks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // each fills legacyscheme
	appsrules "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corerules "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingrules "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyrules "k8s.io/kubernetes/pkg/apis/policy/validation"
	"sigs.k8s.io/yaml"
)

// refused is what a cluster says against creating an object; nil if it takes it.
//
// The published OpenAPI documents would not do: they list no words that a field may
// have. So Kubernetes' own types go the way that they go in its API server, through
// defaults and conversion to what it checks, and the operator's against the schema of
// their definition.
func refused(t *testing.T, o object) error {
	t.Helper()
	switch o.(type) {
	case *monitoring.ServiceMonitor, *monitoring.PodMonitor, *monitoring.PrometheusRule:
		return refusedByDefinition(t, o)
	}
	external, is := o.(runtime.Object)
	if !is {
		t.Fatalf("%T is no object of Kubernetes", o)
	}
	external = external.DeepCopyObject()
	legacyscheme.Scheme.Default(external)
	internal, err := legacyscheme.Scheme.ConvertToVersion(external, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	return append(refusedByServer(t, internal), legacyscheme.Scheme.Validate(t.Context(), nil, external)...).ToAggregate()
}

func refusedByServer(t *testing.T, o runtime.Object) field.ErrorList {
	t.Helper()
	switch o := o.(type) {
	case *apps.Deployment:
		return appsrules.ValidateDeployment(o, pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil))
	case *apps.StatefulSet:
		errs := appsrules.ValidateStatefulSet(o, appsrules.StatefulSetValidationOptions{}, pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil))
		if o.Spec.ServiceName == "" { // which is new
			errs = append(errs, field.Required(field.NewPath("spec", "serviceName"), "by clusters older than this validation"))
		}
		return errs
	case *core.ConfigMap:
		return corerules.ValidateConfigMap(o)
	case *core.Namespace:
		return corerules.ValidateNamespace(o)
	case *core.Service:
		if o.Spec.ClusterIP != "" { // the server notes it twice before it looks
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
		}
		return corerules.ValidateServiceCreate(o)
	case *networking.NetworkPolicy:
		return networkingrules.ValidateNetworkPolicy(o, networkingrules.NetworkPolicyValidationOptions{})
	case *policy.PodDisruptionBudget:
		return policyrules.ValidatePodDisruptionBudget(o, policyrules.PodDisruptionBudgetValidationOptions{})
	}
	t.Fatalf("nobody here validates a %T", o)
	panic("unreachable")
}

// definitions are the schemas of the Prometheus operator's types by kind, made from the
// types as the operator itself makes them.
var definitions = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	dir, err := os.MkdirTemp("", "definitions")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	of := reflect.TypeFor[monitoring.ServiceMonitor]().PkgPath()
	if out, err := exec.Command("go", "tool", "controller-gen", "crd", "paths="+of, "output:crd:dir="+dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("controller-gen: %w\n%s", err, out)
	}
	files, err := filepath.Glob(dir + "/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]*spec.Schema{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema *spec.Schema }
				}
			}
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return nil, err
		}
		all[definition.Spec.Names.Kind] = definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all, nil
})

func refusedByDefinition(t *testing.T, o object) error {
	t.Helper()
	schemas, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	kind := reflect.TypeOf(o).Elem().Name()
	schema, there := schemas[kind]
	if !there {
		t.Fatalf("no schema of %s", kind)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(plain).AsError()
}

func TestClustersTakeEveryManifest(t *testing.T) {
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(files) != 7 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		for _, o := range manifests(t, filepath.Base(file)) {
			if err := refused(t, o); err != nil {
				t.Errorf("%s, %T %s: %v", file, o, o.GetName(), err)
			}
		}
	}
}

func TestClustersRefuseMistakesInManifests(t *testing.T) {
	for _, c := range []struct{ file, right, wrong, says string }{
		{"redis.yaml", "whenUnsatisfiable: DoNotSchedule", "whenUnsatisfiable: Bogus", `whenUnsatisfiable: Unsupported value: "Bogus"`},
		{"redis.yaml", "  serviceName: redis\n", "", "spec.serviceName: Required value"},
		{"redis.yaml", "podManagementPolicy: Parallel", "podManagementPolicy: Bogus", "podManagementPolicy: "},
		{"redis.yaml", "accessModes: [ReadWriteOnce]", "accessModes: [Bogus]", "accessModes: "},
		{"redis.yaml", "containerPort: 6379", "containerPort: 66379", "containerPort: Invalid value"},
		{"redis.yaml", "mountPath: /data", "mountPath: ''", "mountPath: Required value"},
		{"proxy.yaml", "  selector: { app.kubernetes.io/name: redlock-proxy }\n  ports:", "  type: Foo\n  ports:", `spec.type: Unsupported value: "Foo"`},
		{"proxy.yaml", "matchLabels: { app.kubernetes.io/name: redlock-proxy }\n  strategy", "matchLabels: { app.kubernetes.io/name: other }\n  strategy", "`selector` does not match"},
		{"proxy.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Bogus]", "policyTypes"},
		{"proxy.yaml", "limits: { memory: ", "limits: { memory: 1Mi, unused: ", "must be less than or equal to"},
		{"proxy.yaml", "  maxUnavailable: 1\n", "  maxUnavailable: 101%\n", "maxUnavailable: "},
		{"sidecar.yaml", "restartPolicy: Always", "restartPolicy: Bogus", `restartPolicy: Unsupported value: "Bogus"`},
		{"namespace.yaml", "name: redlock\n", "name: Redlock\n", "metadata.name: Invalid value"},
		{"servicemonitor.yaml", "interval: 10s", "interval: ten", "interval"},
		{"servicemonitor.yaml", "scrapeTimeout: 5s", "scheme: gopher", "scheme"},
		{"prometheusrule.yaml", "for: 1m", "for: a minute", "for"},
		{"podmonitor.yaml", "targetLabel: job", "action: guess", "action"},
	} {
		text := deployed(t, "kubernetes/"+c.file)
		changed := strings.Replace(text, c.right, c.wrong, 1)
		if changed == text {
			t.Fatalf("%s has no %q", c.file, c.right)
		}
		var said []string
		for _, o := range objectsIn(t, c.file, changed) {
			if err := refused(t, o); err != nil {
				said = append(said, err.Error())
			}
		}
		if !strings.Contains(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s with %q: %q, wanted %q", c.file, c.wrong, said, c.says)
		}
	}
}
