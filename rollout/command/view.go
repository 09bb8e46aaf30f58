package command

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// View is a set as one plan saw it: what the commands go by, and what the tables show.
type View struct {
	// Spec that was planned for.
	Spec rollout.Spec
	// Snapshot that was planned for. Its pods and revisions are looked at, and Now is the end of every age.
	Snapshot rollout.Snapshot
	// Plan that was made of the two.
	Plan rollout.Plan
	// Created is when the object of the set was made. Zero: not known, and so is its age.
	Created time.Time
}

// onTrial reports whether the plan tries a revision, or has just given one up.
func (v *View) onTrial() bool { return v.Plan.Canary.Phase != canary.Idle }

// active returns the hash of the revision that all nodes but those of a canary are to be at: as for ExtendedDaemonSet the one
// that is rolled out, unless it is on trial or has failed.
func (v *View) active() string {
	if v.onTrial() {
		return v.Plan.Canary.Stable
	}
	return v.Plan.Status.UpdateRevision
}

// tried returns the hash of the revision on trial, or of the one that has failed; empty if there is none.
func (v *View) tried() string {
	if v.onTrial() {
		return v.Plan.Canary.Revision
	}
	return ""
}

// revisions returns those of the snapshot and those that the plan creates, without nil ones: the newest first, then by name.
func (v *View) revisions() []*appsv1.ControllerRevision {
	var list []*appsv1.ControllerRevision
	add := func(revision *appsv1.ControllerRevision) {
		if revision != nil {
			list = append(list, revision)
		}
	}
	for _, revision := range v.Snapshot.Revisions {
		add(revision)
	}
	for i := range v.Plan.Revisions {
		add(v.Plan.Revisions[i].Object)
	}
	slices.SortStableFunc(list, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// revision returns the one of that hash: of several the first, which is the one that the planner keeps (R3). Nil if there is
// none.
func (v *View) revision(hash string) *appsv1.ControllerRevision {
	for _, one := range v.revisions() {
		if hash != "" && history.HashOf(one) == hash {
			return one
		}
	}
	return nil
}

// name of the revision of that hash; the hash itself if there is no such object. Commands may name either (C5).
func (v *View) name(hash string) string {
	if revision := v.revision(hash); revision != nil {
		return cmp.Or(revision.Name, hash)
	}
	return hash
}

// names reports whether a command names the revision.
func (v *View) names(command, hash string) bool {
	return command != "" && (command == canary.Any || command == hash || command == v.name(hash))
}

// livePods returns those that are not marked for deletion, and will not be by a request in flight, as the status counts them.
func (v *View) livePods() []*corev1.Pod {
	var list []*corev1.Pod
	asked := make(map[types.UID]bool, len(v.Snapshot.InFlight.Deletes))
	for _, uid := range v.Snapshot.InFlight.Deletes {
		asked[uid] = true
	}
	for _, pod := range v.Snapshot.Pods {
		if pod != nil && pod.DeletionTimestamp == nil && !asked[pod.UID] {
			list = append(list, pod)
		}
	}
	return list
}

// decision about a node of the snapshot; nil if there is none. The nodes stand in order before the pods without one.
func (v *View) decision(node string) *rollout.Decision {
	end := len(v.Plan.Decisions)
	for end > 0 && !aboutNode(&v.Plan.Decisions[end-1]) {
		end--
	}
	nodes := v.Plan.Decisions[:end]
	byNode := func(d rollout.Decision, name string) int { return strings.Compare(d.Node, name) }
	i, ok := slices.BinarySearchFunc(nodes, node, byNode)
	if !ok {
		return nil
	}
	return &nodes[i]
}

// aboutNode reports whether the decision is about a node of the snapshot, not about a pod without one.
func aboutNode(d *rollout.Decision) bool {
	return d.State != rollout.StateVanished && d.State != rollout.StateUnattributed
}
