package properties_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of one plan with what OpenKruise's Advanced DaemonSet adds, from any state that a snapshot can show.
var (
	partitioned   = property{"V5 partition", onePlan(moving, rollouttest.Partition("2")), verified(5)}
	installing    = property{"V5 first installation", onePlan(moving, rollouttest.Partition("1"), rollouttest.PartitionedScaling()), verified(5)}
	selected      = property{"V6 node selector", onePlan(moving, rollouttest.StrategyNodeSelector(zoneKey, "b")), verified(6)}
	pausedInPlace = property{"V6 paused in place", onePlan(inPlace, rollouttest.Paused()), verified(6)}
	onlyInPlace   = property{"V6 in place only", onePlan(inPlace, rollouttest.InPlaceOnly()), verified(6)}
	deletesHooked = property{"V8 hooks", onePlan(hooking), verified(8)}
	takenBack     = property{"V4 taken back", onePlan(hooking, objects.Released()), verified(4)}
	truthful      = property{"V9 in place", onePlan(inPlace, rollouttest.Resize()), verified(9)}
	notResized    = property{"V9 without resize", onePlan(inPlace, unaskedResize), verified(9)}
	pulled        = property{"V10 pulls", onePlan(waiting, rollouttest.PreDownload("2")), verified(10)}
	burstInPlace  = property{"V11 burst in place", onePlan(inPlace, objects.Released(), rollouttest.Burst("1"), rollouttest.MaxUnavailable("5")), verified(11)}
	budgetInPlace = property{"V1 budget in place", onePlan(inPlace, objects.Released(), rollouttest.MaxUnavailable("1")), verified(1)}
	comesBack     = property{"V5 comes back as it was", onePlan(moving, rollouttest.Partition("100%"), rollouttest.HoldRevision()), verified(5)}
	accountedFor  = property{"V12 accounting of holds", onePlan(moving, rollouttest.Partition("50%")), verified(12)}
	safeKruise    = property{"V1 to V12, V14, V15, with everything", everything(), once(checkSafe)}
	pureKruise    = property{"V13 pure, with everything", everything(), once(checkPure)}
	requestedOnce = property{"V14 idempotent, with everything", fewNodes(everything()), once(checkIdempotent)}
	wakesKruise   = property{"V15 next wake, with everything", everything(), once(checkNextWake)}
)

func TestPlanIsSafeWithHolds(t *testing.T) {
	test(t, partitioned, installing, selected, pausedInPlace, onlyInPlace, comesBack, accountedFor)
}

func TestPlanIsSafeWithHooks(t *testing.T) { test(t, deletesHooked, takenBack) }

func TestPlanIsSafeInPlace(t *testing.T) {
	test(t, truthful, notResized, burstInPlace, budgetInPlace, pulled)
}

func TestPlanWithEverything(t *testing.T) {
	test(t, safeKruise, pureKruise, requestedOnce, wakesKruise)
}

// moving specs let their set roll.
func moving(s *rollout.Spec) {
	objects.Rolling()(s)
	s.Strategy.NodeSelector = nil
}

// inPlace specs update in place, in short steps.
func inPlace(s *rollout.Spec) {
	objects.Rolling()(s)
	rollouttest.InPlaceIfPossible()(s)
}

// unaskedResize would take a resize, and has not enabled it.
func unaskedResize(s *rollout.Spec) {
	rollouttest.Requests("cpu", "200m")(s)
	s.Strategy.InPlace.Resize = false
}

// hooking specs have a hook that pods wait for before they are deleted.
func hooking(s *rollout.Spec) {
	objects.Rolling()(s)
	rollouttest.PreDeleteHook(rollouttest.HookLabel(hookKey, "true"))(s)
	rollouttest.PodTemplateLabel(hookKey, "true")(s)
}

// waiting specs let most nodes wait for their update.
func waiting(s *rollout.Spec) {
	objects.Released()(s)
	rollouttest.MaxUnavailable("1")(s)
	s.PreDownload = nil
}

// everything generates snapshots of sets that use all features at once.
func everything() *rapid.Generator[trial] {
	return onePlan(inPlace, hooking, rollouttest.InPlaceUpdateHook(objects.MarkPodNotReady(objects.HookFinalizer("agent.io/update"))),
		objects.PodTemplateFinalizer("agent.io/update"), rollouttest.GracePeriod(10), rollouttest.Partition("1"), rollouttest.PreDownload("2"))
}

// fewNodes leaves out the nodes beyond the first few, for checks that plan many times over.
func fewNodes(trials *rapid.Generator[trial]) *rapid.Generator[trial] {
	const few = 4
	return rapid.Map(trials, func(c trial) trial {
		if len(c.Snapshot.Nodes) <= few {
			return c
		}
		c.Snapshot.Nodes = c.Snapshot.Nodes[:few]
		c.Snapshot.Pods = slices.DeleteFunc(slices.Clone(c.Snapshot.Pods), func(p *corev1.Pod) bool {
			node := nodeOfAny(p)
			return node != "" && !slices.ContainsFunc(c.Snapshot.Nodes, func(n *corev1.Node) bool { return n.Name == node })
		})
		return c
	})
}

func nodeOfAny(p *corev1.Pod) string {
	node, _ := placement.TargetNode(p)
	return node
}
