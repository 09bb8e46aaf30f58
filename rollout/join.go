package rollout

import (
	"cmp"
	"fmt"
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

// join is step 2. It attributes the pods to the nodes (P7) and reads from each what the later steps need, so that every object
// is touched once.
func (r *run) join() error {
	r.inFlight = newInFlight(r.snapshot.InFlight)
	r.ids = make(map[string]int32)
	read := newPodReader(r)
	records := make([]pod, 0, len(r.snapshot.Pods))
	for first := 0; first < len(r.snapshot.Pods); first += block {
		objects := r.snapshot.Pods[first:min(first+block, len(r.snapshot.Pods))]
		if err := read.attribute(objects, first); err != nil {
			return err
		}
		for i, object := range objects {
			record, wake := read.pod(object)
			record.node = read.nodes[i]
			switch {
			case record.traits.has(marked) && record.traits.has(finished):
				// M1 ignores a finished pod that is marked for deletion. Only its revision still counts, as one that a pod
				// carries (R4) and as what the node ran (T1), and on a canary node that it failed (C2).
				if record.node != none && r.remembersIgnored() {
					r.ignored = append(r.ignored, record)
				}
			case record.node == none:
				r.strays = append(r.strays, record)
			default:
				r.awaitAvailable(record.node, wake)
				records = append(records, record)
			}
		}
	}
	r.group(records)
	slices.SortFunc(r.ignored, func(a, b pod) int { return cmp.Or(cmp.Compare(a.node, b.node), byAge(a, b)) })
	return nil
}

// awaitAvailable sets a wake for when a pod becomes available by the clock alone. On a leave node that matters only while the pod
// stays there (M4), or if step 4 finds that the node is no leave node for the revision of its goal.
func (r *run) awaitAvailable(node int32, at time.Time) {
	switch {
	case at.IsZero():
	case r.outcome(node) != placement.Leave || r.lingers(node):
		r.wake(at)
	default:
		r.ripening = append(r.ripening, ripening{node: node, at: at})
	}
}

// attribute finds the nodes of a block of pods, and refuses pods without a UID of their own. Each loop reads one thing of each
// object, because in a short loop the processor waits for the memory of several objects at once.
func (read *podReader) attribute(objects []*corev1.Pod, first int) error {
	for i, object := range objects {
		if object == nil {
			return at("Pods", first+i, "must not be nil")
		}
		if object.UID == "" {
			return at("Pods", first+i, "must have a UID: deletes use it as precondition (pod "+object.Name+")")
		}
		read.targets[i], _ = placement.TargetNode(object)
	}
	reach(objects)
	for i, object := range objects {
		read.hashes[i] = read.uids.hash(string(object.UID))
	}
	for i := range objects {
		if j := read.uids.add(int32(first+i), read.hashes[i]); j != none {
			return &SnapshotError{Field: "Pods", Problem: fmt.Sprintf("UIDs must be unique: two pods have %q", objects[i].UID)}
		}
	}
	for i := range objects {
		read.hashes[i] = read.run.index.names.hash(read.targets[i])
	}
	for i := range objects {
		read.nodes[i] = read.run.index.look(read.hashes[i], read.targets[i])
	}
	return nil
}

// reach loads what reading a pod begins with into the processor's cache, for all pods of a block at once, as the loops of
// attribute do. Its result means nothing. It must not be inlined, or the compiler would drop the loads.
//
//go:noinline
func reach(objects []*corev1.Pod) (sum int) {
	for _, object := range objects {
		sum += len(object.Labels) + len(object.Annotations) + len(object.Status.Conditions)
	}
	return sum
}

func (r *run) remembersIgnored() bool {
	return r.spec.Strategy.HoldRevision || r.spec.Strategy.Canary != nil
}

// group sorts the records by node, in place: each swap moves one record into the range of its node. Then it sorts those of each
// node by age, name and UID.
func (r *run) group(records []pod) {
	r.pods = records
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
	for i := range records {
		for {
			n := &r.nodes[records[i].node]
			if n.first <= int32(i) && int32(i) < n.end {
				break
			}
			records[i], records[n.end] = records[n.end], records[i]
			n.end++
		}
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.end-n.first > 1 {
			slices.SortFunc(r.podsOf(n), byAge)
		}
	}
}

// byAge compares two pods: the older one comes first, then name and UID decide. The order is total.
func byAge(a, b pod) int {
	return cmp.Or(
		a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time),
		cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID),
	)
}

// podReader turns pod objects into records, a block of them at a time.
type podReader struct {
	run  *run
	last int32 // ordinal of the hash read last; the next pod mostly carries the same
	uids index

	// These three are of the pods of the current block.
	targets [block]string
	hashes  [block]uint64
	nodes   [block]int32
}

const block = 64

func newPodReader(r *run) *podReader {
	pods := r.snapshot.Pods
	return &podReader{run: r, uids: newIndex(len(pods), func(i int32) string { return string(pods[i].UID) })}
}

// pod reads one object. availableAt is when it becomes available by the clock alone; zero: it does not.
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
		record.traits |= patchInFlight
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
	if record.traits.has(ready) && (record.traits.has(inTransition) || inplace.Resizing(object)) && isIncomplete(object) {
		record.traits |= outOfService
	}
	value, hasHash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	switch {
	case r.predecessor.owns(object):
		value = "" // another set gave it the hash that it carries
	case !hasHash && r.atGeneration(object):
		record.traits |= byGeneration
	}
	if r.usesCanaryLabel && object.Labels[CanaryLabel] != "" {
		record.traits |= labelled
	}
	if object.Annotations[placement.DigestAnnotation] != "" {
		record.traits |= digested
	}
	record.hash = read.hash(value)
	if object.DeletionTimestamp == nil && !record.traits.has(finished) {
		// A deletion that is only in flight may fail, so that the revision of its pod is still one to go back to (C6).
		r.hashes[record.hash].live = true
	}
	return record, availableAt
}

// motion returns the traits that say what hooks and in-place updates have begun on a pod and not finished.
func motion(object *corev1.Pod) traits {
	var t traits
	switch lifecycle.StateOf(object) {
	case "", lifecycle.Normal:
	case lifecycle.PreparingDelete:
		t |= preparingDelete
	case lifecycle.PreparingUpdate:
		t |= preparingUpdate | inTransition
	case lifecycle.PreparingNormal, lifecycle.Updated:
		t |= inTransition | outOfService
	default:
		t |= inTransition
	}
	if inplace.Unfinished(object) || lifecycle.Unfinished(object) {
		t |= inTransition
	}
	return t
}

// isIncomplete reports whether an in-place update is known not to be complete (I5). If its record cannot be read, that is
// unknown: then the pod is taken at its readiness, because a ready pod must not keep other nodes from being updated.
func isIncomplete(object *corev1.Pod) bool {
	return !inplace.Completed(object).Done && !isUnreadable(object)
}

// isUnreadable reports whether the record of the pod's in-place update cannot be read.
func isUnreadable(object *corev1.Pod) bool {
	return slices.ContainsFunc(inplace.Completed(object).Waits, func(w inplace.UpdateWait) bool {
		return w.Code == inplace.UnreadableState
	})
}

// atGeneration reports whether a pod without a revision hash is at the update revision by its template generation label (R5).
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

// inFlight looks up requests that are in flight. Its maps are nil if nothing is.
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

func at(list string, i int, problem string) error {
	return &SnapshotError{Field: fmt.Sprintf("%s[%d]", list, i), Problem: problem}
}
