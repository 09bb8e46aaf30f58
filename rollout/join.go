package rollout

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// join is step 2: attribute the pods to the nodes (P7) and read from each what the later steps need, so that every
// object is touched once.
func (r *run) join() error {
	if err := uniqueUIDs(r.snapshot.Pods); err != nil {
		return err
	}
	r.inFlight = newInFlight(r.snapshot.InFlight)
	r.index = indexDecisions(r.plan.Decisions)
	r.ids = make(map[string]int32)
	read := podReader{run: r}
	records := make([]pod, 0, len(r.snapshot.Pods))
	for _, object := range r.snapshot.Pods {
		name, ok := placement.TargetNode(object)
		record, wake := read.pod(object)
		if record.traits.has(marked) && record.traits.has(finished) {
			// M1: ignored altogether; only its revision still counts, as carried (R4), and as what the node ran (T1), and that it
			// failed on a canary node (C2).
			if record.node = r.index.find(name); ok && record.node != none && r.remembersIgnored() {
				r.ignored = append(r.ignored, record)
			}
			continue
		}
		if !ok {
			r.strays = append(r.strays, record)
			continue
		}
		record.node = r.index.find(name)
		if record.node == none {
			r.strays = append(r.strays, record)
			continue
		}
		if r.outcome(record.node) != placement.Leave || r.lingers(record.node) {
			r.wake(wake)
		}
		records = append(records, record)
	}
	r.group(records)
	slices.SortFunc(r.ignored, func(a, b pod) int { return cmp.Or(cmp.Compare(a.node, b.node), byAge(a, b)) })
	return nil
}

func (r *run) remembersIgnored() bool {
	return r.spec.Strategy.HoldRevision || r.spec.Strategy.Canary != nil
}

// group sorts the records by node, counting instead of comparing; within a node by age, name and UID.
func (r *run) group(records []pod) {
	for i := range records {
		r.nodes[records[i].node].end++
	}
	var start int32
	for i := range r.nodes {
		n := &r.nodes[i]
		n.first = start
		start += n.end
		n.end = n.first
	}
	r.pods = make([]pod, len(records))
	for i := range records {
		n := &r.nodes[records[i].node]
		r.pods[n.end] = records[i]
		n.end++
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.end-n.first > 1 {
			slices.SortFunc(r.podsOf(n), byAge)
		}
	}
}

// byAge is a total order: older first.
func byAge(a, b pod) int {
	return cmp.Or(
		a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time),
		cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID),
	)
}

// podReader turns pod objects into records.
type podReader struct {
	run  *run
	last int32 // ordinal of the hash before: pods of one set mostly carry the same
}

// pod reads one object. The instant is when it becomes available by the clock alone, if ever.
func (read *podReader) pod(object *corev1.Pod) (record pod, availableAt time.Time) {
	r := read.run
	record = pod{object: object, node: none}
	switch object.Status.Phase {
	case corev1.PodFailed:
		record.traits |= failed
	case corev1.PodSucceeded:
		record.traits |= succeeded
	}
	if object.DeletionTimestamp != nil || r.inFlight.deletes(object.UID) {
		record.traits |= marked
	}
	if object.Spec.NodeName != "" {
		record.traits |= bound
	}
	if r.inFlight.patches(object.UID) {
		record.traits |= patched
	}
	if !record.traits.has(marked) {
		record.traits |= motion(object)
		readiness := lifecycle.Evaluate(object, r.spec.MinReadySeconds, r.snapshot.Now)
		if readiness.Ready {
			record.traits |= ready
		}
		if readiness.Available {
			record.traits |= available
		}
		availableAt = readiness.AvailableAt
	}
	if record.traits.has(ready) && (record.traits.has(moving) || inplace.Resizing(object)) && isIncomplete(object) {
		record.traits |= incomplete
	}
	value, hasHash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	switch {
	case r.predecessor.owns(object):
		value = "" // whatever it carries was given by another set
	case !hasHash && r.atGeneration(object):
		record.traits |= byGeneration
	}
	if r.labels && object.Labels[CanaryLabel] != "" {
		record.traits |= labelled
	}
	if object.Annotations[placement.DigestAnnotation] != "" {
		record.traits |= digested
	}
	record.hash = read.hash(value)
	if object.DeletionTimestamp == nil && !record.traits.has(finished) {
		// A deletion that is only in flight may not have come about: what the pod carries is still there to go back to (C6).
		r.hashes[record.hash].live = true
	}
	return record, availableAt
}

// motion reads off a pod what hooks and in-place updates have begun and not finished.
func motion(object *corev1.Pod) traits {
	var t traits
	switch lifecycle.StateOf(object) {
	case "", lifecycle.Normal:
	case lifecycle.PreparingDelete:
		t |= leaving
	case lifecycle.PreparingUpdate:
		t |= preparing | moving
	case lifecycle.PreparingNormal, lifecycle.Updated:
		t |= moving | incomplete
	default:
		t |= moving
	}
	if inplace.Unfinished(object) || lifecycle.Unfinished(object) {
		t |= moving
	}
	return t
}

// isIncomplete tells whether an in-place update is known not to be complete (I5). Of a record that cannot be read nobody
// knows; a pod that is ready all the same must not keep other nodes from being updated.
func isIncomplete(object *corev1.Pod) bool {
	return !inplace.Completed(object).Done && !isUnreadable(object)
}

// isUnreadable tells whether the record of the pod's in-place update cannot be read.
func isUnreadable(object *corev1.Pod) bool {
	return slices.ContainsFunc(inplace.Completed(object).Waits, func(w inplace.Wait) bool {
		return w.Code == inplace.UnreadableState
	})
}

// atGeneration decides for pods without a revision hash (R5).
func (r *run) atGeneration(object *corev1.Pod) bool {
	return r.spec.TemplateGeneration != nil &&
		object.Labels[TemplateGenerationLabel] == strconv.FormatInt(*r.spec.TemplateGeneration, 10)
}

func (read *podReader) hash(value string) int32 {
	hashes := read.run.hashes
	if len(hashes) > 0 && hashes[read.last].value == value {
		return read.last
	}
	id, ok := read.run.ids[value]
	if !ok {
		id = int32(len(hashes))
		read.run.ids[value] = id
		read.run.hashes = append(hashes, hash{value: value})
	}
	read.last = id
	return id
}

// inFlight answers what was requested, from a map only if anything was.
type inFlight struct {
	deleted, patched map[types.UID]bool
	revisions        map[string]bool
}

func newInFlight(f InFlight) inFlight {
	return inFlight{deleted: setOf(f.Deletes), patched: setOf(f.Patches), revisions: setOf(f.Revisions)}
}

func (f inFlight) deletes(uid types.UID) bool { return len(f.deleted) > 0 && f.deleted[uid] }

func (f inFlight) patches(uid types.UID) bool { return len(f.patched) > 0 && f.patched[uid] }

func setOf[T comparable](list []T) map[T]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[T]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

// index finds the ordinal of a string among many, with one table and no object per entry, which Go's map needs. The
// seed makes hash values differ from process to process; what is found does not depend on them.
type index struct {
	seed maphash.Seed
	// slots hold the upper half of a key's hash, so that other keys are told apart without fetching them, and its
	// ordinal + 1; 0 is free. A power of two of them, at most half full.
	slots []uint64
	key   func(int32) string
}

func newIndex(n int, key func(int32) string) index {
	size := 2
	for size < 2*n {
		size *= 2
	}
	return index{seed: maphash.MakeSeed(), slots: make([]uint64, size), key: key}
}

// find returns the ordinal of s, or none.
func (x *index) find(s string) int32 {
	i, _ := x.probe(maphash.String(x.seed, s), s)
	return i
}

// add enters ordinal i; it returns the ordinal that is there under the same key already, else none.
func (x *index) add(i int32) int32 {
	s := x.key(i)
	hash := maphash.String(x.seed, s)
	found, slot := x.probe(hash, s)
	if found == none {
		x.slots[slot] = hash&tag | uint64(i+1)
	}
	return found
}

const tag = 0xffffffff_00000000

// probe returns the ordinal of s, or none and the slot where it belongs.
func (x *index) probe(hash uint64, s string) (int32, uint64) {
	mask := uint64(len(x.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := x.slots[at]
		if slot == 0 {
			return none, at
		}
		if i := int32(slot&^tag) - 1; (slot^hash)&tag == 0 && x.key(i) == s {
			return i, at
		}
	}
}

// indexDecisions indexes the nodes by name. The names are read off the decisions, which lie side by side.
func indexDecisions(decisions []Decision) index {
	x := newIndex(len(decisions), func(i int32) string { return decisions[i].Node })
	for i := range decisions {
		x.add(int32(i))
	}
	return x
}

// uniqueUIDs is a loop of its own: in a short loop the processor waits for several objects at once, and on 15,000 nodes
// the benchmarks take a third longer if the UIDs are read with the rest of each pod.
func uniqueUIDs(pods []*corev1.Pod) error {
	x := newIndex(len(pods), func(i int32) string { return string(pods[i].UID) })
	for i := range pods {
		if j := x.add(int32(i)); j != none {
			return &SnapshotError{Field: "Pods", Problem: fmt.Sprintf("UIDs must be unique: two pods have %q", pods[j].UID)}
		}
	}
	return nil
}

func at(list string, i int, problem string) error {
	return &SnapshotError{Field: fmt.Sprintf("%s[%d]", list, i), Problem: problem}
}
