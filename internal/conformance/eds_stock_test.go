package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/status"
)

// edsStock is a recording as input of the planner that does what the controller does.
type edsStock struct {
	planner  *stock.ExtendedDaemonSet
	snapshot rollout.Snapshot
	others   []string // revisions of replica sets for which nothing is to be done
}

// at returns the snapshot at a time at which the other replica sets were handled.
func (in *edsStock) at(now time.Time) rollout.Snapshot {
	s := in.snapshot
	s.Now = now
	s.Memory.Conditions = slices.DeleteFunc(slices.Clone(s.Memory.Conditions), func(c metav1.Condition) bool {
		return slices.ContainsFunc(in.others, func(hash string) bool { return c.Type == "LastFullSync-"+hash })
	})
	for _, hash := range in.others {
		s.Memory.Conditions = append(s.Memory.Conditions, metav1.Condition{
			Type: "LastFullSync-" + hash, Status: metav1.ConditionTrue, Reason: "LastFullSync", LastTransitionTime: metav1.NewTime(now),
		})
	}
	return s
}

// stock makes the recording input of that planner. The roles of replica sets are those of the status: the template of the set is
// one of which there is no replica set yet, so that the controller decides nothing else about the set. Other replica sets than the
// recorded one were handled just now, so that nothing is done for them.
func (w *edsWorld) stock(t *testing.T, seed uint64) (edsStock, error) {
	t.Helper()
	set := w.Input.Set
	if set.Kind == "" {
		set.APIVersion, set.Kind, set.Name, set.Namespace = "datadoghq.com/v1alpha1", "ExtendedDaemonSet", "agent", "ns"
	}
	spec, err := edsSpec(set, w.template("next"))
	if err != nil {
		return edsStock{}, err
	}
	spec.UID = "uid-set"
	spec.Overrides = w.overrides()
	frequency := 10 * time.Second
	if f := w.Input.Set.Spec.Strategy.ReconcileFrequency; f != nil {
		frequency = f.Duration
	}
	if w.role == edsFilterAlone { // which nodes are empty is to be seen at once, and nothing is updated
		spec.Strategy.Paused = true
		spec.Strategy.SlowStart = &rollout.SlowStart{Increase: new(intstr.FromInt32(100_000)), MaxParallel: new(intstr.FromInt32(100_000))}
		frequency = time.Nanosecond
	}
	if spec.Strategy.Canary == nil && (w.role == edsStable || w.role == edsOnTrial) {
		spec.Strategy.Canary = new(canary.Options)
	}
	if w.Input.Set.Annotations[edsCanaryFailed] == "true" && spec.Strategy.Canary != nil {
		spec.Strategy.Canary.Commands.Fail = canary.Any
	}
	out := edsStock{snapshot: rollout.Snapshot{Now: w.now(), Nodes: w.labelled()}}
	hashes := make(map[string]string)
	for i, name := range []string{edsOld, edsThis, edsNewer} {
		of := spec
		of.Template = *w.template(name)
		of.Template.Labels, of.Template.Annotations = spec.Template.Labels, spec.Template.Annotations
		revision := kit.Revision(of, int64(i+1))
		hashes[name] = revision.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		out.snapshot.Revisions = append(out.snapshot.Revisions, revision)
	}
	out.snapshot.Memory = w.stockMemory(hashes)
	out.others = []string{hashes[edsOld], hashes[edsNewer]}
	for _, n := range w.nodes {
		for _, p := range n.pods {
			out.snapshot.Pods = append(out.snapshot.Pods, w.stockPod(p, hashes, spec))
		}
	}
	planner, err := stock.NewExtendedDaemonSet(spec, seed)
	if err != nil {
		return edsStock{}, err
	}
	out.planner = planner.Every(frequency)
	return out, nil
}

const edsCanaryFailed = "extendeddaemonset.datadoghq.com/canary-failed"

// stockPod is the pod with the label of its revision.
func (w *edsWorld) stockPod(p *corev1.Pod, hashes map[string]string, spec rollout.Spec) *corev1.Pod {
	p = p.DeepCopy()
	p.UID = types.UID("uid-" + p.Name)
	kit.ControlledBy(spec)(p)
	if hash := hashes[w.newModel().revision(p)]; hash != "" {
		if p.Labels == nil {
			p.Labels = make(map[string]string)
		}
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	}
	return p
}

// stockMemory is what the status of the set and of the replica set says.
func (w *edsWorld) stockMemory(hashes map[string]string) rollout.Memory {
	active := map[edsRole]string{
		edsActive: edsThis, edsStable: edsThis, edsFilterAlone: edsThis, edsOnTrial: edsOld, edsSuperseded: edsNewer, edsUndecided: edsNewer,
	}[w.role]
	memory := rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: hashes[active]}}
	handled := func(hash, kind string, at time.Time) {
		memory.Conditions = append(memory.Conditions, metav1.Condition{
			Type: kind + "-" + hash, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.NewTime(at),
		})
	}
	replica := &w.Input.Replica
	if replica.holds("Active") && active == edsThis {
		memory.Rollout.Began = replica.condition("Active").LastTransitionTime.Time
	}
	for _, kind := range []string{"LastFullSync", "PodCreation", "PodDeletion"} {
		if c := replica.condition(kind); c != nil {
			handled(hashes[edsThis], kind, c.LastUpdateTime.Time)
		}
	}
	trial := map[edsRole]string{edsStable: edsNewer, edsOnTrial: edsThis}[w.role]
	if w.role == edsFilterAlone && len(w.Input.IgnoredNodes) > 0 {
		trial = edsNewer
		memory.Canary.Nodes = slices.Sorted(slices.Values(w.Input.IgnoredNodes))
	}
	if trial == "" {
		return memory
	}
	memory.Canary.Revision, memory.Canary.Began = hashes[trial], w.now()
	if w.role != edsFilterAlone {
		memory.Canary.Nodes = w.Input.CanaryNodes
		if status := w.Input.Set.Status.Canary; status != nil {
			memory.Canary.Nodes = status.Nodes
		}
	}
	if w.role == edsOnTrial {
		replica.tried(&memory.Canary)
	}
	return memory
}

// tried writes into the record what the conditions say of the trial.
func (r *edsReplicaSet) tried(record *canary.Record) {
	if c := r.condition("Canary"); c != nil {
		record.Began = c.LastTransitionTime.Time
	}
	if c := r.condition("PodRestarting"); c != nil {
		record.Restarting, record.Restarted = c.LastTransitionTime.Time, c.LastUpdateTime.Time
	}
	if c := r.condition("Canary-Paused"); r.holds("Canary-Paused") {
		record.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts, At: c.LastTransitionTime.Time}
	}
	if c := r.condition("Canary-Failed"); r.holds("Canary-Failed") {
		record.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TooManyRestarts, At: c.LastTransitionTime.Time}
	}
}

// differs returns how the plan differs from what the controller does; empty: it is one of the choices that the controller makes.
func (o edsOutcome) differs(w *edsWorld, plan rollout.Plan) string {
	got := edsDecidedBy(plan)
	if o.panics {
		o = edsOutcome{counters: o.counters}
	}
	if !peer.Permits(o.creates, peer.Act{}, got.creates) || !peer.Permits(o.deletes, peer.Act{}, got.deletes) {
		return fmt.Sprintf("creates %v, deletes %v; the controller: %v", got.creates, got.deletes, o)
	}
	if o.counters == (edsCounters{}) {
		return "" // it has not come to the status
	}
	var counted edsCounters
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		n := w.node(d.Node)
		if n == nil || (w.role == edsOnTrial) != n.canary || n.ignored && w.role != edsOnTrial {
			continue
		}
		counted.Desired += count(d.Facts.Has(status.Desired))
		counted.Current += count(d.Facts.Has(status.Present))
		counted.Ready += count(d.Facts.Has(status.Ready))
		counted.Available += count(d.Facts.Has(status.Available))
	}
	if counted.Ignored = o.counters.Ignored; counted != o.counters && w.role != edsFilterAlone {
		return fmt.Sprintf("counts %v; the controller: %v", counted, o.counters)
	}
	return ""
}

func (w *edsWorld) node(name string) *edsNode {
	for _, n := range w.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// TestConformanceEDSStock compares the planner that does what the controller does with all recorded calls, without any difference
// accounted for.
func TestConformanceEDSStock(t *testing.T) {
	for _, file := range edsFiles {
		t.Run(file, func(t *testing.T) {
			calls, asked := 0, 0
			for _, c := range edsLines[edsCase](t, file) {
				w := newEDSWorld(t, c, edsRoleIn(c, file))
				if c.refused() != "" || newEDSModel(w, 0).undefaulted() || file == "rolling" && !edsFilters(w) {
					continue // a Spec has its defaults
				}
				for seed := range uint64(3) {
					n, some := compareEDSStock(t, w, seed, newEDSModel(w, 0))
					calls, asked = calls+n, asked+some
				}
			}
			if t.Logf("%d calls, %d creates and deletes", calls, asked); calls < 100 || asked < 100 {
				t.Error("too few to compare")
			}
		})
	}
}

// edsFilters reports whether the filter, of which a recording begins with the result, keeps the pods that it has kept there.
func edsFilters(w *edsWorld) bool {
	free := *w
	free.nodes = nil
	for _, n := range w.nodes {
		fresh := *n
		fresh.given, fresh.kept = false, nil
		free.nodes = append(free.nodes, &fresh)
	}
	given, free2 := newEDSModel(w, 0).filter(), newEDSModel(&free, 0).filter()
	return edsFilterString(edsFilteredBy(given)) == edsFilterString(edsFilteredBy(free2))
}

// compareEDSStock compares the calls of a recording with the model. It returns how many there are, and how much was asked for.
func compareEDSStock(t *testing.T, w *edsWorld, seed uint64, m *edsModel) (calls, asked int) {
	t.Helper()
	in, err := w.stock(t, seed)
	if err != nil {
		return 0, 0
	}
	for i, seconds := range append([]float64{0}, w.Input.LaterCallsAtSeconds...) {
		at := w.now().Add(edsSeconds(seconds))
		m.at = at
		plan, err := in.planner.Plan(in.at(at))
		if err != nil {
			t.Fatalf("%s: %v", w.Name, err)
		}
		if why := m.outcome().differs(w, plan); why != "" {
			t.Errorf("%s %v, seed %d, call %d: %s", w.Name, w.Features, seed, i, why)
		}
		in.snapshot.Memory = plan.Memory
		calls++
		asked += len(plan.Creates) + len(plan.Deletes)
	}
	return calls, asked
}

// TestConformanceEDSStockVaried compares the planner with the model on cases that nobody has recorded.
func TestConformanceEDSStockVaried(t *testing.T) {
	calls, asked := 0, 0
	for _, file := range edsFiles {
		for _, c := range edsLines[edsCase](t, file) {
			for seed := range fixedseed.Share(3) {
				v := c.varied(t, rand.New(rand.NewPCG(seed, uint64(len(c.Input.Nodes)))))
				w := newEDSWorld(t, v, edsRoleIn(v, file))
				for _, n := range w.nodes { // the order in which the controller lists them is chance
					slices.SortFunc(n.pods, peer.Oldest)
				}
				m := newEDSModel(w, 0)
				if v.refused() != "" || m.undefaulted() {
					continue
				}
				n, some := compareEDSStock(t, w, seed, m)
				calls, asked = calls+n, asked+some
			}
		}
	}
	if t.Logf("%d calls, %d creates and deletes", calls, asked); (calls < 500 || asked < 500) && !edsElsewhere() {
		t.Error("too few to compare")
	}
}
