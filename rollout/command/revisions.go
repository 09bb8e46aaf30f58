package command

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// Role is what a revision is to its set.
type Role uint8

// The roles.
const (
	// Old is a revision of the history.
	Old Role = iota
	// Active is the revision that all nodes but those of a canary are to be at.
	Active
	// OnTrial is the revision of the canary.
	OnTrial
	// TrialPaused is that of a canary that is paused.
	TrialPaused
	// TrialFailed is a revision that failed its canary.
	TrialFailed

	roles // count
)

var roleNames = [roles]string{"old", "active", "canary", "canary-paused", "canary-failed"}

// String returns the role in one word, or Role(n) for a value without a name.
func (r Role) String() string {
	if r >= roles {
		return fmt.Sprintf("Role(%d)", uint8(r))
	}
	return roleNames[r]
}

// Revision is a revision of a set in one line, as "kubectl get" shows the replica sets of an ExtendedDaemonSet.
type Revision struct {
	// Name of the ControllerRevision, its Number, and the Hash that its pods carry.
	Name   string
	Number int64
	Hash   string
	// Role of the revision. A revision that failed an earlier canary is TrialFailed only while it is the update revision.
	Role Role
	// Desired are the nodes that are to be at the revision now; one that is held counts for what it has.
	Desired int32
	// Current are the nodes with a live pod of the revision, Ready and Available those where such a pod is. A node that
	// holds an old and a new pod counts for both revisions.
	Current, Ready, Available int32
	// Created is when it was made, Now the end of its age. Zero: not known, or not made yet.
	Created, Now time.Time
}

// Revisions returns the revisions of the set, the one that the plan creates included, the newest first.
func Revisions(v View) []Revision {
	objects := v.revisions()
	nodes := v.perNode()
	list := make([]Revision, 0, len(objects))
	for _, object := range objects {
		one := Revision{
			Name: object.Name, Number: object.Revision, Hash: history.HashOf(object),
			Created: object.CreationTimestamp.Time, Now: v.Snapshot.Now,
		}
		one.Role = v.role(one.Hash)
		for i := range nodes {
			nodes[i].count(&one)
		}
		list = append(list, one)
	}
	return list
}

// role of the revision of that hash.
func (v *View) role(hash string) Role {
	switch {
	case hash == "":
		return Old
	case hash == v.tried():
		return trialRole(v.Plan.Canary.Phase)
	case hash == v.active():
		return Active
	default:
		return Old
	}
}

func trialRole(phase canary.Phase) Role {
	switch phase {
	case canary.Paused:
		return TrialPaused
	case canary.Failed:
		return TrialFailed
	default:
		return OnTrial
	}
}

// atNode is what a desired node has to do with revisions.
type atNode struct {
	wanted string           // the revision that is the node's
	keeps  bool             // what it has is the node's
	has    map[string]facts // by revision, of live pods
}

type facts struct{ ready, available bool }

// perNode looks at every desired node.
func (v *View) perNode() []atNode {
	has := make(map[string]map[string]facts)
	for _, pod := range v.livePods() {
		node, ok := placement.TargetNode(pod)
		if !ok {
			continue
		}
		if has[node] == nil {
			has[node] = make(map[string]facts)
		}
		hash := revisionOf(pod)
		f := has[node][hash]
		readiness := lifecycle.Evaluate(pod, v.Spec.MinReadySeconds, v.Snapshot.Now)
		f.ready = f.ready || readiness.Ready
		f.available = f.available || readiness.Available
		has[node][hash] = f
	}
	var list []atNode
	for i := range v.Plan.Decisions {
		d := &v.Plan.Decisions[i]
		if aboutNode(d) && d.Facts.Has(status.Desired) {
			one := atNode{wanted: v.Plan.Status.UpdateRevision, has: has[d.Node]}
			switch d.Target {
			case rollout.TargetStable: // T6
				one.wanted = v.active()
			case rollout.TargetBase: // T8; the plan does not say which that is
				one.wanted = ""
			default:
			}
			// T1: what it loses comes back at the update revision.
			one.keeps = d.Target == rollout.TargetHeld && len(one.has) > 0
			list = append(list, one)
		}
	}
	return list
}

// count adds the node to what it counts for.
func (n *atNode) count(to *Revision) {
	f, there := n.has[to.Hash]
	if n.keeps && there || !n.keeps && n.wanted == to.Hash && to.Hash != "" {
		to.Desired++
	}
	if there {
		to.Current++
	}
	if f.ready {
		to.Ready++
	}
	if f.available {
		to.Available++
	}
}

// Header names the columns of the replica sets of an ExtendedDaemonSet.
func (r Revision) Header() []string {
	return []string{"NAME", "STATUS", "DESIRED", "CURRENT", "READY", "AVAILABLE", "AGE"}
}

// Cells returns the values of the columns; STATUS is Role.
func (r Revision) Cells() []string {
	return []string{
		r.Name, r.Role.String(), number(r.Desired), number(r.Current), number(r.Ready), number(r.Available),
		age(r.Created, r.Now),
	}
}

// revisionOf returns the hash that a pod carries (R5); empty if it carries none.
func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.ControllerRevisionHashLabelKey] }
