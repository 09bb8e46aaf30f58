package fleet

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// Pod is what one pod says by itself and by the rules.
type Pod struct {
	Object *corev1.Pod
	Name   string
	// ReadySince is when the pod became ready, if it is; zero: unknown.
	ReadySince time.Time
	// NodeOrdinal is that of the node that the pod is on or pinned to (P7), or None if there is no such node.
	NodeOrdinal int32
	// Next is the ordinal in Pods.List of the next younger pod on the same node, or None.
	Next int32
	// Hash is the ordinal in Pods.Hashes of the revision that the pod carries. A predecessor's pod carries "".
	Hash   int32
	Traits Traits

	uid uint64 // hash of its UID
}

// isOf reports whether it is the pod with the UID, which has the hash. A pod that is gone is none.
func (p *Pod) isOf(hash uint64, uid types.UID) bool {
	return p.uid == hash && p.Object != nil && p.Object.UID == uid
}

// Traits of a pod.
type Traits uint16

// The traits.
const (
	Marked          Traits = 1 << iota // for deletion
	Failed                             // phase Failed
	Succeeded                          // phase Succeeded
	Ready                              // B5
	Bound                              // to its node by the scheduler
	Unhashed                           // has no hash label, and is not a predecessor's
	Digested                           // carries a digest of overridden resources (P8)
	Labelled                           // carries the canary label
	PreparingDelete                    // leaves through its preDelete hook (L2)
	PreparingUpdate                    // is prepared for an update in place (L3)
	InTransition                       // an in-place update or a hook of it is not finished
	Restarting                         // has restarted more often than the policy allows (F1)
	OutOfService                       // though it may be ready, its in-place update or a hook of it is not complete (I5, L3)
	Unreadable                         // it is not ready, and the record of its in-place update cannot be read
)

// HasAny reports whether the pod has any of some traits.
func (t Traits) HasAny(some Traits) bool { return t&some != 0 }

// reader turns pod objects into facts.
type reader struct {
	rules  *Rules
	owner  *Owner // whose pods all of them must be; nil: they were claimed, so that nobody asks again
	nodes  *Nodes
	hashes []Hash
	ids    map[string]int32 // of hashes; made when it is first needed
	unused []int32          // hashes that stand for nothing; known with ids
	last   int32            // ordinal of the hash read last; the next pod mostly carries the same
}

// newReader returns a reader that finds the hashes of earlier facts where they were.
func newReader(rules *Rules, nodes *Nodes, hashes []Hash, claimed bool) *reader {
	read := &reader{rules: rules, nodes: nodes, hashes: slices.Clone(hashes)}
	if !claimed {
		read.owner = rules.Owner
	}
	return read
}

// all reads all objects, a block of them at a time, and refuses those that break the contract.
func (read *reader) all(records []Pod, objects []*corev1.Pod) error {
	for first := 0; first < len(objects); first += block {
		some := objects[first:min(first+block, len(objects))]
		if i := slices.Index(some, nil); i >= 0 {
			return wrong("Pods", first+i, "must not be nil")
		}
		reach(some)
		if i, problem := read.some(records[first:first+len(some)], some); problem != "" {
			return wrong("Pods", first+i, problem)
		}
	}
	return nil
}

// some reads objects, at most a block of them. If one breaks the contract, it says which and how. Each loop reads one thing of
// each object, because in a short loop the processor waits for the memory of several objects at once.
func (read *reader) some(records []Pod, objects []*corev1.Pod) (bad int, problem string) {
	for k, object := range objects {
		if object.UID == "" {
			return k, "must have a UID: deletes use it as precondition (pod " + object.Name + ")"
		}
		if foreign := read.owner.Foreign(object, read.rules.Predecessor); foreign != "" {
			return k, fmt.Sprintf("must be of the set: pod %s %s; Claim picks the set's", object.Name, foreign)
		}
	}
	var targets [block]string
	for k, object := range objects {
		targets[k], _ = placement.TargetNode(object)
	}
	for k, object := range objects {
		records[k].uid = maphash.String(read.nodes.seed, string(object.UID))
	}
	var hashes [block]uint64
	for k := range objects {
		hashes[k] = maphash.String(read.nodes.seed, targets[k])
	}
	for k := range objects {
		records[k].NodeOrdinal = read.nodes.find(hashes[k], targets[k])
	}
	for k, object := range objects {
		// A marked pod is never ready.
		if since, ready := lifecycle.ReadySince(object); ready && object.DeletionTimestamp == nil {
			records[k].Traits, records[k].ReadySince = Ready, since
		}
	}
	for k, object := range objects {
		read.pod(&records[k], object)
	}
	return 0, ""
}

// reach loads what reading a pod begins with into the processor's cache, for all pods of a block at once. Its result means
// nothing. It must not be inlined, or the compiler would drop the loads.
//
//go:noinline
//nolint:unparam // the sum keeps the loads
func reach(objects []*corev1.Pod) (sum int) {
	for _, object := range objects {
		sum += len(object.Labels) + len(object.Annotations) + len(object.Status.Conditions)
	}
	return sum
}

// pod reads one object into its record, which has its node, its UID and whether it is ready.
func (read *reader) pod(p *Pod, object *corev1.Pod) {
	p.Object, p.Name = object, object.Name
	switch object.Status.Phase {
	case corev1.PodFailed:
		p.Traits |= Failed
	case corev1.PodSucceeded:
		p.Traits |= Succeeded
	}
	if object.DeletionTimestamp != nil {
		p.Traits |= Marked
	}
	if object.Spec.NodeName != "" {
		p.Traits |= Bound
	}
	if !p.Traits.HasAny(Marked) { // what was begun on a marked pod does not matter any more
		p.Traits |= motion(object)
		if !p.Traits.HasAny(Ready) && isUnreadable(object) {
			p.Traits |= Unreadable
		}
	}
	if p.Traits.HasAny(Ready) && (p.Traits.HasAny(InTransition) || inplace.UnderWay(object)) && isIncomplete(object) {
		p.Traits |= OutOfService
	}
	value, hasHash := object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	switch {
	case read.rules.Predecessor.Owns(object):
		value = "" // another set gave it the hash that it carries
	case !hasHash:
		p.Traits |= Unhashed
	}
	if object.Labels[read.rules.CanaryLabel] != "" {
		p.Traits |= Labelled
	}
	if failures := read.rules.Failures; failures != nil && failures.Restarting(object, failure.Series{}) {
		p.Traits |= Restarting
	}
	if object.Annotations[placement.DigestAnnotation] != "" {
		p.Traits |= Digested
	}
	p.Hash = read.hash(value)
	h := &read.hashes[p.Hash]
	h.Pods++
	if !p.Traits.HasAny(Marked | Failed | Succeeded) {
		h.Live++
	}
}

// motion returns the traits that say what hooks and in-place updates have begun on a pod and not finished.
func motion(object *corev1.Pod) Traits {
	var t Traits
	switch lifecycle.StateOf(object) {
	case "", lifecycle.Normal:
	case lifecycle.PreparingDelete:
		t |= PreparingDelete
	case lifecycle.PreparingUpdate:
		t |= PreparingUpdate | InTransition
	case lifecycle.PreparingNormal, lifecycle.Updated:
		t |= InTransition | OutOfService
	default:
		t |= InTransition
	}
	if inplace.Unfinished(object) || lifecycle.Unfinished(object) {
		t |= InTransition
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
	if len(object.Annotations) == 0 {
		return false
	}
	return slices.ContainsFunc(inplace.Completed(object).Waits, func(w inplace.UpdateWait) bool {
		return w.Code == inplace.UnreadableState
	})
}

// hash returns the ordinal of a revision hash.
func (read *reader) hash(value string) int32 {
	if len(read.hashes) > 0 && read.hashes[read.last].Value == value && read.hashes[read.last].Pods > 0 {
		return read.last
	}
	if read.ids == nil {
		read.ids = make(map[string]int32, len(read.hashes))
		for i, h := range read.hashes {
			if h.Pods == 0 {
				read.unused = append(read.unused, int32(i))
			} else {
				read.ids[h.Value] = int32(i)
			}
		}
	}
	id, ok := read.ids[value]
	if !ok {
		id = read.newHash(value)
		read.ids[value] = id
	}
	read.last = id
	return id
}

// newHash enters a hash and returns its ordinal. It is one that stands for nothing, if there is any, so that many revisions one
// after the other do not add up.
func (read *reader) newHash(value string) int32 {
	if last := len(read.unused) - 1; last >= 0 {
		id := read.unused[last]
		read.unused = read.unused[:last]
		read.hashes[id] = Hash{Value: value}
		return id
	}
	read.hashes = append(read.hashes, Hash{Value: value})
	return int32(len(read.hashes)) - 1
}
