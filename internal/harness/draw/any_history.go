package draw

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// duplicateHash is carried by a revision that means the same as the update revision (R3).
const duplicateHash = "6duplicate"

// oldHash is carried by the i-th revision of a long history.
func oldHash(i int) string { return fmt.Sprintf("4old%d", i) }

// drawRevisions draws the history of the set.
func (f *fleet) drawRevisions(t *rapid.T) []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	update := kit.Revision(f.spec, 3)
	if update == nil {
		return nil
	}
	switch pick(t, "update revision", "newest", "newest", "newest", "absent", "renumber", "collision") {
	case "newest":
		list = append(list, update)
	case "renumber":
		update.Revision = 1
		list = append(list, update)
	case "collision":
		// Its name, and other data. A pod that was updated in place would be unlike its revision.
		if f.messy && !objects.UpdatesInPlace(&f.spec) {
			update.Data = *kit.Revision(f.old[0], 1).Data.DeepCopy()
			list = append(list, update)
		}
	}
	// Partitioned scaling is for first installations (T7).
	first := f.spec.Strategy.PartitionedScaling && pick(t, "first installation", true, false)
	for i, old := range f.old {
		if pick(t, "old revision", true, true, false) && !first {
			r := kit.Revision(old, int64(2-i))
			// Where revisions are held, a lost pod needs its own.
			if f.messy && f.spec.Strategy.HoldRevision && pick(t, "corrupt", false, false, true) {
				r.Data = runtime.RawExtension{Raw: []byte(`{"spec":`)}
			}
			list = append(list, r)
		}
	}
	if !f.messy || first {
		return list
	}
	if same := pick(t, "duplicate", "none", "none", "equal", "in meaning"); same != "none" {
		list = append(list, duplicateOf(f.spec, pick[int64](t, "duplicate number", 1, 4), same == "in meaning"))
	}
	for i := range pick(t, "long history", 0, 0, 1, 4, 12) {
		list = append(list, ancient(f.old[0], i))
	}
	if pick(t, "unreadable", false, false, false, false, true) {
		broken := ancient(f.old[0], 99)
		broken.Data = runtime.RawExtension{Raw: []byte(`{"spec":`)}
		delete(broken.Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
		list = append(list, broken)
	}
	return list
}

// duplicateOf is the revision of the spec under another name and hash, and with other bytes if it is to be equal in
// meaning only: what an older API version wrote, with a null that the present one leaves out (R2).
func duplicateOf(spec rollout.Spec, number int64, otherBytes bool) *appsv1.ControllerRevision {
	r := kit.Revision(spec, number)
	rename(r, spec.Name, duplicateHash)
	if otherBytes {
		r.Data.Raw = bytes.Replace(r.Data.Raw, []byte(`"metadata":{`), []byte(`"metadata":{"creationTimestamp":null,`), 1)
	}
	return r
}

// ancient is the i-th revision of a long history, the older the higher i is.
func ancient(spec rollout.Spec, i int) *appsv1.ControllerRevision {
	spec.Template = *ancientTemplate(spec, i)
	r := kit.Revision(spec, int64(-i))
	rename(r, spec.Name, oldHash(i))
	return r
}

func ancientTemplate(spec rollout.Spec, i int) *corev1.PodTemplateSpec {
	spec.Template = *spec.Template.DeepCopy()
	kit.Image("agent:v0." + strconv.Itoa(i))(&spec)
	return &spec.Template
}

func rename(r *appsv1.ControllerRevision, set, hash string) {
	r.Name = set + "-" + hash
	r.UID = types.UID("revision-" + r.Name)
	r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
}

// drawInFlight draws requests, some of which fit the snapshot.
func (f *fleet) drawInFlight(t *rapid.T) rollout.InFlight {
	var requests rollout.InFlight
	if !pick(t, "in flight", false, true) {
		return requests
	}
	nodes := []string{vanishedNode}
	for _, n := range f.nodes {
		nodes = append(nodes, n.Name)
	}
	create := rapid.Custom(func(t *rapid.T) rollout.InFlightCreate {
		return rollout.InFlightCreate{
			Node:     pick(t, "node", nodes...),
			Revision: pick(t, "revision", f.hashes[0], "", f.hashes[1], duplicateHash),
		}
	})
	uids := []types.UID{"pod-of-other-days"}
	for _, p := range f.pods {
		uids = append(uids, p.UID)
	}
	requests.Creates = rapid.SliceOfN(create, 0, 3).Draw(t, "creates")
	requests.Deletes = rapid.SliceOfN(rapid.SampledFrom(uids), 0, 3).Draw(t, "deletes")
	requests.Patches = rapid.SliceOfN(rapid.SampledFrom(uids), 0, 3).Draw(t, "patches")
	requests.Revisions = rapid.SliceOfN(rapid.SampledFrom([]string{
		f.spec.Name + "-" + f.hashes[0], f.spec.Name + "-" + duplicateHash, f.spec.Name + "-" + oldHash(0), "other",
	}), 0, 2).Draw(t, "revisions")
	return requests
}

// drawRefused draws what the API server refused of updates in place, of every step.
func (f *fleet) drawRefused(t *rapid.T) []rollout.RefusedPatch {
	if f.spec.Strategy.Method == inplace.Recreate || len(f.pods) == 0 || !pick(t, "refuses", false, false, true) {
		return nil
	}
	reasons := []rollout.Reason{
		rollout.ReasonInPlaceUnfinished, rollout.ReasonNone, rollout.ReasonOutdated, rollout.ReasonTakenBack,
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rollout.RefusedPatch {
		pod := pick(t, "pod", f.pods...)
		own := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		return rollout.RefusedPatch{
			UID: pod.UID, Revision: pick(t, "revision", own, own, f.hashes[0], f.hashes[1]),
			Reason: pick(t, "reason", reasons...), Message: pick(t, "message", "no", "never"),
		}
	}), 1, 5).Draw(t, "refused")
}

// drawMemory draws what an earlier plan could have left, and what no plan of this library leaves.
func (f *fleet) drawMemory(t *rapid.T) rollout.Memory {
	if !pick(t, "memory", false, true) {
		return rollout.Memory{}
	}
	m := rollout.Memory{
		Version: pick(t, "version", rollout.MemoryVersion, rollout.MemoryVersion, rollout.MemoryVersion, 99),
		Rollout: rollout.Record{
			Revision:  pick(t, "rollout", f.hashes[0], f.hashes[1], ""),
			Began:     kit.Noon().Add(-time.Hour),
			Completed: pick(t, "completed", false, true),
		},
	}
	if count := pick[int32](t, "collisionCount", 0, 0, 1, 2); count > 0 {
		m.CollisionCount = new(count)
	}
	if pick(t, "conditions", false, true) {
		m.Conditions = []metav1.Condition{{
			Type: string(corev1.PodReady), Status: metav1.ConditionTrue, Reason: "OfOtherDays",
			LastTransitionTime: objects.HourAgo(),
		}}
	}
	type wait struct{ delay, already time.Duration }
	waits := []wait{
		{8 * time.Second, time.Second}, {15 * time.Minute, time.Second}, {time.Second, 0}, {2 * time.Hour, 0}, // not over
		{time.Second, time.Second}, {8 * time.Second, 29 * time.Minute}, // over
		{8 * time.Second, 31 * time.Minute}, {-time.Second, time.Second}, // to be forgotten
		{time.Second, -time.Hour}, // recorded by a clock that was set back
	}
	keys := f.failedKeys()
	backoff := rapid.Custom(func(t *rapid.T) rollout.Backoff {
		b := pick(t, "key", keys...)
		waited := pick(t, "waited", waits...)
		b.Delay, b.Since = waited.delay, kit.Noon().Add(-waited.already)
		return b
	})
	m.Backoffs = rapid.SliceOfN(backoff, 0, 4).Draw(t, "backoffs")
	return m
}

// failedKeys are nodes and revisions to remember a back-off of: those of failed pods, and some that mean nothing now.
func (f *fleet) failedKeys() []rollout.Backoff {
	keys := []rollout.Backoff{{Node: vanishedNode, Revision: f.hashes[0]}}
	for _, p := range f.pods {
		if p.Status.Phase == corev1.PodFailed {
			node, _ := placement.TargetNode(p)
			keys = append(keys, rollout.Backoff{Node: node, Revision: p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]})
		}
	}
	return keys
}
