package conformance_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// edsElection is what the controller knows when it decides which replica set is active and which is on trial.
type edsElection struct {
	name        string
	now         time.Time
	set         edsSet
	replicaSets []*edsReplicaSet
	upToDate    *edsReplicaSet // one of them; nil: there is none
	active      *edsReplicaSet // one of them; nil: there is none
	nodes       []*corev1.Node
	pods        []*corev1.Pod
	mode        string
}

// elected is the plan, with the names of the replica sets by the hashes of their revisions.
type edsElected struct {
	plan  rollout.Plan
	names map[string]string
}

// elect plans for the set. The template of a replica set is that of the set with the name of the replica set in its image, so that
// each has another one. Of a replica set that counts nodes there is a pod. The error is why the spec is refused.
func (e *edsElection) elect(seed uint64) (edsElected, error) {
	template := func(name string) *corev1.PodTemplateSpec {
		of := new(corev1.PodTemplateSpec)
		if e.upToDate != nil {
			of = e.upToDate.Spec.Template.DeepCopy()
		}
		of.Spec.Containers = []corev1.Container{{Name: "agent", Image: "repo/" + name}}
		return of
	}
	wanted := "wanted"
	if e.upToDate != nil {
		wanted = e.upToDate.Name
	}
	set := e.set
	set.Kind, set.APIVersion = "ExtendedDaemonSet", "datadoghq.com/v1alpha1"
	spec, err := edsSpec(set, template(wanted))
	if err != nil {
		return edsElected{}, err
	}
	spec.UID = "uid-set"
	if o := spec.Strategy.Canary; o != nil {
		if o.Mode == "" {
			o.Mode = canary.Mode(e.mode)
		}
		if set.Annotations[edsCanaryFailed] == "true" {
			o.Commands.Fail = canary.Any
		}
	}
	s := rollout.Snapshot{Now: e.now, Nodes: e.nodes, Memory: rollout.Memory{Version: rollout.MemoryVersion}}
	names := make(map[string]string)
	hashes := make(map[*edsReplicaSet]string)
	for i, r := range e.replicaSets {
		of := spec
		of.Template = *template(r.Name)
		of.Template.Labels, of.Template.Annotations = spec.Template.Labels, spec.Template.Annotations
		revision := kit.Revision(of, int64(i+1))
		revision.CreationTimestamp = r.CreationTimestamp
		hash := revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		hashes[r], names[hash] = hash, r.Name
		if o := spec.Strategy.Canary; o != nil && o.Commands.Validate == r.Name {
			o.Commands.Validate = revision.Name
		}
		s.Revisions = append(s.Revisions, revision)
		if c := r.condition("Canary-Failed"); r.holds("Canary-Failed") {
			s.Memory.Conditions = append(s.Memory.Conditions, metav1.Condition{
				Type: "Canary-Failed-" + hash, Status: metav1.ConditionTrue, Reason: "Canary-Failed", LastTransitionTime: c.LastTransitionTime,
			})
		}
		if r.Status.Desired > 0 {
			s.Pods = append(s.Pods, kit.Pod(fmt.Sprintf("of-%d", i), kit.OnNode("elsewhere"), kit.AtRevision(hash), kit.ControlledBy(spec)))
		}
	}
	for i, p := range e.pods {
		if p.Labels[edsName] != set.Name {
			continue
		}
		p = p.DeepCopy()
		p.UID = types.UID(fmt.Sprintf("uid-pod-%d", i))
		kit.ControlledBy(spec)(p)
		s.Pods = append(s.Pods, p)
	}
	s.Memory.Rollout.Revision = "gone"
	if e.active != nil {
		s.Memory.Rollout.Revision = hashes[e.active]
	}
	if status := set.Status.Canary; status != nil {
		s.Memory.Canary.Nodes, s.Memory.Canary.Began = slices.Sorted(slices.Values(status.Nodes)), e.now
		for r, hash := range hashes {
			if r.Name == status.ReplicaSet {
				s.Memory.Canary.Revision = hash
			}
		}
	}
	if e.upToDate != nil {
		s.Memory.Canary.Revision = hashes[e.upToDate]
		e.upToDate.tried(&s.Memory.Canary)
	}
	planner, err := stock.NewExtendedDaemonSet(spec, seed)
	if err != nil {
		return edsElected{}, err
	}
	plan, err := planner.Stored(set.Status.Desired).Plan(s)
	return edsElected{plan, names}, err
}

func (e edsElected) active() string { return e.names[e.plan.Memory.Rollout.Revision] }

// TestConformanceEDSStockPromotion compares which replica set becomes active with what was recorded.
func TestConformanceEDSStockPromotion(t *testing.T) {
	type promotion struct {
		Name  string
		Input struct {
			Now                time.Time
			ExtendedDaemonSet  edsSet
			ActiveReplicaSet   *edsReplicaSet
			UpToDateReplicaSet edsReplicaSet
			SameObject         bool
		}
		Expect struct {
			Current            string
			RestoresTemplateOf string
			IsCanaryActive     bool
		}
	}
	compared, promoted := 0, 0
	for _, c := range edsLines[promotion](t, "canary-promotion") {
		in := &c.Input
		if edsRefused(&in.ExtendedDaemonSet) != "" || in.ActiveReplicaSet == nil || in.SameObject {
			continue
		}
		e := &edsElection{name: c.Name, now: in.Now, set: in.ExtendedDaemonSet, active: in.ActiveReplicaSet, upToDate: &in.UpToDateReplicaSet}
		if in.ActiveReplicaSet.Name == in.UpToDateReplicaSet.Name {
			e.active = e.upToDate
			e.replicaSets = []*edsReplicaSet{e.active}
		} else {
			e.replicaSets = []*edsReplicaSet{e.active, e.upToDate}
		}
		got, err := e.elect(1)
		if err != nil {
			continue // such as a limit that New refuses
		}
		want := map[string]string{"active": in.ActiveReplicaSet.Name, "upToDate": in.UpToDateReplicaSet.Name}[c.Expect.Current]
		compared++
		if got.active() != want {
			t.Errorf("%s: %q is active, and with the controller %q", c.Name, got.active(), want)
		}
		if want == in.UpToDateReplicaSet.Name {
			promoted++
			continue
		}
		restored := got.plan.Canary.Phase == canary.Failed
		if wanted := c.Expect.RestoresTemplateOf != ""; restored != wanted {
			t.Errorf("%s: the template is restored: %v, and with the controller: %v", c.Name, restored, wanted)
		}
	}
	if t.Logf("%d compared, %d promoted", compared, promoted); (compared < 100 || promoted < 20) && !edsElsewhere() {
		t.Error("too few to compare")
	}
}

// TestConformanceEDSStockNodes compares the nodes of a canary with what was recorded.
func TestConformanceEDSStockNodes(t *testing.T) {
	type selection struct {
		Name  string
		Input struct {
			ExtendedDaemonSet  edsSet
			ReplicaSet         edsReplicaSet
			Nodes              []*corev1.Node
			Pods               []*corev1.Pod
			CurrentCanaryNodes []string
		}
		Expect struct {
			Deterministic                  bool
			Nodes, MustInclude, From       []string
			Count                          int
			ObservedSets                   [][]string
			ObservedSizes                  []int
			Errors                         []string
			Wanted                         *int
			ControllerWouldCallSelectNodes bool
		}
	}
	compared, few := 0, 0
	for _, c := range edsLines[selection](t, "canary-nodes") {
		in, expect := &c.Input, &c.Expect
		in.ExtendedDaemonSet.Status.Canary = &edsCanaryStatus{ReplicaSet: in.ReplicaSet.Name, Nodes: in.CurrentCanaryNodes}
		strategy := in.ExtendedDaemonSet.Spec.Strategy.Canary
		strategy.ValidationMode, strategy.Duration, strategy.NoRestartsDuration = "manual", nil, nil // so that nothing is promoted
		if edsRefused(&in.ExtendedDaemonSet) != "" || !expect.ControllerWouldCallSelectNodes {
			continue
		}
		active := &edsReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "active"}}
		e := &edsElection{name: c.Name, now: edsNow, set: in.ExtendedDaemonSet, active: active, upToDate: &in.ReplicaSet,
			replicaSets: []*edsReplicaSet{active, &in.ReplicaSet}, nodes: in.Nodes, pods: in.Pods}
		for seed := range uint64(5) {
			elected, err := e.elect(seed)
			if err != nil {
				break
			}
			got := slices.Sorted(slices.Values(elected.plan.Memory.Canary.Nodes))
			compared++
			unchanged := slices.Equal(got, slices.Sorted(slices.Values(in.CurrentCanaryNodes)))
			if unchanged && slices.ContainsFunc(expect.Errors, func(text string) bool { return text != "" }) {
				few++
				continue
			}
			of := func(name string) bool { return slices.Contains(got, name) }
			ok := true
			switch {
			case expect.Deterministic:
				ok = slices.Equal(got, slices.Sorted(slices.Values(expect.Nodes)))
			case len(expect.ObservedSets) > 0:
				ok = slices.ContainsFunc(expect.ObservedSets, func(set []string) bool {
					return slices.Equal(got, slices.Sorted(slices.Values(set)))
				})
			default:
				for _, name := range expect.MustInclude {
					ok = ok && of(name)
				}
				for _, name := range got {
					ok = ok && (slices.Contains(expect.MustInclude, name) || slices.Contains(expect.From, name))
				}
				ok = ok && (len(got) == len(expect.MustInclude)+expect.Count || slices.Contains(expect.ObservedSizes, len(got)))
			}
			if !ok {
				t.Errorf("%s, seed %d: chooses %v, and the controller %+v", c.Name, seed, got, *expect)
			}
		}
	}
	if t.Logf("%d compared, %d with too few nodes", compared, few); (compared < 500 || few < 20) && !edsElsewhere() {
		t.Error("too few to compare")
	}
}

// TestConformanceEDSStockReconcile compares what is decided about the set with what was recorded.
func TestConformanceEDSStockReconcile(t *testing.T) {
	compared := 0
	for _, c := range edsLines[edsReconcile](t, "eds-reconcile") {
		if o := c.options(); edsRefused(&c.Input.Set) != "" || c.undefaulted() ||
			o != nil && *o.AutoFail.MaxRestarts <= *o.AutoPause.MaxRestarts {
			continue // a Spec has its defaults
		}
		in := &c.Input
		e := &edsElection{name: c.Name, now: in.Now, set: in.Set, replicaSets: in.ReplicaSets, upToDate: c.upToDate(),
			active: c.replica(in.Set.Status.ActiveReplicaSet), nodes: in.Nodes, mode: in.DefaultMode}
		got, err := e.elect(1)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		want := c.recorded()
		compared++
		if want.trial == want.active {
			want.trial = "" // the active replica set is never on trial, whatever the status says
		}
		d := e.decision(got, c)
		if want.created > 0 || want.ended != "" {
			want.state, want.ended = d.state, "" // the status is left as it was
		}
		if d != want {
			t.Errorf("%s %v:\n got %+v\nwant %+v", c.Name, c.Features, d, want)
		}
	}
	if t.Logf("%d compared", compared); compared < 100 && !edsElsewhere() {
		t.Error("too few to compare")
	}
}

// decision is what the plan decides about the set, as far as it decides it.
func (e *edsElection) decision(got edsElected, c *edsReconcile) edsDecision {
	d := edsDecision{active: c.imageOf(got.active()), image: edsImage(c.Input.Set.Spec.Template), state: "Running"}
	for _, a := range got.plan.Revisions {
		d.created += int(count(a.Verb == rollout.CreateRevision))
		d.deleted += int(count(a.Verb == rollout.DeleteRevision))
	}
	switch {
	case c.Input.Set.Annotations[edsFrozen] == "true":
		d.state = "Rollout frozen"
	case c.Input.Set.Annotations[edsPaused] == "true":
		d.state = "RollingUpdate Paused"
	}
	if len(got.plan.Canary.Nodes) == 0 && got.plan.Canary.Wanted > 0 {
		return d // too few nodes were found
	}
	switch got.plan.Canary.Phase {
	case canary.Running:
		d.state, d.trial = "Canary", c.imageOf(got.names[got.plan.Canary.Revision])
	case canary.Paused:
		d.state, d.trial = "Canary Paused", c.imageOf(got.names[got.plan.Canary.Revision])
	case canary.Failed:
		d.state, d.image = "Canary Failed", d.active
	}
	return d
}
