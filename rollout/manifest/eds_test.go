package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// eds is the text of an ExtendedDaemonSet: one with a template, and what is said in addition.
type eds struct {
	annotations string // in flow style
	metadata    string // lines below metadata, indented by two; the name is foo unless it is said
	canary      string // in flow style; empty: none
	rolling     string // in flow style
	strategy    string // lines below strategy, indented by four
	spec        string // lines below spec, indented by two
	template    string // lines below the template's metadata, indented by six
	pod         string // lines below the template's spec, indented by six
	status      string // in flow style
}

func (e eds) text() string {
	name := "  name: foo\n"
	if strings.Contains(e.metadata, "  name: ") {
		name = ""
	}
	text := "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonSet\nmetadata:\n" + name + "  annotations: {" + e.annotations + "}\n" +
		e.metadata + "spec:\n  strategy:\n" + e.strategy + "    rollingUpdate: {" + e.rolling + "}\n"
	if e.canary != "" {
		text += "    canary: {" + e.canary + "}\n"
	}
	return text + e.spec + "  template:\n    metadata:\n      labels: {app: foo}\n" + e.template + "    spec:\n" + e.pod +
		"      containers: [{name: daemon, image: \"pause:3.1\"}]\nstatus: {" + e.status + "}\n"
}

// edsSpec returns what the text of the zero eds says.
func edsSpec() rollout.Spec {
	return rollout.Spec{
		Name: "foo", APIVersion: "datadoghq.com/v1alpha1", Kind: "ExtendedDaemonSet",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"extendeddaemonset.datadoghq.com/name": "foo"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{"app": "foo", "extendeddaemonset.datadoghq.com/name": "foo"},
				Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "daemon", Image: "pause:3.1"}}},
		},
		Strategy: rollout.Strategy{SlowStart: &rollout.SlowStart{}},
	}
}

func minutes(n int) *time.Duration { return new(time.Duration(n) * time.Minute) }

type documentedEDS struct {
	row
	manifest eds
	spec     func(*rollout.Spec)
}

// documentedEDSs returns the settings of every example in the documentation of ExtendedDaemonSet, and of those of its source.
func documentedEDSs() []documentedEDS {
	trial := func(options canary.Options) func(*rollout.Spec) {
		return func(s *rollout.Spec) { s.Strategy.Canary = &options }
	}
	const prefix = "extendeddaemonset.datadoghq.com/"
	longest := strings.Repeat("f", 63)
	return []documentedEDS{
		{row{"nothing said", "the defaults are New's, and slow start is never off"}, eds{}, func(*rollout.Spec) {}},
		{row{"demo", "one canary for five minutes, then a pod a minute"},
			eds{canary: "replicas: 1, duration: 5m", rolling: "maxParallelPodCreation: 1, slowStartIntervalDuration: 1m"},
			func(s *rollout.Spec) {
				s.Strategy.Canary = &canary.Options{Replicas: number(1), Duration: minutes(5)}
				s.Strategy.SlowStart = &rollout.SlowStart{Interval: time.Minute, MaxParallel: number(1)}
			}},
		{row{"rolling update", "every budget (B1, B7, B8)"},
			eds{rolling: "maxUnavailable: 10%, maxPodSchedulerFailure: 2, maxParallelPodCreation: 100, slowStartIntervalDuration: 90s, slowStartAdditiveIncrease: 5%"},
			func(s *rollout.Spec) {
				s.Strategy.MaxUnavailable, s.Strategy.MaxUnschedulable = percent("10%"), number(2)
				s.Strategy.SlowStart = &rollout.SlowStart{Interval: 90 * time.Second, Increase: percent("5%"), MaxParallel: number(100)}
			}},
		{row{"250 in parallel", "the default burst allows them"}, eds{rolling: "maxParallelPodCreation: 250"},
			func(s *rollout.Spec) { s.Strategy.SlowStart.MaxParallel = number(250) }},
		{row{"251 in parallel", "a burst of 250 would be the limit instead (M6)"}, eds{rolling: "maxParallelPodCreation: 251"},
			func(s *rollout.Spec) { s.Strategy.SlowStart.MaxParallel, s.Burst = number(251), number(251) }},
		{row{"empty canary", "has the defaults, and is not the same as none"}, eds{canary: " "}, trial(canary.Options{})},
		{row{"canary pauses by itself", "with other limits"}, eds{canary: "replicas: 1, duration: 5m, autoPause: {enabled: true, maxRestarts: 5, maxSlowStartDuration: 2m}"},
			trial(canary.Options{
				Replicas: number(1), Duration: minutes(5),
				AutoPause: canary.AutoPause{MaxRestarts: new(int32(5)), MaxSlowStartDuration: minutes(2)},
			})},
		{row{"canary fails by itself", "every limit"},
			eds{canary: "autoFail: {enabled: true, maxRestarts: 6, maxRestartsDuration: 3m, canaryTimeout: 1h}, noRestartsDuration: 4m"},
			trial(canary.Options{
				NoRestartsDuration: minutes(4),
				AutoFail:           canary.AutoFail{MaxRestarts: new(int32(6)), MaxRestartsDuration: minutes(3), CanaryTimeout: minutes(60)},
			})},
		{row{"canary without checks", "both are on unless switched off"}, eds{canary: "autoPause: {enabled: false}, autoFail: {enabled: false}"},
			trial(canary.Options{AutoPause: canary.AutoPause{Disabled: true}, AutoFail: canary.AutoFail{Disabled: true}})},
		{row{"canary with empty checks", "they are on"}, eds{canary: "autoPause: {}, autoFail: {}"}, trial(canary.Options{})},
		{row{"canary validated by hand", "no clock (C2)"}, eds{canary: "validationMode: manual"}, trial(canary.Options{Mode: canary.Manual})},
		{row{"canary validated by the clock", "the default, spelled out"}, eds{canary: "validationMode: auto"}, trial(canary.Options{Mode: canary.Auto})},
		{row{"canary nodes", "picked and spread (C1)"}, eds{canary: "replicas: 10%, nodeSelector: {matchLabels: {canary: 'true'}}, nodeAntiAffinityKeys: [zone, rack]"},
			trial(canary.Options{
				Replicas: percent("10%"), NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}},
				NodeAntiAffinityKeys: []string{"zone", "rack"},
			})},
		{row{"excluded nodes", "the recipe that takes a pod off a node: a label of the node and an affinity of the template"},
			eds{pod: excluding},
			func(s *rollout.Spec) {
				s.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{{Key: prefix + "exclude", Operator: "NotIn", Values: []string{"foo"}}},
					}}},
				}}
			}},
		{row{"reconcile frequency", "a plan says itself when to plan again"}, eds{strategy: "    reconcileFrequency: 20s\n"}, func(*rollout.Spec) {}},
		{row{"template with a name", "several pods cannot have one name: EDS removes it"}, eds{template: "      name: foo\n"}, func(*rollout.Spec) {}},
		{row{"template with what EDS puts on pods", "EDS's values win"},
			eds{template: "      annotations: {cluster-autoscaler.kubernetes.io/daemonset-pod: 'false', a: b}\n"},
			func(s *rollout.Spec) { s.Template.Annotations["a"] = "b" }},
		{row{"paused rollout", "as the plugin writes it (T4)"}, eds{annotations: prefix + "rolling-update-paused: 'true'"},
			func(s *rollout.Spec) { s.Strategy.Paused = true }},
		{row{"frozen rollout", "as the plugin writes it (T4)"}, eds{annotations: prefix + "rollout-frozen: 'true'"},
			func(s *rollout.Spec) { s.Strategy.Frozen = true }},
		{row{"rollout not paused any more", "as the plugin writes it"},
			eds{annotations: prefix + "rolling-update-paused: 'false', " + prefix + "rollout-frozen: 'false'"}, func(*rollout.Spec) {}},
		{row{"switches of another spelling", "EDS takes what is not \"true\" for off"},
			eds{annotations: prefix + "rolling-update-paused: 'True', " + prefix + "rollout-frozen: 'yes', " + prefix + "canary-paused: 'TRUE', " + prefix + "canary-unpaused: '1'", canary: " "},
			trial(canary.Options{})},
		{row{"deleted", "its controller leaves it alone"}, eds{metadata: "  deletionTimestamp: 2026-01-15T12:00:00Z\n"},
			func(s *rollout.Spec) { s.Strategy.Frozen = true }},
		{row{"longest name", "63 bytes are as many as the value of a label may have"}, eds{metadata: "  name: " + longest + "\n"},
			func(s *rollout.Spec) {
				s.Name = longest
				s.Selector.MatchLabels[prefix+"name"], s.Template.Labels[prefix+"name"] = longest, longest
			}},
		{row{"identity", "all that decides who owns what"}, eds{metadata: "  namespace: bar\n  uid: u-1\n  generation: 3\n"},
			func(s *rollout.Spec) { s.Namespace, s.UID, s.Generation = "bar", "u-1", 3 }},
	}
}

const excluding = `      tolerations: []
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: extendeddaemonset.datadoghq.com/exclude, operator: NotIn, values: [foo]}
`

func TestEDSDocumented(t *testing.T) {
	each(t, documentedEDSs(), func(c documentedEDS) row { return c.row }, func(t *testing.T, c documentedEDS) {
		want := manifest.Set{Spec: edsSpec()}
		c.spec(&want.Spec)
		got, err := manifest.Decode([]byte(c.manifest.text()))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Spec.Template.Spec.Tolerations) == 0 {
			got.Spec.Template.Spec.Tolerations = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestEDSCommands has what people say to a canary by annotation (C5).
func TestEDSCommands(t *testing.T) {
	type test struct {
		row
		annotations string
		want        canary.Commands
	}
	const theirs, ours = "extendeddaemonset.datadoghq.com/canary-", "daemonplan.io/canary-"
	each(t, []test{
		{row{"none", "nobody said anything"}, "", canary.Commands{}},
		{row{"valid", "names a revision"}, theirs + "valid: foo-xdj4b", canary.Commands{Validate: "foo-xdj4b"}},
		{row{"valid, empty", "names none"}, theirs + "valid: ''", canary.Commands{}},
		{row{"validate", "ours alone is enough"}, ours + "validate: 5d8f7b9c4", canary.Commands{Validate: "5d8f7b9c4"}},
		{row{"valid and validate", "ours counts"}, theirs + "valid: foo-xdj4b, " + ours + "validate: 5d8f7b9c4", canary.Commands{Validate: "5d8f7b9c4"}},
		{row{"paused", "EDS's names no revision"}, theirs + "paused: 'true'", canary.Commands{Pause: canary.Any}},
		{row{"paused and pause", "ours says which revision"}, theirs + "paused: 'true', " + ours + "pause: 5d8f7b9c4", canary.Commands{Pause: "5d8f7b9c4"}},
		{row{"not paused and pause", "EDS's plugin took the pause back"}, theirs + "paused: 'false', " + ours + "pause: 5d8f7b9c4", canary.Commands{}},
		{row{"pause alone", "the same"}, ours + "pause: 5d8f7b9c4", canary.Commands{}},
		{row{"unpaused", "EDS's names no revision"}, theirs + "unpaused: 'true'", canary.Commands{Unpause: canary.Any}},
		{row{"unpaused and unpause", "ours says which revision"}, theirs + "unpaused: 'true', " + ours + "unpause: foo-5d8f7b9c4", canary.Commands{Unpause: "foo-5d8f7b9c4"}},
		{row{"unpause alone", "EDS's plugin took it back"}, ours + "unpause: 5d8f7b9c4", canary.Commands{}},
		{row{"paused and unpaused", "which wins is for the library to say"}, theirs + "paused: 'true', " + theirs + "unpaused: 'true'", canary.Commands{Pause: canary.Any, Unpause: canary.Any}},
		{row{"fail", "EDS has no annotation for it"}, ours + "fail: 5d8f7b9c4", canary.Commands{Fail: "5d8f7b9c4"}},
		{row{"retry", "a new text is a new command"}, ours + "retry: 5d8f7b9c4/2", canary.Commands{Retry: "5d8f7b9c4/2"}},
		{row{"all of ours", "none is taken for another"},
			theirs + "paused: 'true', " + theirs + "unpaused: 'true', " + ours + "pause: a, " + ours + "unpause: b, " + ours + "validate: c, " + ours + "fail: d, " + ours + "retry: e",
			canary.Commands{Pause: "a", Unpause: "b", Validate: "c", Fail: "d", Retry: "e"}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		set, err := manifest.Decode([]byte(eds{annotations: c.annotations, canary: " "}.text()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, set.Spec.Strategy.Canary.Commands); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		set, err = manifest.Decode([]byte(eds{annotations: c.annotations}.text()))
		if err != nil || set.Spec.Strategy.Canary != nil {
			t.Errorf("a command makes a canary: %+v, %v", set.Spec.Strategy.Canary, err)
		}
	})
}

// TestEDSBeside has what a manifest says beside the Spec.
func TestEDSBeside(t *testing.T) {
	type test struct {
		row
		manifest eds
		want     manifest.Set
	}
	chosen := func(nodes ...string) rollout.Memory {
		return rollout.Memory{Version: rollout.MemoryVersion, Canary: canary.Record{Nodes: nodes}}
	}
	const status = "desired: 3, current: 3, ready: 3, available: 3, upToDate: 3, ignoredUnresponsiveNodes: 0, state: Canary, " +
		"reason: Unknown, activeReplicaSet: foo-8z7lr, conditions: [{type: Canary-Failed, status: 'False', reason: '', message: '', " +
		"lastTransitionTime: 2026-01-15T12:00:00Z, lastUpdateTime: 2026-01-15T12:00:00Z}]"
	each(t, []test{
		{row{"no status", "there is nothing to remember"}, eds{}, manifest.Set{}},
		{row{"no canary", "the status is read and not needed: it follows from the pods"}, eds{status: status}, manifest.Set{}},
		{row{"canary", "its nodes stay chosen (C1), in the order of the record"}, eds{status: status + ", canary: {replicaSet: foo-xdj4b, nodes: [b, a]}"},
			manifest.Set{Memory: chosen("a", "b")}},
		{row{"canary node given twice", "it is one node"}, eds{status: "canary: {nodes: [b, a, b]}"}, manifest.Set{Memory: chosen("a", "b")}},
		{row{"canary without nodes", "none was chosen yet"}, eds{status: "canary: {replicaSet: foo-xdj4b, nodes: []}"}, manifest.Set{}},
		{row{"migration", "the DaemonSet to take over from, by name"}, eds{annotations: "extendeddaemonset.datadoghq.com/old-daemonset: bar"},
			manifest.Set{OldDaemonSet: "bar"}},
		{row{"reason of the pause", "to be shown"}, eds{annotations: "extendeddaemonset.datadoghq.com/canary-paused-reason: OOMKilled"},
			manifest.Set{CanaryPausedReason: "OOMKilled"}},
		{row{"unknown fields", "typing errors, of every structure"},
			eds{
				rolling: "maxSurge: 1", strategy: "    paused: true\n", spec: "  minReadySeconds: 3\n", canary: "percent: 1, autoPause: {wanted: true}, autoFail: {wanted: true}",
				status: "canary: {node: a}, nodes: 3",
			},
			manifest.Set{Unknown: []string{
				"spec.minReadySeconds", "spec.strategy.canary.autoFail.wanted", "spec.strategy.canary.autoPause.wanted", "spec.strategy.canary.percent",
				"spec.strategy.paused", "spec.strategy.rollingUpdate.maxSurge", "status.canary.node", "status.nodes",
			}}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		got, err := manifest.Decode([]byte(c.manifest.text()))
		if err != nil {
			t.Fatal(err)
		}
		got.Spec = rollout.Spec{}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestPredecessorOf goes both ways between a DaemonSet and an ExtendedDaemonSet.
func TestPredecessorOf(t *testing.T) {
	ds := full()
	spec, err := manifest.FromDaemonSet(ds)
	if err != nil {
		t.Fatal(err)
	}
	got := manifest.PredecessorOf(spec)
	want := rollout.Predecessor{UIDs: []types.UID{"u-1"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of a DaemonSet: -want +got\n%s", diff)
	}
	got.Selector.MatchLabels["app"] = "other"
	if spec.Selector.MatchLabels["app"] != "agent" {
		t.Error("the predecessor shares memory with the spec")
	}
	set, err := manifest.Decode([]byte(eds{metadata: "  uid: u-2\n"}.text()))
	if err != nil {
		t.Fatal(err)
	}
	want = rollout.Predecessor{UIDs: []types.UID{"u-2"}, Selector: edsSpec().Selector}
	if diff := cmp.Diff(want, manifest.PredecessorOf(set.Spec)); diff != "" {
		t.Errorf("of an ExtendedDaemonSet: -want +got\n%s", diff)
	}
	if got := manifest.PredecessorOf(rollout.Spec{}); got.UIDs != nil || got.Selector != nil {
		t.Errorf("of nothing: %+v", got)
	}
	if _, err := manifest.FromDaemonSet((*appsv1.DaemonSet)(nil)); err == nil {
		t.Error("no DaemonSet is no error")
	}
}
