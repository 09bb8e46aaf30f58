package stock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// spot is a node with its pods.
type spot struct {
	node []kit.NodeOption
	pods []func(node string, old, spec rollout.Spec) *corev1.Pod
}

func at(pods ...func(string, rollout.Spec, rollout.Spec) *corev1.Pod) spot { return spot{pods: pods} }

func (s spot) with(options ...kit.NodeOption) spot {
	s.node = options
	return s
}

// pod makes a pod of the update revision, or of the one before.
func pod(updated bool, options ...kit.PodOption) func(string, rollout.Spec, rollout.Spec) *corev1.Pod {
	return func(node string, old, spec rollout.Spec) *corev1.Pod {
		of := old
		if updated {
			of = spec
		}
		return kit.Pod("", append([]kit.PodOption{kit.Of(of), kit.OnNode(node)}, options...)...)
	}
}

const updated, before = true, false

func ago(d time.Duration) time.Time { return kit.Noon().Add(-d) }

// unready is a pod that is not Ready since it was created.
func unready(since time.Duration) kit.PodOption {
	return func(p *corev1.Pod) {
		kit.Created(ago(since))(p)
		kit.Unready()(p)
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime.Time = ago(since)
		}
	}
}

// told returns what the plan says of every node, of the status, and of what is in the way.
func told(t *testing.T, spots []spot, gone func(old, spec rollout.Spec) []*corev1.Pod, options ...kit.SpecOption) []string {
	t.Helper()
	old := kit.Spec("agent")
	spec := kit.Spec("agent", append(options, kit.Image("agent:v2"))...)
	s := rollout.Snapshot{Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(spec, 2)}}
	for i, spot := range spots {
		name := string(rune('a' + i))
		s.Nodes = append(s.Nodes, kit.Node(name, spot.node...))
		for j, make := range spot.pods {
			p := make(name, old, spec)
			p.Name = fmt.Sprint(name, j)
			p.UID = kit.Pod(p.Name).UID
			s.Pods = append(s.Pods, p)
		}
	}
	if gone != nil {
		s.Pods = append(s.Pods, gone(old, spec)...)
	}
	plan := planFor(t, spec, 1, s)
	var lines []string
	for i := range s.Nodes {
		lines = append(lines, plan.Explain(s.Nodes[i].Name))
	}
	b, c := plan.Budget, plan.Status
	lines = append(lines, fmt.Sprintf("%s (%s): %d desired, %d current, %d misscheduled, %d ready, %d available, %d updated; ",
		c.State, c.Reason, c.Desired, c.Current, c.Misscheduled, c.Ready, c.Available, c.Updated)+
		fmt.Sprintf("%d of %d down, %d of %d surging, %d wait", b.Unavailable, b.MaxUnavailable, b.Surging, b.MaxSurge, b.Waiting))
	for _, d := range plan.Deletes {
		lines = append(lines, "delete "+d.Pod+" "+d.Reason.String())
	}
	for _, d := range plan.Creates {
		lines = append(lines, "create "+d.Node+" "+d.Reason.String())
	}
	for _, blocker := range plan.Blockers {
		lines = append(lines, fmt.Sprintf("blocked by %d %v: %s", blocker.Count, blocker.Nodes, blocker.Why))
	}
	if !plan.NextWake.IsZero() {
		lines = append(lines, fmt.Sprint("again after ", plan.NextWake.Sub(s.Now)))
	}
	return lines
}

// TestWhatIsTold: a plan says of each node where it stands and what it waits for, counts as the controller counts, and names what
// is in the way of a rollout that stands still.
func TestWhatIsTold(t *testing.T) {
	full := kit.Taint("full", "", corev1.TaintEffectNoSchedule)
	evicting := kit.Taint("broken", "", corev1.TaintEffectNoExecute)
	terminating := kit.Terminating(kit.Noon().Add(20 * time.Second))
	for _, test := range []struct {
		name    string
		spots   []spot
		gone    func(old, spec rollout.Spec) []*corev1.Pod
		options []kit.SpecOption
		want    string
	}{
		{
			name: "an update", options: []kit.SpecOption{kit.MaxUnavailable("3")},
			spots: []spot{
				at(pod(updated)), at(pod(before)), at(pod(updated, unready(time.Minute))), at(pod(before, terminating)),
				at().with(full), at(pod(updated)).with(full), at(pod(before)),
			},
			want: `
a: updated; nothing to do: its pod is at the update revision and available
b: outdated; waits: its pod b0 is outdated, but maxUnavailable 3 is used up by c, d, g
c: starting; waits: pod c0 of the update revision is not ready yet; counts against maxUnavailable
d: terminating; waits: the node's pods are terminating; counts against maxUnavailable
e: ineligible; nothing to do: taint full:NoSchedule is not tolerated
f: kept; nothing to do: taint full:NoSchedule is not tolerated, but a pod that runs may stay
g: outdated; replace pod g0: the pod is outdated, and the budget allows it; counts against maxUnavailable
Updating (RolloutInProgress): 5 desired, 5 current, 1 misscheduled, 4 ready, 4 available, 2 updated; 3 of 3 down, 0 of 0 surging, 1 wait
delete g0 Outdated
again after 50s`,
		},
		{
			name: "a repair", options: []kit.SpecOption{kit.MaxUnavailable("1")},
			spots: []spot{
				at(), at(pod(before)), at(pod(before), pod(before)), at(pod(updated, kit.Succeeded())), at(pod(before)).with(evicting),
				at(pod(before, terminating)).with(evicting), at(pod(updated, kit.Failed())),
			},
			want: `
a: missing; create a pod: the node is eligible and has no pod; counts against maxUnavailable
b: outdated; waits: its pod b0 is outdated, but maxUnavailable 1 is used up by a, c, d, f, g
c: outdated; delete pod c1: another pod of the node was chosen to stay; counts against maxUnavailable
d: broken; delete pod d0: the pod has ended, and a daemon pod is to run for ever; counts against maxUnavailable
e: leaving; delete pod e0: taint broken:NoExecute is not tolerated
f: leaving; waits: taint broken:NoExecute is not tolerated; the node's pods are terminating; counts against maxUnavailable
g: broken; delete pod g0: the pod has failed; counts against maxUnavailable
Updating (RolloutInProgress): 5 desired, 4 current, 2 misscheduled, 2 ready, 2 available, 2 updated; 5 of 1 down, 0 of 0 surging, 1 wait
delete g0 Failed
delete e0 Leaving
delete c1 Surplus
delete d0 Succeeded
create a Missing
again after 50s`,
		},
		{
			name: "OnDelete", options: []kit.SpecOption{kit.OnDelete()}, spots: []spot{at(pod(updated)), at(pod(before))},
			want: `
a: updated; nothing to do: its pod is at the update revision and available
b: outdated; is held: its pod b0 is outdated, but the strategy is OnDelete: a pod is replaced when somebody deletes it
Running (OnDelete): 2 desired, 2 current, 0 misscheduled, 2 ready, 2 available, 1 updated; 0 of 0 down, 0 of 0 surging, 0 wait`,
		},
		{
			name: "surge", options: []kit.SpecOption{kit.MaxSurge("2"), kit.MinReadySeconds(60)},
			spots: []spot{
				at(pod(before)), at(pod(before), pod(updated, kit.Ready(ago(20*time.Second)))), at(pod(before), pod(updated)),
				at(pod(before, unready(time.Hour))), at(pod(before)), at(pod(before), pod(before), pod(updated, unready(time.Minute))),
			},
			want: `
a: outdated; waits: its pod a0 is outdated, but maxSurge 2 is used up by b, f
b: surging; waits: pod b1 of the update revision has not been ready for minReadySeconds, until 2026-01-01T12:00:40Z; holds a place of maxSurge
c: surging; delete pod c0: the pod of the update revision is available
d: outdated; waits: this sync of the controller repairs other nodes, and one that repairs updates none; pod d0 does not serve: it is not Ready, and nothing says why, since 2026-01-01T11:00:00Z
e: outdated; waits: its pod e0 is outdated, but maxSurge 2 is used up by b, f
f: surging; delete pod f1: another pod of the node was chosen to stay; holds a place of maxSurge
Updating (RolloutInProgress): 6 desired, 6 current, 0 misscheduled, 5 ready, 5 available, 0 updated; 0 of 0 down, 2 of 2 surging, 2 wait
delete c0 Superseded
delete f1 Surplus
again after 40s`,
		},
		{
			name: "surge goes on", options: []kit.SpecOption{kit.MaxSurge("2"), kit.MinReadySeconds(60)},
			spots: []spot{
				at(pod(before)), at(pod(before), pod(updated, kit.Ready(ago(20*time.Second)))), at(pod(before)),
				at(pod(before, kit.Ready(ago(20*time.Second)))), at(pod(before)),
			},
			want: `
a: outdated; waits: its pod a0 is outdated, but maxSurge 2 is used up by b, c, d
b: surging; waits: pod b1 of the update revision has not been ready for minReadySeconds, until 2026-01-01T12:00:40Z; holds a place of maxSurge
c: outdated; create a new pod beside the old one: the pod is outdated, and the budget allows it; holds a place of maxSurge
d: outdated; create a new pod beside the old one: the outdated pod is not ready, so replacing it disturbs nobody; holds a place of maxSurge
e: outdated; waits: its pod e0 is outdated, but maxSurge 2 is used up by b, c, d
Updating (RolloutInProgress): 5 desired, 5 current, 0 misscheduled, 5 ready, 4 available, 0 updated; 0 of 0 down, 3 of 2 surging, 2 wait
create d OutdatedNotReady
create c Outdated
again after 40s`,
		},
		{
			name: "stuck", options: []kit.SpecOption{kit.MaxUnavailable("2")},
			spots: []spot{
				at(pod(before)), at(pod(updated, unready(time.Hour), kit.WaitingFor("CrashLoopBackOff"))),
				at(pod(updated, unready(time.Hour))).with(kit.NotReady()), at(pod(updated, unready(time.Hour))).with(full),
			},
			gone: func(_, spec rollout.Spec) []*corev1.Pod {
				return []*corev1.Pod{kit.Pod("lost", kit.Of(spec), kit.OnNode("z"), unready(time.Hour))}
			},
			want: `
a: outdated; waits: its pod a0 is outdated, but maxUnavailable 2 is used up by b, c, d, z
b: failing; waits: pod b0 of the update revision is not ready yet: container main: CrashLoopBackOff, since 2026-01-01T12:00:00Z; counts against maxUnavailable
c: kept; nothing to do: taint node.kubernetes.io/not-ready:NoSchedule is not tolerated, but a pod that runs may stay; pod c0 does not serve: the node is not Ready, since 2026-01-01T12:00:00Z; counts against maxUnavailable
d: kept; nothing to do: taint full:NoSchedule is not tolerated, but a pod that runs may stay; pod d0 does not serve: it is not Ready, and nothing says why, since 2026-01-01T11:00:00Z; counts against maxUnavailable
Stuck (PodsNotServing): 2 desired, 2 current, 2 misscheduled, 1 ready, 1 available, 1 updated; 4 of 2 down, 0 of 0 surging, 1 wait
blocked by 1 [b]: container main: CrashLoopBackOff; it uses up the budget of the DaemonSet controller
blocked by 2 [c d]: the node is not to run the pod, and the one that is there uses up the budget of the DaemonSet controller
blocked by 1 [z]: the node does not exist, and its pod uses up the budget of the DaemonSet controller`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := told(t, test.spots, test.gone, test.options...)
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(test.want), "\n"), got); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, strings.Join(got, "\n"))
			}
		})
	}
}
