package conformance_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/status"
)

// edsSight is a plan with what the assertions about it need: the cluster as the planner saw it.
type edsSight struct {
	edsCall
	hash map[string]string // hash of the revision of each pod, by name
}

func newEDSSight(call edsCall) edsSight {
	s := edsSight{edsCall: call, hash: make(map[string]string)}
	for _, p := range call.in.snapshot.Pods {
		s.hash[p.Name] = p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	return s
}

// deleted returns why a pod is deleted, ReasonNone if it is not.
func (s edsSight) deleted(pod string) rollout.Reason {
	for _, d := range s.plan.Deletes {
		if d.Pod == pod {
			return d.Reason
		}
	}
	return rollout.ReasonNone
}

func (s edsSight) created(node string) bool {
	return slices.Contains(peer.DecidedBy(s.plan).Creates, node)
}

func (s edsSight) decision(node string) rollout.Decision {
	for _, d := range s.plan.Decisions {
		if d.Node == node {
			return d
		}
	}
	return rollout.Decision{}
}

// edsRolls reports whether the reason of a delete is that the pod is updated.
func edsRolls(r rollout.Reason) bool {
	return r == rollout.ReasonOutdated || r == rollout.ReasonOutdatedNotReady || r == rollout.ReasonOutdatedFailed
}

func (s edsSight) live(n *edsNode) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(n.pods), marked)
}

// frozen reports whether the set creates and deletes nothing.
func (s edsSight) frozen() bool { return s.in.spec.Strategy.Frozen }

// serving reports whether the node has a Ready pod, at the node's revision or at another one.
func (s edsSight) serving(n *edsNode) bool { return slices.ContainsFunc(s.live(n), edsReady) }

// edsAssertion returns what is wrong with one node, and reports whether there was anything to assert.
type edsAssertion func(s edsSight, n *edsNode) (seen bool, problem string)

// edsInvariants assert what each entry says of our plans, whatever the controller does, and without the model.
var edsInvariants = [edsRuleCount]edsAssertion{
	edsDefaultTolerations: func(s edsSight, n *edsNode) (bool, string) {
		if n.object == nil || n.theirs == n.ours {
			return false, ""
		}
		pressure := slices.ContainsFunc(n.object.Spec.Taints,
			func(t corev1.Taint) bool { return t.Key == corev1.TaintNodePIDPressure })
		got := s.decision(n.name).Placement.Outcome
		return true, edsProblem(pressure == (got < n.theirs), "placement is %v, theirs %v, with pid-pressure: %v", got,
			n.theirs, pressure)
	},
	edsKeepStays: func(s edsSight, n *edsNode) (bool, string) {
		pods := slices.DeleteFunc(s.live(n), lifecycle.Terminal)
		if n.ours != placement.Keep || len(pods) != 1 {
			return false, ""
		}
		return true, edsProblem(s.deleted(pods[0].Name) != rollout.ReasonNone || s.created(n.name),
			"the running pod of a keep node does not stay")
	},
	edsUnknownIsPod: func(s edsSight, n *edsNode) (bool, string) {
		unknown := slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodUnknown })
		return unknown, edsProblem(unknown && s.created(n.name), "a pod is created beside one in phase Unknown")
	},
	edsEndedIsIgnored: func(s edsSight, n *edsNode) (bool, string) {
		ended := len(n.pods) > 0 && !slices.ContainsFunc(n.pods, func(p *corev1.Pod) bool {
			return !marked(p) ||
				!lifecycle.Terminal(p)
		})
		ended = ended && n.ours == placement.Run && s.in.spec.Strategy.SlowStart == nil && !s.frozen()
		return ended, edsProblem(ended && !s.created(n.name), "no pod follows one that has finished and is on its way out")
	},
	edsObjectHolds: func(s edsSight, n *edsNode) (bool, string) {
		holds := slices.ContainsFunc(n.pods, func(p *corev1.Pod) bool { return !marked(p) || !lifecycle.Terminal(p) })
		return holds, edsProblem(holds && s.created(n.name), "a pod is created beside another")
	},
	edsSucceededGoes: func(s edsSight, n *edsNode) (bool, string) {
		i := slices.IndexFunc(s.live(n), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		if i < 0 || n.object == nil || s.frozen() {
			return false, ""
		}
		return true, edsProblem(s.deleted(s.live(n)[i].Name) == rollout.ReasonNone, "a pod that has Succeeded stays")
	},
	edsFailedBackOff: func(s edsSight, n *edsNode) (bool, string) {
		goes, stays := 0, 0
		for _, p := range s.live(n) {
			if p.Status.Phase == corev1.PodFailed && n.ours == placement.Run {
				goes += int(count(s.deleted(p.Name) != rollout.ReasonNone))
				stays += int(count(s.deleted(p.Name) == rollout.ReasonNone))
			}
		}
		return goes+stays > 1, edsProblem(goes > 0 && stays > 0, "%d failed pods go, %d stay", goes, stays)
	},
	edsBestPodStays: func(s edsSight, n *edsNode) (bool, string) {
		live := s.live(n)
		if n.ours != placement.Run || len(live) < 2 || !s.serving(n) {
			return false, ""
		}
		for _, p := range live {
			if r := s.deleted(p.Name); edsReady(p) && (r == rollout.ReasonNone || edsRolls(r)) {
				return true, ""
			}
		}
		return true, "no Ready pod is left of several"
	},
	edsStraysStay: func(s edsSight, n *edsNode) (bool, string) {
		bound := slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
		if n.object != nil || !bound {
			return false, ""
		}
		return true, edsProblem(slices.ContainsFunc(n.pods, func(p *corev1.Pod) bool {
			return p.Spec.NodeName != "" && s.deleted(p.Name) != rollout.ReasonNone
		}), "a pod bound to a node that does not exist is deleted")
	},
	edsMarkedIsGone: func(s edsSight, n *edsNode) (bool, string) {
		gone := n.ours == placement.Run && len(n.pods) > 0 && len(s.live(n)) == 0
		facts := s.decision(n.name)
		return gone, edsProblem(gone && !facts.Unavailable && !facts.Exempt(),
			"a node with terminating pods only counts as available")
	},
	edsAnyPodCounts: func(s edsSight, n *edsNode) (bool, string) {
		at := slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return s.hash[p.Name] == s.in.hashes[s.world.update()] })
		none := n.ours == placement.Run && !at
		return n.ours == placement.Run && len(n.pods) > 1, edsProblem(none && s.decision(n.name).Facts.Has(status.Updated),
			"counted as updated")
	},
	edsStuckIsOutdated: func(s edsSight, n *edsNode) (bool, string) { return s.broken(n, true) },
	edsStuckAtOnce: func(s edsSight, n *edsNode) (bool, string) {
		d := s.decision(n.name)
		stuck := slices.ContainsFunc(n.pods, func(p *corev1.Pod) bool {
			c := condition(p, corev1.PodScheduled)
			return marked(p) && !p.DeletionTimestamp.After(s.in.snapshot.Now) ||
				c != nil && c.Reason == corev1.PodReasonUnschedulable
		})
		b := s.plan.Budget
		return d.Exempt(), edsProblem(d.Exempt() && !stuck || b.Exempt > b.MaxUnschedulable, "exempt without cause: %d of %d",
			b.Exempt, b.MaxUnschedulable)
	},
	edsBrokenInFull: func(s edsSight, n *edsNode) (bool, string) {
		seen, problem := s.broken(n, false)
		healthy := slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return s.deleted(p.Name) == rollout.ReasonOutdated })
		b := s.plan.Budget
		if healthy && b.Unavailable > b.MaxUnavailable {
			problem = fmt.Sprintf("a healthy pod goes while %d of %d nodes are unavailable", b.Unavailable, b.MaxUnavailable)
		}
		return seen || healthy, problem
	},
	edsUnderWay: func(s edsSight, _ *edsNode) (bool, string) {
		b, begun := s.plan.Budget, len(s.plan.Creates)
		for _, d := range s.plan.Deletes {
			begun += int(count(d.Reason == rollout.ReasonOutdated || d.Reason == rollout.ReasonOutdatedNotReady))
		}
		slow := s.in.spec.Strategy.SlowStart != nil && b.SlowStart > 0
		return slow && begun > 0, edsProblem(slow && begun > max(0, int(b.SlowStart-b.UnderWay)),
			"%d begun of %d, %d under way", begun, b.SlowStart, b.UnderWay)
	},
	edsFrozenRests: func(s edsSight, _ *edsNode) (bool, string) {
		return s.frozen(), edsProblem(s.frozen() && len(s.plan.Creates)+len(s.plan.Deletes) > 0, "frozen, but not at rest")
	},
	edsOverrides: func(s edsSight, n *edsNode) (bool, string) {
		d := s.decision(n.name)
		hash := map[rollout.Target]string{rollout.TargetUpdate: s.in.hashes[s.world.update()],
			rollout.TargetStable: s.plan.Canary.Stable}[d.Target]
		if len(n.pods) != 1 || len(s.live(n)) != 1 || s.hash[n.pods[0].Name] != hash || hash == "" ||
			lifecycle.Terminal(n.pods[0]) || s.world.role == edsFilterAlone {
			return false, ""
		}
		p := n.pods[0]
		wanted, malformed := edsWanted(n)
		given, known := edsGiven(n, p)
		right := malformed || known && equality.Semantic.DeepEqual(wanted, given)
		return malformed || !equality.Semantic.DeepEqual(wanted, corev1.ResourceRequirements{}), edsProblem(
			right && edsRolls(s.deleted(p.Name)) || right == (d.State == rollout.StateOutdated),
			"with the right resources: %v, state %v", right, d.State)
	},
	edsNoDelay: func(s edsSight, n *edsNode) (bool, string) {
		if n != s.world.nodes[0] { // the assertion is about the plan, so one node is enough
			return false, ""
		}
		again := s.in.snapshot
		again.InFlight = again.InFlight.With(&s.plan)
		planner, err := rollout.New(s.in.spec)
		if err != nil {
			return true, err.Error()
		}
		plan, err := planner.Plan(again)
		done := slices.Concat(peer.DecidedBy(s.plan).Creates, peer.Deleted.Among(peer.FatesOf(s.plan)))
		repeats := slices.ContainsFunc(slices.Concat(peer.DecidedBy(plan).Creates, peer.Deleted.Among(peer.FatesOf(plan))), func(what string) bool {
			return slices.Contains(done, what)
		})
		return len(done) > 0, edsProblem(err != nil || repeats, "what was requested is done again: %v", err)
	},
	edsWholeSet: func(s edsSight, n *edsNode) (bool, string) {
		fresh := slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return s.hash[p.Name] == s.plan.Canary.Revision })
		if s.plan.Canary.Phase != canary.Running || n.ours != placement.Run || fresh || s.in.spec.Strategy.Paused || s.frozen() {
			return false, ""
		}
		want := rollout.TargetStable
		if slices.Contains(s.plan.Canary.Nodes, n.name) {
			want = rollout.TargetUpdate
		}
		got := s.decision(n.name).Target
		return true, edsProblem(got != want, "the target is %v, want %v", got, want)
	},
	edsCanaryReplaced: func(s edsSight, n *edsNode) (bool, string) {
		tries := slices.Contains(s.plan.Canary.Nodes, n.name)
		return tries, edsProblem(tries && n.ours != placement.Run, "a canary node that does not run the pod")
	},
	edsCanaryInTurn: func(s edsSight, n *edsNode) (bool, string) {
		b := s.plan.Budget
		begun := slices.Contains(s.plan.Canary.Nodes, n.name) &&
			slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool { return s.deleted(p.Name) == rollout.ReasonOutdated })
		return begun, edsProblem(begun && b.Unavailable > b.MaxUnavailable, "%d of %d nodes are unavailable", b.Unavailable,
			b.MaxUnavailable)
	},
	edsCanaryRests: func(s edsSight, n *edsNode) (bool, string) {
		rests := n.canary && (s.plan.Canary.Phase == canary.Paused || s.in.spec.Strategy.Paused || s.frozen())
		return rests, edsProblem(rests && slices.ContainsFunc(s.live(n), func(p *corev1.Pod) bool {
			return edsRolls(s.deleted(p.Name)) && s.hash[p.Name] != ""
		}), "a pod of a paused canary is replaced")
	},
}

// broken reports whether the node's only pod is outdated and not Ready. It must be deleted, unless something else holds the node.
func (s edsSight) broken(n *edsNode, unbound bool) (seen bool, problem string) {
	d := s.decision(n.name)
	if n.ours != placement.Run || len(n.pods) != 1 || s.serving(n) || d.State != rollout.StateOutdated ||
		(n.pods[0].Spec.NodeName == "") != unbound ||
		d.Limit == rollout.LimitSlowStart || s.in.spec.Strategy.Paused || s.frozen() {
		return false, ""
	}
	return true, edsProblem(!edsRolls(s.deleted(n.pods[0].Name)), "a broken outdated pod stays: %v", d)
}

func edsProblem(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// TestConformanceEDSInvariants asserts in every recorded situation what each entry says of our plans.
func TestConformanceEDSInvariants(t *testing.T) {
	var seen [edsRuleCount]int
	for _, file := range edsFiles {
		for _, c := range edsLines[edsCase](t, file) {
			calls, _ := edsCalls(t, file, c)
			for _, call := range calls {
				s := newEDSSight(call)
				for r, holds := range edsInvariants {
					for _, n := range call.world.nodes {
						there, problem := holds(s, n)
						if seen[r] += int(count(there)); problem != "" {
							t.Errorf("%s: %s (%s): %s: %s", call.name, edsEntries[r].id, edsEntries[r].rule, n.name, problem)
						}
					}
				}
			}
		}
	}
	for r, e := range edsEntries {
		if t.Logf("%5d times: %s", seen[r], e.id); seen[r] == 0 && !edsElsewhere() {
			t.Errorf("%s: nothing to see in any recording", e.id)
		}
	}
}

// edsElsewhere reports whether the recordings are other ones than the compiled-in ones. Those need not have every case.
func edsElsewhere() bool { return os.Getenv(conformance.EnvDir) != "" }
