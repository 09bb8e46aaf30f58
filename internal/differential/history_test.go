package differential_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// historyRule is one deliberate difference in what is done to the revisions, as those of package peer are in what is done to
// pods: a switch of the naive history below.
type historyRule uint8

const (
	emptyFieldsRestartNothing historyRule = iota
	onlyDuplicatesAreRelabelled
	duplicatesGoLast
	collisionIsResolved
	everyPodCarries
	othersKeepTheirLabel

	historyRules // count
)

var historyEntries = [historyRules]peer.Entry{
	emptyFieldsRestartNothing: {ID: "empty-fields-restart-nothing", Rule: "R2",
		Why: "the controller compares bytes, so that a field that is there and empty makes another revision"},
	onlyDuplicatesAreRelabelled: {ID: "only-duplicates-are-relabelled", Rule: "R3",
		Why: "merging duplicates the controller relabels every pod of the set, outdated ones too, which are then never updated"},
	duplicatesGoLast: {ID: "duplicates-go-last", Rule: "R3",
		Why: "the controller deletes a duplicate in the sync that relabels its pods; a plan when no pod is seen to carry it"},
	collisionIsResolved: {ID: "collision-is-resolved", Rule: "R3",
		Why: "if a name is taken the controller stores the collision count and ends with an error; a plan goes on with the next name"},
	everyPodCarries: {ID: "every-pod-carries", Rule: "R4",
		Why: "the controller deletes a revision that only a pod without a node carries"},
	othersKeepTheirLabel: {ID: "others-keep-their-label", Rule: "R3",
		Why: "the controller relabels pods that are on their way out, have finished or have no node, too"},
}

// anyHistory is a world whose history is not in order.
func anyHistory() *rapid.Generator[differential.World] {
	return rapid.Custom(func(t *rapid.T) differential.World {
		g := generator{T: t}
		w := differential.World{Now: noon, Set: g.set()}
		w.Revisions = g.history(w.Set)
		w.Nodes = g.nodes()
		for i, n := range w.Nodes {
			pod := g.pod(&w, fmt.Sprintf("agent-%02d", i), n.Name)
			if g.chance("no node", 5) {
				pod.Spec.NodeName, pod.Spec.Affinity = "", nil
			}
			w.Pods = append(w.Pods, pod)
		}
		current := w.Revisions[len(w.Revisions)-1]
		switch g.oneOf("history", 0, 1, 2, 3, 4) {
		case 0: // a new template
			w.Revisions = w.Revisions[:len(w.Revisions)-1]
		case 1: // back to an old template
			current.Revision = int64(g.oneOf("number", 0, 1, 2))
		case 2: // revisions of the same template
			for i := range g.oneOf("duplicates", 1, 2) {
				again := current.DeepCopy()
				again.Name += fmt.Sprintf("-%d", i)
				again.UID = types.UID("revision-" + again.Name)
				again.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] += fmt.Sprintf("%d", i)
				again.Revision = int64(60*i + g.oneOf("number", 0, 50)*(1-i)) // of equal ones the controller keeps any
				w.Revisions = append(w.Revisions, again)
				for _, pod := range w.Pods {
					if g.chance("of the duplicate", 20) {
						pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = again.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
					}
				}
			}
		case 3: // another template has the name of this one
			other := w.Set.Spec.Template.DeepCopy()
			other.Spec.Containers[0].Image = "reg.example/agent:other"
			data, err := history.Data(other)
			if err != nil {
				panic(err) // it is a template like the others
			}
			current.Data.Raw = data
		case 4: // written by a newer version of the API, with a field that is empty
			current.Data.Raw = []byte(strings.Replace(string(current.Data.Raw), `"restartPolicy"`, `"hostAliases":[],"restartPolicy"`, 1))
		}
		return w
	})
}

// naiveHistory says what is done to the revisions of a world, and to the labels of its pods, in words. Deletes are those
// of the same plan.
func naiveHistory(w differential.World, rules uint8, deletes []rollout.Delete) []string {
	on := func(r historyRule) bool { return rules>>r&1 != 0 }
	want, err := history.Data(&w.Set.Spec.Template)
	if err != nil {
		panic(err) // it is a template like the others
	}
	var same, old []*appsv1.ControllerRevision
	for _, r := range w.Revisions {
		if equal := bytes.Equal(r.Data.Raw, want); equal || on(emptyFieldsRestartNothing) && history.SameData(r.Data.Raw, want) {
			same = append(same, r)
		} else {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	next := int64(1)
	for _, r := range old {
		next = max(next, r.Revision+1)
	}
	carried := map[string]int{}
	for _, p := range w.Pods {
		if _, ok := placement.TargetNode(p); ok || on(everyPodCarries) {
			carried[p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]++
		}
	}
	var did []string
	if len(same) == 0 {
		count := w.Set.Status.CollisionCount
		name := func() string { return w.Set.Name + "-" + history.Hash(&w.Set.Spec.Template, count) }
		for slices.ContainsFunc(w.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == name() }) {
			next32 := int32(1)
			if count != nil {
				next32 = *count + 1
			}
			count = &next32
			did = append(did, fmt.Sprintf("count %d", next32))
			if !on(collisionIsResolved) {
				return did
			}
		}
		did = append(did, fmt.Sprintf("create %s %d", name(), next))
	} else {
		kept := slices.MaxFunc(same, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
		if kept.Revision < next {
			did = append(did, fmt.Sprintf("renumber %s %d", kept.Name, next))
		}
		if len(same) > 1 {
			stay := slices.DeleteFunc(slices.Clone(w.Pods), func(p *corev1.Pod) bool {
				_, placed := placement.TargetNode(p)
				deleted := slices.ContainsFunc(deletes, func(d rollout.Delete) bool { return d.UID == p.UID })
				return on(othersKeepTheirLabel) && (!placed || deleted || p.DeletionTimestamp != nil || lifecycle.Terminal(p))
			})
			did = append(did, mergedInto(kept, same, stay, carried, on)...)
		}
	}
	kill := len(old) - int(*w.Set.Spec.RevisionHistoryLimit)
	for _, r := range old {
		if kill > 0 && carried[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] == 0 {
			did = append(did, "delete "+r.Name)
			kill--
		}
	}
	slices.Sort(did)
	return did
}

// mergedInto says what becomes of the duplicates of a revision and of their pods.
func mergedInto(
	kept *appsv1.ControllerRevision, same []*appsv1.ControllerRevision, pods []*corev1.Pod, carried map[string]int, on func(historyRule) bool,
) (did []string) {
	hashes := map[string]bool{}
	for _, r := range same {
		hash := r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		hashes[hash] = true
		if r != kept && (carried[hash] == 0 || !on(duplicatesGoLast)) {
			did = append(did, "delete "+r.Name)
		}
	}
	hash := kept.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	for _, p := range pods {
		of := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if of != hash && (hashes[of] || !on(onlyDuplicatesAreRelabelled)) {
			did = append(did, fmt.Sprintf("relabel %s %s", p.Name, hash))
		}
	}
	return did
}

// controllersHistory is what the controller's sync did to the history, in the same words.
func controllersHistory(w differential.World, r differential.Requests) (did []string) {
	for _, request := range r.Revisions {
		text := request.Verb + " " + request.Name
		switch request.Verb {
		case "create":
			text += fmt.Sprintf(" %d", request.Object.Revision)
		case "update":
			text = fmt.Sprintf("renumber %s %d", request.Name, request.Object.Revision)
		}
		did = append(did, text)
	}
	for _, pod := range slices.Sorted(maps.Keys(r.Relabels)) {
		did = append(did, fmt.Sprintf("relabel %s %s", pod, r.Relabels[pod]))
	}
	if r.Status != nil && r.Status.CollisionCount != nil {
		if before := w.Set.Status.CollisionCount; before == nil || *before != *r.Status.CollisionCount {
			did = append(did, fmt.Sprintf("count %d", *r.Status.CollisionCount))
		}
	}
	slices.Sort(did)
	return did
}

// plansHistory is what a plan does to the history, in the same words.
func plansHistory(w differential.World, plan rollout.Plan) (did []string, err error) {
	for _, a := range plan.Revisions {
		switch a.Verb {
		case rollout.CreateRevision:
			did = append(did, fmt.Sprintf("create %s %d", a.Name, a.Number))
		case rollout.RenumberRevision:
			did = append(did, fmt.Sprintf("renumber %s %d", a.Name, a.Number))
		case rollout.DeleteRevision:
			did = append(did, "delete "+a.Name)
		default:
			did = append(did, fmt.Sprintf("%v %s", a.Verb, a.Name))
		}
	}
	for _, p := range plan.Patches {
		var change corev1.Pod
		if err := json.Unmarshal(p.Data, &change); err != nil {
			return nil, err
		}
		did = append(did, fmt.Sprintf("relabel %s %s", p.Pod, change.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]))
	}
	if after := plan.Memory.CollisionCount; after != nil {
		before := int32(0)
		if w.Set.Status.CollisionCount != nil {
			before = *w.Set.Status.CollisionCount
		}
		for count := before + 1; count <= *after; count++ {
			did = append(did, fmt.Sprintf("count %d", count))
		}
	}
	slices.Sort(did)
	return did, nil
}

// TestHistory compares what the controller's sync does to the revisions, and to the labels of pods, with what a plan does.
// The revision that it creates is compared whole.
func TestHistory(t *testing.T) {
	c := newController(t)
	worlds, needed := 0, [historyRules]int{}
	check(t, 4, func(t *rapid.T) {
		w := anyHistory().Draw(t, "world")
		if err := compareHistories(c, w, &needed); err != nil {
			t.Fatal(report("TestHistory", w, err))
		}
		worlds++
	})
	t.Logf("%d worlds", worlds)
	for r, e := range historyEntries[:] {
		t.Logf("%7d need %s (%s): %s", needed[r], e.ID, e.Rule, e.Why)
		if needed[r] == 0 && worlds > 1000 {
			t.Errorf("no world needs %s", e.ID)
		}
	}
}

func compareHistories(c *differential.Controller, w differential.World, needed *[historyRules]int) error {
	if err := c.Load(w); err != nil {
		return err
	}
	c.Forget()
	theirs, err := c.Sync()
	if err != nil && !strings.Contains(err.Error(), "already exists") && !strings.Contains(err.Error(), "couldn't get node for nodeName") {
		return err
	}
	s := &step{world: w}
	if err := s.asPlanner(); err != nil {
		return err
	}
	ours, err := plansHistory(w, s.plan)
	if err != nil {
		return err
	}
	const all = 1<<historyRules - 1
	if did, want := controllersHistory(w, theirs), naiveHistory(w, 0, nil); !slices.Equal(did, want) {
		return fmt.Errorf("the controller does %q, in the model %q", did, want)
	}
	if want := naiveHistory(w, all, s.plan.Deletes); !slices.Equal(ours, want) {
		return fmt.Errorf("the plan does %q, in the model with all rules %q", ours, want)
	}
	rules := uint8(all)
	for r := range historyRules {
		if slices.Equal(naiveHistory(w, rules&^(1<<r), s.plan.Deletes), ours) {
			rules &^= 1 << r
		} else {
			needed[r]++
		}
	}
	return sameCreated(theirs, s.plan)
}

// sameCreated compares the revisions that are created, if both create one of the same name.
func sameCreated(theirs differential.Requests, plan rollout.Plan) error {
	for _, request := range theirs.Revisions {
		i := slices.IndexFunc(plan.Revisions, func(a rollout.RevisionAction) bool { return a.Name == request.Name })
		if request.Verb != "create" || i < 0 {
			continue
		}
		a, b := plan.Revisions[i].Object, request.Object
		if !bytes.Equal(a.Data.Raw, b.Data.Raw) || !maps.Equal(a.Labels, b.Labels) || a.Namespace != b.Namespace ||
			a.Revision != b.Revision || len(a.OwnerReferences) != 1 || a.OwnerReferences[0].UID != b.OwnerReferences[0].UID {
			return fmt.Errorf("the plan creates %+v, the controller %+v", a, b)
		}
	}
	return nil
}
