package rollout_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Each row breaks a valid spec, or changes it and leaves it valid. The mistakes are given as path, kind and a piece of
// the detail, in the order of the fields.
func TestValidate(t *testing.T) {
	type edit = func(*rollout.Spec)
	container := func(name, image string) corev1.Container { return corev1.Container{Name: name, Image: image} }
	quantity := func(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	tests := []struct {
		name, why string
		edit      edit
		want      []string
	}{
		{"valid", "nothing to report", func(*rollout.Spec) {}, nil},

		{"no name", "pods and revisions are named after it", func(s *rollout.Spec) { s.Name = "" },
			[]string{"spec.name: Required value: pods and revisions are named after the set"}},
		{"upper case name", "no DNS subdomain", func(s *rollout.Spec) { s.Name = "Agent" },
			[]string{"spec.name: Invalid value: a lowercase RFC 1123 subdomain"}},
		{"dotted name", "a DNS subdomain may have dots", func(s *rollout.Spec) { s.Name = "agent.v2" }, nil},
		{"dotted namespace", "a namespace is a DNS label", func(s *rollout.Spec) { s.Namespace = "a.b" },
			[]string{"spec.namespace: Invalid value: must not contain dots"}},
		{"no namespace", "the default is valid", func(s *rollout.Spec) { s.Namespace = "" }, nil},
		{"negative generation", "generations count up from 1, and 0 is unset", func(s *rollout.Spec) { s.Generation = -1 },
			[]string{"spec.generation: Invalid value: must not be negative"}},
		{"generation 0", "unset", func(s *rollout.Spec) { s.Generation = 0 }, nil},

		{"no selector", "says which pods are whose", func(s *rollout.Spec) { s.Selector = nil },
			[]string{"spec.selector: Required value: says which pods belong to the set"}},
		{"empty selector", "it would select every pod", func(s *rollout.Spec) { s.Selector = &metav1.LabelSelector{} },
			[]string{"spec.selector: Invalid value: must not be empty"}},
		{"expressions alone", "they select too", func(s *rollout.Spec) {
			s.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exists"}}}
		}, nil},
		{"malformed selector", "reported once, where it is", func(s *rollout.Spec) {
			s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
		}, []string{"spec.selector.matchExpressions[0].operator: Invalid value: not a valid selector operator"}},
		{"selector with a bad value", "reported once, where it is", func(s *rollout.Spec) {
			s.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "In", Values: []string{"a b"}}}
		}, []string{"spec.selector.matchExpressions[0].values[0]: Invalid value: a valid label must be"}},
		{"selector of others", "new pods would not belong to the set", func(s *rollout.Spec) { s.Template.Labels = map[string]string{"app": "x"} },
			[]string{`spec.template.metadata.labels: Invalid value: must match the selector "app=agent"`}},
		{"bad template label", "the API server would refuse every pod", func(s *rollout.Spec) { s.Template.Labels["a b"] = "x" },
			[]string{"spec.template.metadata.labels: Invalid value: name part must consist of"}},

		{"partition of more than all", "T2: there are no more nodes to hold", func(s *rollout.Spec) { s.Strategy.Partition = quantity("101%") },
			[]string{"spec.strategy.partition: Invalid value: must not be more than 100%"}},
		{"partition of all", "T2: every node is held", func(s *rollout.Spec) { s.Strategy.Partition = quantity("100%") }, nil},
		{"negative partition", "T2: it is a number of nodes", func(s *rollout.Spec) { s.Strategy.Partition = number(-1) },
			[]string{"spec.strategy.partition: Invalid value: must not be negative"}},
		{"method that is none", "I1: there are three", func(s *rollout.Spec) { s.Strategy.Method = "InPlaceLater" },
			[]string{`spec.strategy.method: Unsupported value: supported values: "Recreate", "InPlaceIfPossible", "InPlaceOnly"`}},
		{"negative grace period", "I4: the change would come before the pod is unready", func(s *rollout.Spec) {
			s.Strategy.InPlace.GracePeriodSeconds = -1
		}, []string{"spec.strategy.inPlace.gracePeriodSeconds: Invalid value: must not be negative"}},
		{"restart keys", "a key, and a prefix with its slash", func(s *rollout.Spec) {
			s.Strategy.InPlace.RestartKeys = []string{"checksum/", "example.com/stamp", "stamp"}
		}, nil},
		{"wrong restart keys", "nothing, or everything, would ask for a restart", func(s *rollout.Spec) {
			s.Strategy.InPlace.RestartKeys = []string{"", "/", "a b", "fine/"}
		}, []string{
			"spec.strategy.inPlace.restartKeys[0]: Invalid value: must be the key of a label or annotation, or the prefix of keys with its slash, such as checksum/",
			"spec.strategy.inPlace.restartKeys[1]: Invalid value: must be the key of a label or annotation, or the prefix of keys with its slash, such as checksum/",
			"spec.strategy.inPlace.restartKeys[2]: Invalid value: must be the key of a label or annotation, or the prefix of keys with its slash, such as checksum/",
		}},
		{"serve on", "I4: names of containers", func(s *rollout.Spec) {
			s.Strategy.InPlace.ServeOn = []string{"exporter", "log-shipper"}
		}, nil},
		{"wrong serve on", "no container can be called so", func(s *rollout.Spec) {
			s.Strategy.InPlace.ServeOn = []string{"", "exporter", "A b"}
		}, []string{
			"spec.strategy.inPlace.serveOn[0]: Invalid value: must be the name of a container or sidecar, such as exporter",
			"spec.strategy.inPlace.serveOn[2]: Invalid value: must be the name of a container or sidecar, such as exporter",
		}},

		{"canary", "valid", func(s *rollout.Spec) { s.Strategy.Canary = &canary.Options{} }, nil},
		{"canary of none", "C1", func(s *rollout.Spec) { s.Strategy.Canary = &canary.Options{Replicas: number(0)} },
			[]string{"spec.strategy.canary.replicas: Invalid value"}},
		{"canary with OnDelete", "C7", func(s *rollout.Spec) { s.Strategy.Canary, s.Strategy.Type = &canary.Options{}, rollout.OnDelete },
			[]string{"spec.strategy.canary: Forbidden: not together with OnDelete"}},
		{"slow start", "valid", func(s *rollout.Spec) { s.Strategy.SlowStart = &rollout.SlowStart{} }, nil},
		{"slow start of nothing", "B7: all must be positive", func(s *rollout.Spec) {
			s.Strategy.SlowStart = &rollout.SlowStart{Interval: -1, Increase: number(0), MaxParallel: quantity("0%")}
		}, []string{
			"spec.strategy.slowStart.interval: Invalid value: must be positive",
			"spec.strategy.slowStart.increase: Invalid value: must be positive",
			"spec.strategy.slowStart.maxParallel: Invalid value: must be positive",
		}},
		{"slow start of nonsense", "B7", func(s *rollout.Spec) {
			s.Strategy.SlowStart = &rollout.SlowStart{Increase: quantity("all"), MaxParallel: number(-1)}
		}, []string{
			"spec.strategy.slowStart.increase: Invalid value: must be an integer or a percentage",
			"spec.strategy.slowStart.maxParallel: Invalid value: must not be negative",
		}},
		{"slow start of more than all", "B7: all at once", func(s *rollout.Spec) {
			s.Strategy.SlowStart = &rollout.SlowStart{Increase: quantity("150%")}
		}, nil},
		{"maxUnschedulable in percent", "B8: all of them", func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = quantity("100%") }, nil},
		{"too much maxUnschedulable", "B8: more than all", func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = quantity("101%") },
			[]string{"spec.strategy.maxUnschedulable: Invalid value: must not be more than 100%"}},
		{"override without name", "P8: conflicts name it", func(s *rollout.Spec) { s.Overrides = []placement.Override{{}} },
			[]string{"spec.overrides[0].name: Required value"}},

		{"no containers", "there is nothing to run", func(s *rollout.Spec) { s.Template.Spec.Containers = nil },
			[]string{"spec.template.spec.containers: Required value: at least one container is needed"}},
		{"container without name", "nothing could refer to it", func(s *rollout.Spec) { s.Template.Spec.Containers[0].Name = "" },
			[]string{"spec.template.spec.containers[0].name: Required value: every container needs a name"}},
		{"container without image", "nothing could run", func(s *rollout.Spec) { s.Template.Spec.Containers[0].Image = "" },
			[]string{"spec.template.spec.containers[0].image: Required value: every container needs an image"}},
		{"container with a bad name", "no DNS label", func(s *rollout.Spec) { s.Template.Spec.Containers[0].Name = "a.b" },
			[]string{"spec.template.spec.containers[0].name: Invalid value: must not contain dots"}},
		{"two containers of one name", "names are unique", func(s *rollout.Spec) {
			s.Template.Spec.Containers = append(s.Template.Spec.Containers, container("other", "i"), container("main", "i"))
		}, []string{"spec.template.spec.containers[2].name: Duplicate value"}},
		{"two containers without name", "each needs one; nameless ones are no duplicates", func(s *rollout.Spec) {
			s.Template.Spec.Containers = []corev1.Container{container("", "i"), container("", "i")}
		}, []string{
			"spec.template.spec.containers[0].name: Required value", "spec.template.spec.containers[1].name: Required value",
		}},
		{"init container of the same name", "containers and init containers share one name space", func(s *rollout.Spec) {
			s.Template.Spec.InitContainers = []corev1.Container{container("main", "i")}
		}, []string{"spec.template.spec.containers[0].name: Duplicate value"}},
		{"init container without image", "init containers are containers", func(s *rollout.Spec) {
			s.Template.Spec.InitContainers = []corev1.Container{container("init", "")}
		}, []string{"spec.template.spec.initContainers[0].image: Required value"}},
		{"ephemeral container", "only a running pod can have one", func(s *rollout.Spec) {
			s.Template.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
		}, []string{"spec.template.spec.ephemeralContainers: Forbidden"}},
		{"restart policy Always", "the only one for a daemon", func(s *rollout.Spec) { s.Template.Spec.RestartPolicy = "Always" }, nil},
		{"restart policy Never", "a daemon pod is to run for ever", func(s *rollout.Spec) { s.Template.Spec.RestartPolicy = "Never" },
			[]string{`spec.template.spec.restartPolicy: Unsupported value: supported values: "Always"`}},
		{"deadline", "a daemon pod is to run for ever", func(s *rollout.Spec) { s.Template.Spec.ActiveDeadlineSeconds = new(int64(1)) },
			[]string{"spec.template.spec.activeDeadlineSeconds: Forbidden"}},
		{"node name", "a DNS subdomain", func(s *rollout.Spec) { s.Template.Spec.NodeName = "n1.example" }, nil},
		{"bad node name", "no node can have it", func(s *rollout.Spec) { s.Template.Spec.NodeName = "N 1" },
			[]string{"spec.template.spec.nodeName: Invalid value: a lowercase RFC 1123 subdomain"}},
		{"bad toleration", "P1: the API server would refuse every pod", func(s *rollout.Spec) {
			s.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Like"}}
		}, []string{"spec.template.spec.tolerations[0].operator: Unsupported value"}},
		{"affinity that matches nothing", "P4: an invalid term is an error in New", kit.Affinity("pool"),
			[]string{"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"}},
		{"affinity with a bound that is no integer", "P4: the API server takes it, so that it may be running", func(s *rollout.Spec) {
			kit.Affinity("cores", "many")(s)
			required := s.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			required.NodeSelectorTerms[0].MatchExpressions[0].Operator = corev1.NodeSelectorOpLt
		}, nil},
		{"bad node selector", "no label could match it", kit.TemplateNodeSelector("pool", "a b"),
			[]string{"spec.template.spec.nodeSelector[pool]: Invalid value"}},

		{"unknown strategy", "one of two", func(s *rollout.Spec) { s.Strategy.Type = "Sometimes" },
			[]string{`spec.strategy.type: Unsupported value: supported values: "RollingUpdate", "OnDelete"`}},
		{"unknown strategy with bad budgets", "what the budgets mean is not known then", func(s *rollout.Spec) {
			s.Strategy.Type, s.Strategy.MaxSurge = "Sometimes", quantity("x")
		}, []string{"spec.strategy.type: Unsupported value"}},
		{"OnDelete with bad budgets", "T5: they take no effect", func(s *rollout.Spec) {
			s.Strategy.Type, s.Strategy.MaxSurge, s.Strategy.MaxUnavailable = rollout.OnDelete, quantity("x"), number(-1)
		}, nil},
		{"both budgets", "B1: both non-zero is refused", func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = number(1), quantity("1%")
		}, []string{"spec.strategy.maxSurge: Invalid value: must be 0 or unset while maxUnavailable is not 0"}},
		{"both budgets zero", "B1: both explicitly zero is refused", func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = number(0), quantity("0%")
		}, []string{"spec.strategy.maxUnavailable: Invalid value: must not be 0 while maxSurge is 0"}},
		{"maxUnavailable zero alone", "B1: maxSurge is 0 by default", func(s *rollout.Spec) { s.Strategy.MaxUnavailable = number(0) },
			[]string{"spec.strategy.maxUnavailable: Invalid value: must not be 0 while maxSurge is 0"}},
		{"maxSurge zero alone", "B1: maxUnavailable is 1 by default then", func(s *rollout.Spec) { s.Strategy.MaxSurge = number(0) }, nil},
		{"maxSurge alone", "B1: maxUnavailable is 0 by default then", func(s *rollout.Spec) { s.Strategy.MaxSurge = number(1) }, nil},
		{"maxSurge in place", "B1: a pod that is updated in place has none beside it", func(s *rollout.Spec) {
			s.Strategy.MaxSurge, s.Strategy.Method = number(1), inplace.IfPossible
		}, []string{"spec.strategy.maxSurge: Invalid value: must be 0 or unset with method InPlaceIfPossible"}},
		{"maxSurge with zero", "B1: one of the two", func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = quantity("0%"), quantity("100%")
		}, nil},
		{"negative budgets", "there is no less than nothing", func(s *rollout.Spec) {
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = number(-1), number(math.MinInt32)
		}, []string{
			"spec.strategy.maxUnavailable: Invalid value: -1: must not be negative",
			"spec.strategy.maxSurge: Invalid value: -2147483648: must not be negative",
		}},
		{"largest budget", "int32 holds it", func(s *rollout.Spec) { s.Strategy.MaxUnavailable = number(math.MaxInt32) }, nil},
		{"100 percent", "all", func(s *rollout.Spec) { s.Strategy.MaxUnavailable = quantity("100%") }, nil},
		{"101 percent", "more than all", func(s *rollout.Spec) { s.Strategy.MaxUnavailable = quantity("101%") },
			[]string{"spec.strategy.maxUnavailable: Invalid value: must not be more than 100%"}},
		{"101 percent of surge", "more than all", func(s *rollout.Spec) { s.Strategy.MaxSurge = quantity("101%") },
			[]string{"spec.strategy.maxSurge: Invalid value: must not be more than 100%"}},

		{"bad node selector of the strategy", "T3: what cannot be read would hold every node, or none", func(s *rollout.Spec) {
			s.Strategy.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
		}, []string{"spec.strategy.nodeSelector.matchExpressions[0].operator: Invalid value: not a valid selector operator"}},
		{"hook with a bad label", "L1: no pod could have it", func(s *rollout.Spec) {
			s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"a b": "x"}}
		}, []string{"spec.lifecycle.preDelete.labels[a b]: Invalid value: name part must consist of"}},
		{"negative pulls", "D1: it is a number of nodes, or a percentage", func(s *rollout.Spec) {
			s.PreDownload = &predownload.Options{Parallelism: number(-1)}
		}, []string{"spec.preDownload.parallelism: Invalid value: must not be negative"}},
		{"pulls", "valid", func(s *rollout.Spec) { s.PreDownload = &predownload.Options{Parallelism: number(1)} }, nil},

		{"negative minReadySeconds", "B5", func(s *rollout.Spec) { s.MinReadySeconds = -1 },
			[]string{"spec.minReadySeconds: Invalid value: -1: must not be negative"}},
		{"negative history limit", "R4", func(s *rollout.Spec) { s.RevisionHistoryLimit = new(int32(-1)) },
			[]string{"spec.revisionHistoryLimit: Invalid value: -1: must not be negative"}},
		{"history limit 0", "R4: no old revision is kept", func(s *rollout.Spec) { s.RevisionHistoryLimit = new(int32(0)) }, nil},
		{"burst 0", "M6: at least 1", func(s *rollout.Spec) { s.Burst = number(0) },
			[]string{"spec.burst: Invalid value: must be at least 1; strategy.frozen stops all"}},
		{"burst 1", "M6: at least 1", func(s *rollout.Spec) { s.Burst = number(1) }, nil},
		{"burst 0%", "M6: no less than 1 whatever the percentage", func(s *rollout.Spec) { s.Burst = quantity("0%") }, nil},
		{"burst 300%", "M6: more than all is allowed", func(s *rollout.Spec) { s.Burst = quantity("300%") }, nil},
		{"negative burst", "M6: at least 1", func(s *rollout.Spec) { s.Burst = number(-1) },
			[]string{"spec.burst: Invalid value: -1: must not be negative"}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			spec := kit.Spec("agent")
			tt.edit(&spec)
			var got []string
			for i, e := range spec.Validate(field.NewPath("spec")) {
				text := fmt.Sprintf("%s: %s: %v: %s", e.Field, e.Type, e.BadValue, e.Detail)
				if i < len(tt.want) && mentions(text, tt.want[i]) {
					text = tt.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
			p, err := rollout.New(spec)
			if (err == nil) != (tt.want == nil) || (p == nil) != (tt.want != nil) {
				t.Errorf("New gives planner %v and error %v, want one of the two: %s", p, err, tt.why)
			}
			if got := len(rollout.FieldErrors(err)); got != len(tt.want) {
				t.Errorf("New reports %d mistakes, want %d", got, len(tt.want))
			}
		})
	}
}

// mentions reports whether text has all of the parts of want, in their order; parts end at a colon.
func mentions(text, want string) bool {
	for part := range strings.SplitSeq(want, ": ") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// What counts as an integer or a percentage, for each of the three fields that take one.
func TestValidateQuantities(t *testing.T) {
	const not, large, kind = `must be an integer or a percentage such as "10%"`, "percentage is too large",
		"must be an integer or a percentage, not a value of type 7"
	tests := []struct {
		name, why string
		value     intstr.IntOrString
		want      string
	}{
		{"percentage", "the usual spelling", intstr.FromString("10%"), ""},
		{"leading zero", "digits are digits", intstr.FromString("010%"), ""},
		{"number as text", "an integer is a number, not a text", intstr.FromString("10"), not},
		{"empty", "nothing is not zero", intstr.FromString(""), not},
		{"percent alone", "nothing is not zero", intstr.FromString("%"), not},
		{"twice", "one sign", intstr.FromString("10%%"), not},
		{"sign", "as the API server does", intstr.FromString("+10%"), not},
		{"negative", "as the API server does", intstr.FromString("-10%"), not},
		{"space", "as the API server does", intstr.FromString("10 %"), not},
		{"fraction", "as the API server does", intstr.FromString("1.5%"), not},
		{"word", "no number at all", intstr.FromString("half"), not},
		{"digit of another script", "as the API server does", intstr.FromString("１%"), not},
		{"too large", "beyond int32 nothing is counted", intstr.FromString("2147483648%"), large},
		{"far too large", "nor beyond int64", intstr.FromString("99999999999999999999%"), large},
		{"unknown kind", "neither of the two", intstr.IntOrString{Type: 7, IntVal: 1, StrVal: "1%"}, kind},
	}
	fields := []struct {
		path string
		set  func(*rollout.Spec, *intstr.IntOrString)
	}{
		{"spec.strategy.maxUnavailable", func(s *rollout.Spec, v *intstr.IntOrString) { s.Strategy.MaxUnavailable = v }},
		{"spec.strategy.maxSurge", func(s *rollout.Spec, v *intstr.IntOrString) { s.Strategy.MaxSurge = v }},
		{"spec.burst", func(s *rollout.Spec, v *intstr.IntOrString) { s.Burst = v }},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		for _, f := range fields {
			t.Run(f.path+"/"+tt.name, func(t *testing.T) {
				spec := kit.Spec("agent")
				f.set(&spec, &tt.value)
				errs := spec.Validate(field.NewPath("spec"))
				if tt.want == "" {
					if len(errs) != 0 {
						t.Errorf("got %v, want none: %s", errs, tt.why)
					}
					return
				}
				if len(errs) != 1 || errs[0].Field != f.path || errs[0].Detail != tt.want {
					t.Errorf("got %v, want %s: %s: %s", errs, f.path, tt.want, tt.why)
				}
			})
		}
	}
}

// Every mistake at once, in the order of the fields, with errors.As and FieldErrors to find them.
func TestNewReportsEverything(t *testing.T) {
	_, err := rollout.New(rollout.Spec{MinReadySeconds: -1, Strategy: rollout.Strategy{Type: "x"}})
	var paths []string
	for _, e := range rollout.FieldErrors(err) {
		paths = append(paths, e.Field)
	}
	want := []string{"spec.name", "spec.selector", "spec.template.spec.containers", "spec.strategy.type", "spec.minReadySeconds"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var first *field.Error
	if !errors.As(err, &first) || first.Field != "spec.name" {
		t.Errorf("errors.As finds %v, want the mistake in spec.name", first)
	}
	if got := rollout.FieldErrors(fmt.Errorf("while starting: %w", err)); len(got) != len(want) {
		t.Errorf("FieldErrors of a wrapped error lists %d, want %d", len(got), len(want))
	}
}

// R1: a template that cannot be written as JSON cannot become a revision. No field of Validate's is wrong about it.
func TestNewRefusesWhatIsNoJSON(t *testing.T) {
	spec := kit.Spec("agent")
	spec.Template.Spec.Containers[0].LivenessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.IntOrString{Type: 7}}},
	}
	p, err := rollout.New(spec)
	if p != nil || err == nil || !strings.HasPrefix(err.Error(), "spec.template: ") {
		t.Errorf("got planner %v and error %v, want an error about spec.template alone", p, err)
	}
}

func TestFieldErrorsOfOtherErrors(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		err       error
	}{
		{"nil", "no error, no mistakes", nil},
		{"plain", "an error of somebody else", errors.New("boom")},
		{"joined", "several of somebody else", errors.Join(errors.New("boom"), errors.New("bang"))},
		{"contract of a snapshot", "not about the spec", &rollout.SnapshotError{Field: "Now"}},
		{"aggregate", "as New's, but of somebody else's errors", utilerrors.NewAggregate([]error{errors.New("boom")})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rollout.FieldErrors(tt.err); got != nil {
				t.Errorf("got %v, want nil: %s", got, tt.why)
			}
		})
	}
}

// The defaults of what is off unless it is set.
func TestDefaultOfOptions(t *testing.T) {
	spec := rollout.Spec{Strategy: rollout.Strategy{Canary: &canary.Options{}, SlowStart: &rollout.SlowStart{}}}
	got := spec.Default().Strategy
	want := rollout.SlowStart{Interval: time.Minute, Increase: new(intstr.FromInt32(1)), MaxParallel: new(intstr.FromInt32(250))}
	if diff := cmp.Diff(want, *got.SlowStart); diff != "" {
		t.Errorf("slow start, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(canary.Options{}.Default(), *got.Canary); diff != "" {
		t.Errorf("canary, -want +got:\n%s", diff)
	}
	if spec.Strategy.SlowStart.Interval != 0 || spec.Strategy.Canary.Replicas != nil {
		t.Error("the spec itself has changed")
	}
	if diff := cmp.Diff(spec.Default(), spec.Default().Default()); diff != "" {
		t.Errorf("defaulting twice is not the same, -once +twice:\n%s", diff)
	}
}

func TestDefault(t *testing.T) {
	got := rollout.Spec{}.Default()
	want := rollout.Spec{
		Namespace: "default", APIVersion: "apps/v1", Kind: "DaemonSet",
		Strategy: rollout.Strategy{
			Type: rollout.RollingUpdate, MaxUnavailable: new(intstr.FromInt32(1)), MaxSurge: new(intstr.FromInt32(0)),
			Partition: new(intstr.FromInt32(0)), Method: inplace.Recreate,
			MaxUnschedulable: new(intstr.FromInt32(0)),
		},
		RevisionHistoryLimit: new(int32(10)), Burst: new(intstr.FromInt32(250)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(got, got.Default()); diff != "" {
		t.Errorf("defaulting twice is not the same, -once +twice:\n%s", diff)
	}
}

// B1: what maxUnavailable is by default depends on maxSurge.
func TestDefaultMaxUnavailable(t *testing.T) {
	tests := []struct {
		name, why            string
		unavailable, surge   *intstr.IntOrString
		want, wantMaxSurgeIs string
	}{
		{"neither", "B1: neither set: 1", nil, nil, "1", "0"},
		{"surge", "one of the two is in use", nil, new(intstr.FromInt32(2)), "0", "2"},
		{"surge in percent", "one of the two is in use", nil, new(intstr.FromString("10%")), "0", "10%"},
		{"no surge", "0 is not in use", nil, new(intstr.FromInt32(0)), "1", "0"},
		{"no surge in percent", "0 % is not in use", nil, new(intstr.FromString("0%")), "1", "0%"},
		{"unreadable surge", "what cannot be read is not zero", nil, new(intstr.FromString("some")), "0", "some"},
		{"both", "what is set stays as it is", new(intstr.FromInt32(3)), new(intstr.FromInt32(2)), "3", "2"},
		{"zero", "what is set stays as it is", new(intstr.FromInt32(0)), nil, "0", "0"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			got := rollout.Spec{Strategy: rollout.Strategy{MaxUnavailable: tt.unavailable, MaxSurge: tt.surge}}.Default().Strategy
			if got.MaxUnavailable.String() != tt.want || got.MaxSurge.String() != tt.wantMaxSurgeIs {
				t.Errorf("maxUnavailable %s and maxSurge %s, want %s and %s: %s",
					got.MaxUnavailable, got.MaxSurge, tt.want, tt.wantMaxSurgeIs, tt.why)
			}
		})
	}
}

// Default copies in depth: neither side sees what the other does later.
func TestDefaultSharesNothing(t *testing.T) {
	build := func() rollout.Spec {
		spec := kit.Spec("agent", kit.MaxSurge("2"), kit.Burst("3"), kit.HistoryLimit(4), objects.TemplateGeneration(5), kit.TemplateNodeSelector("a", "b"))
		spec.Strategy.MaxUnavailable = new(intstr.FromInt32(0))
		kit.SlowStart(time.Minute, "1", "2")(&spec)
		kit.MaxUnschedulable("3")(&spec)
		big("2")(&spec)
		follows(&spec)
		return spec
	}
	spec := build()
	copied := spec.Default()
	copied.Selector.MatchLabels["app"] = "changed"
	copied.Template.Labels["app"] = "changed"
	copied.Template.Spec.NodeSelector["a"] = "changed"
	copied.Template.Spec.Containers[0].Image = "changed"
	*copied.TemplateGeneration, *copied.RevisionHistoryLimit = 99, 99
	copied.Burst.IntVal, copied.Strategy.MaxSurge.IntVal, copied.Strategy.MaxUnavailable.IntVal = 99, 99, 99
	copied.Strategy.SlowStart.Increase.IntVal, copied.Strategy.MaxUnschedulable.IntVal = 99, 99
	copied.Overrides[0].NodeSelector.MatchLabels["size"] = "changed"
	copied.Overrides[0].Containers["changed"] = corev1.ResourceRequirements{}
	copied.Predecessor.UIDs[0], copied.Predecessor.Selector.MatchLabels["app"] = "changed", "changed"
	if diff := cmp.Diff(build(), spec); diff != "" {
		t.Errorf("a change of the copy shows in the spec:\n%s", diff)
	}
}

// The mistakes do not depend on where the spec stands, but their paths do.
func TestValidatePath(t *testing.T) {
	errs := rollout.Spec{}.Validate(field.NewPath("items").Index(3))
	if len(errs) == 0 || errs[0].Field != "items[3].name" {
		t.Errorf("got %v, want the first in items[3].name", errs)
	}
	if errs := (rollout.Spec{}).Validate(nil); len(errs) == 0 || errs[0].Field != "name" {
		t.Errorf("got %v, want the first in name: without a path the spec is the root", errs)
	}
}

// Equal inputs give equal outputs, and mistakes are outputs: a controller that writes them down would write for ever if they
// came in another order each time. Each row puts eight mistakes into one map.
func TestMistakesComeInOneOrder(t *testing.T) {
	wrong := map[string]string{}
	resources := corev1.ResourceList{}
	perContainer := map[string]corev1.ResourceRequirements{}
	for i := range 8 {
		wrong[fmt.Sprintf("key %d", i)] = fmt.Sprintf("value %d", i)
		resources[corev1.ResourceName(fmt.Sprintf("no resource %d", i))] = resource.MustParse("1")
		perContainer[fmt.Sprintf("c%d", i)] = corev1.ResourceRequirements{Limits: corev1.ResourceList{"nothing": resource.MustParse("-1")}}
	}
	selector := func() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: wrong} }
	table := []struct {
		name, why string
		edit      func(*rollout.Spec)
		mistakes  int // fewest
	}{
		{"selector", "names and values", func(s *rollout.Spec) { s.Selector = selector() }, 16},
		{"template labels", "names and values", func(s *rollout.Spec) { s.Template.Labels = wrong }, 16},
		{"template node selector", "names and values", func(s *rollout.Spec) { s.Template.Spec.NodeSelector = wrong }, 16},
		{"strategy", "its node selector", func(s *rollout.Spec) { s.Strategy.NodeSelector = selector() }, 16},
		{"canary", "its node selector", func(s *rollout.Spec) { s.Strategy.Canary = &canary.Options{NodeSelector: selector()} }, 16},
		{"predecessor", "its selector", func(s *rollout.Spec) { s.Predecessor = &rollout.Predecessor{Selector: selector()} }, 16},
		{"override", "its node selector", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", NodeSelector: *selector()}}
		}, 16},
		{"override, containers", "each of them", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", Containers: perContainer}}
		}, 8},
		{"override, resources", "each of them", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", Containers: map[string]corev1.ResourceRequirements{"agent": {Requests: resources}}}}
		}, 8},
		{"hooks", "each label", func(s *rollout.Spec) { s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: wrong} }, 8},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			spec := kit.Spec("agent")
			row.edit(&spec)
			first := spec.Validate(nil)
			if len(first) < row.mistakes {
				t.Fatalf("%d mistakes, want %d or more: %v", len(first), row.mistakes, first)
			}
			_, claim := rollout.Claim(spec, nil)
			_, made := rollout.New(spec)
			for range 30 {
				again := spec.Validate(nil)
				if _, err := rollout.New(spec); err == nil || err.Error() != made.Error() || !slices.EqualFunc(first, again, same) {
					t.Fatalf("the same spec has other mistakes, or in another order:\n%v\n%v", first, again)
				}
				if _, err := rollout.Claim(spec, nil); fmt.Sprint(err) != fmt.Sprint(claim) {
					t.Fatalf("pods of the same spec cannot be claimed for another reason:\n%v\n%v", claim, err)
				}
			}
		})
	}
}

func same[E error](a, b E) bool { return a.Error() == b.Error() }

// hostPort has the daemon listen on a port of the host.
func hostPort(number int32) kit.SpecOption {
	return func(s *rollout.Spec) {
		s.Template.Spec.Containers = slices.Clone(s.Template.Spec.Containers)
		s.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: number}}
	}
}

// TestExclusions: who uses maxSurge is told before anything happens that no second pod can be bound (B4).
func TestExclusions(t *testing.T) {
	within := func(s *rollout.Spec) {
		s.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: s.Selector, MatchLabelKeys: []string{"controller-revision-hash"},
			}},
		}}
	}
	tests := []struct {
		name, why        string
		options          []kit.SpecOption
		running          rollout.Spec
		excluded, warned int
	}{
		{"surge with a port", "both listen on it", []kit.SpecOption{kit.MaxSurge("1"), hostPort(9100)}, kit.Spec("agent", hostPort(9100)), 1, 1},
		{"surge with another port", "the old one keeps its own; the next update will not end", []kit.SpecOption{kit.MaxSurge("1"), hostPort(9101)}, kit.Spec("agent", hostPort(9100)), 0, 1},
		{"surge without a port", "they do not mind", []kit.SpecOption{kit.MaxSurge("1")}, kit.Spec("agent", hostPort(9100)), 0, 0},
		{"no surge", "the old pod goes first", []kit.SpecOption{hostPort(9100)}, kit.Spec("agent", hostPort(9100)), 0, 0},
		{"OnDelete", "nothing is created beside another pod", []kit.SpecOption{kit.MaxSurge("1"), kit.OnDelete(), hostPort(9100)}, kit.Spec("agent", hostPort(9100)), 0, 0},
		{"apart within a revision", "the pods are of two", []kit.SpecOption{kit.MaxSurge("1"), within}, kit.Spec("agent", within), 0, 0},
	}
	rows := uniqueRows{}
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			planner, err := rollout.New(kit.Spec("agent", test.options...))
			if err != nil {
				t.Fatal(err)
			}
			before := len(test.running.Template.Labels)
			if got := planner.Exclusions(&test.running.Template, nil); len(got) != test.excluded {
				t.Errorf("excluded for %v, want %d reasons: %s", got, test.excluded, test.why)
			}
			if got := planner.Warnings(); len(got) != test.warned {
				t.Errorf("warnings %v, want %d: %s", got, test.warned, test.why)
			}
			if planner.Exclusions(nil, nil) != nil || len(test.running.Template.Labels) != before {
				t.Error("no template is excluded, and none is written to")
			}
		})
	}
	var none *rollout.Planner
	if none.Exclusions(&corev1.PodTemplateSpec{}, nil) != nil || none.Warnings() != nil {
		t.Error("a nil planner says something")
	}
}

// TestServeOnWarnings: a name of serveOn that no container has says nothing, which is a mistake (I4).
func TestServeOnWarnings(t *testing.T) {
	spec := kit.Spec("agent", kit.InPlaceIfPossible(), kit.ServeOn("main", "exportr", "side"))
	spec.Template.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "side:1"}}
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, warning := range planner.Warnings() {
		got = append(got, warning.Error())
	}
	if want := []string{`spec.strategy.inPlace.serveOn[1]: Not found: "exportr"`}; !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}
