//go:build teeth

package draw_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// noteKruise looks for what OpenKruise's Advanced DaemonSet adds, in specs and in what is there of it.
func noteKruise(note func(string, bool), s harness.Case) {
	noteStrategy(note, s.Spec.Strategy)
	hooks := s.Spec.Lifecycle
	for name, hook := range map[string]*lifecycle.Hook{
		"preDelete": hooks.PreDelete, "inPlaceUpdate": hooks.InPlaceUpdate, "preNormal": hooks.PreNormal,
	} {
		note("hook "+name, hook != nil)
		note("hook "+name+" by label", hook != nil && len(hook.Labels) > 0)
		note("hook "+name+" by finalizer", hook != nil && len(hook.Finalizers) > 0)
		note("hook "+name+" without handlers", hook != nil && len(hook.Labels)+len(hook.Finalizers) == 0)
		note("hook "+name+" marks", hook != nil && hook.MarkPodNotReady)
	}
	note("pre-download", s.Spec.PreDownload != nil)
	note("pre-download paused", s.Spec.PreDownload != nil && s.Spec.PreDownload.Parallelism.IntVal == 0)
	note("pre-download in percent", s.Spec.PreDownload != nil && s.Spec.PreDownload.Parallelism.StrVal != "")
	note("minUpdatedReadyPods", s.Spec.PreDownload != nil && s.Spec.PreDownload.MinUpdatedReadyPods != nil)
	for _, n := range s.Snapshot.Nodes {
		note("node with images", len(n.Status.Images) > 0)
	}
	noteDiffs(note, s)
	for _, p := range s.Snapshot.Pods {
		notePod(note, p)
	}
}

func noteStrategy(note func(string, bool), strategy rollout.Strategy) {
	note("partition in nodes", strategy.Partition != nil && strategy.Partition.StrVal == "")
	note("partition in percent", strategy.Partition != nil && strategy.Partition.StrVal != "")
	note("update selector", strategy.NodeSelector != nil)
	note("partitioned scaling", strategy.PartitionedScaling && strategy.Partition != nil)
	note("hold revision", strategy.HoldRevision)
	for _, method := range []inplace.Method{"", inplace.IfPossible, inplace.Only} {
		note("method "+string(method), strategy.Method == method)
	}
	note("resize", strategy.InPlace.Resize)
	note("env from metadata", strategy.InPlace.EnvFromMetadata)
	note("cgroup v1", strategy.InPlace.CgroupV1)
	note("serve on", len(strategy.InPlace.ServeOn) > 0)
	note("grace period", strategy.InPlace.GracePeriodSeconds > 0)
}

func noteDiffs(note func(string, bool), s harness.Case) {
	if s.Spec.Strategy.Method == "" {
		return
	}
	for _, revision := range s.Snapshot.Revisions {
		template, err := history.Template(revision)
		if err != nil {
			continue
		}
		update := inplace.Compare(template, &s.Spec.Template, s.Spec.Strategy.InPlace)
		note("older revision to take in place", update.InPlace() && len(update.Images) > 0)
		note("older revision of the same image", len(update.Images) == 0 && update.InPlace() && len(update.Resources) > 0)
		note("older revision with other labels", len(update.Labels) > 0)
		note("older revision with other annotations", len(update.Annotations) > 0)
		note("older revision with labels that are read", len(update.Env) > 0)
		note("older revision that needs restarts to resize", update.InPlace() && len(update.Images) == 0 && update.Restarts())
		for _, o := range update.Obstacles {
			note("obstacle "+o.Code.String(), true)
		}
	}
	note("obstacle "+inplace.Immutable.String(), false)
	note("obstacle "+inplace.ResizeDisabled.String(), false)
	note("obstacle "+inplace.ResourceAdded.String(), false)
	note("obstacle "+inplace.ResizeWithImage.String(), false)
	note("obstacle "+inplace.MetadataInEnv.String(), false)
}

func notePod(note func(string, bool), p *corev1.Pod) {
	note("gated pod", slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady}))
	note("pod gated by hooks", slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady}))
	for _, state := range []lifecycle.State{
		"", lifecycle.PreparingNormal, lifecycle.Normal, lifecycle.PreparingUpdate, lifecycle.Updating, lifecycle.Updated,
		lifecycle.PreparingDelete, "Unheard",
	} {
		note("pod "+string(state), lifecycle.StateOf(p) == state)
	}
	note("pod with finalizers", len(p.Finalizers) > 0)
	note("terminating pod with finalizers", len(p.Finalizers) > 0 && p.DeletionTimestamp != nil)
	_, err := inplace.StateOf(p)
	note("unreadable in-place state", err != nil)
	note("OpenKruise's grace period", p.Annotations[inplace.GraceKey] != "")
	note("in-place update complete", inplace.Completed(p).Done && p.Annotations[inplace.StateKey] != "")
	note("in-place update done, but for the condition", inplace.Completed(p).Done && p.Annotations[inplace.StateKey] != "" && inplace.Unfinished(p))
	for _, wait := range inplace.Completed(p).Waits {
		note("wait "+wait.Code.String(), true)
	}
	note("wait "+inplace.ImageUnchanged.String(), false)
	note("wait "+inplace.GracePeriod.String(), false)
	note("wait "+inplace.ResourcesDiffer.String(), false)
	for _, c := range p.Status.Conditions {
		note("pod marked by hooks", c.Type == lifecycle.PodReady && c.Status == corev1.ConditionFalse)
	}
	for _, status := range p.Status.ContainerStatuses {
		note("kubelet behind", len(p.Spec.Containers) > 0 && status.Image != p.Spec.Containers[0].Image)
	}
}

// Half of the specs are those of an ordinary DaemonSet, so that its rules stay covered.
func TestAnySpecIsAnOrdinaryDaemonSetEveryOtherTime(t *testing.T) {
	const examples = 1000
	gen, ordinary := draw.AnySpec(), 0
	for seed := range examples {
		s := gen.Example(seed)
		if s.Strategy.Method == "" && s.Strategy.Partition == nil && s.Strategy.NodeSelector == nil && s.PreDownload == nil &&
			s.Lifecycle.PreDelete == nil && s.Lifecycle.InPlaceUpdate == nil && s.Lifecycle.PreNormal == nil {
			ordinary++
		}
	}
	if ordinary < examples*2/5 || ordinary > examples*3/5 {
		t.Errorf("%d of %d specs are ordinary", ordinary, examples)
	}
}
