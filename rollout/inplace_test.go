package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

func method(m inplace.Method) kit.SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Method = m }
}

// grace is a grace period of 30 s.
func grace(s *rollout.Spec) { s.Strategy.InPlace.GracePeriodSeconds = 30 }

// updatable gives the pod the readiness gate of in-place updates, with its condition True.
func updatable(p *corev1.Pod) {
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:v1"}}
	p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.InPlaceUpdateReady})
	inPlaceReady(corev1.ConditionTrue, ago(time.Hour))(p)
}

func inPlaceReady(status corev1.ConditionStatus, since time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == lifecycle.InPlaceUpdateReady {
				c.Status, c.LastTransitionTime = status, metav1.NewTime(since)
				return
			}
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: lifecycle.InPlaceUpdateReady, Status: status, LastTransitionTime: metav1.NewTime(since),
		})
	}
}

// inGrace returns a pod that was made unready to be updated in place.
func inGrace(since time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		updatable(p)
		kit.Unready()(p)
		inPlaceReady(corev1.ConditionFalse, since)(p)
	}
}

// updating is a pod whose spec was patched, and that has not restarted yet: the state annotation names the image ID that
// the status still shows.
func updatingSince(since time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		inGrace(since)(p)
		const name = "main"
		p.Annotations = map[string]string{inplace.StateKey: `{"revision":"any","updateTimestamp":"` + since.Format(time.RFC3339) +
			`","lastContainerStatuses":{"` + name + `":{"imageID":"before"}},"updateImages":true}`}
		p.Spec.Containers[0].Image = "agent:v2"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: name, ImageID: "before", Image: "before"}}
	}
}

// restarted returns a pod whose in-place update is complete, but for the condition.
func restarted(since time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		updatingSince(since)(p)
		p.Status.ContainerStatuses[0].ImageID = "after"
	}
}

// resizedTo returns a ready pod that was resized to so many CPUs, of which its container has what is given.
func resizedTo(wanted, given string) kit.PodOption {
	cpu := func(n string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}}
	}
	return func(p *corev1.Pod) {
		updatable(p)
		p.Spec.Containers[0].Resources = cpu(wanted)
		p.Annotations = map[string]string{inplace.StateKey: `{"revision":"any","updateTimestamp":"2026-01-01T11:59:00Z",` +
			`"lastContainerStatuses":null,"updateResources":true,"containerBatchesRecord":[{"timestamp":"2026-01-01T11:59:00Z","containers":["main"]}]}`}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "any", Resources: new(cpu(given))}}
	}
}

// halfUpdated is a ready pod with a batch to come.
func halfUpdated(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "any", Ready: true}, {Name: "side", ImageID: "any", Ready: true}}
	p.Annotations = map[string]string{inplace.StateKey: `{"revision":"any","updateTimestamp":"2026-01-01T11:59:00Z",` +
		`"lastContainerStatuses":null,"nextContainerImages":{"side":"side:v2"}}`}
}

func unreadableRecord(p *corev1.Pod) { p.Annotations = map[string]string{inplace.StateKey: "{"} }

func otherContainer(p *corev1.Pod) { p.Spec.Containers[0].Name = "other" }

func TestInPlaceUpdate(t *testing.T) { playScenes(t, inPlaceScenes()) }

func inPlaceScenes() []scene {
	inPlace := []kit.SpecOption{method(inplace.IfPossible)}
	only := []kit.SpecOption{method(inplace.Only)}
	graceful := []kit.SpecOption{method(inplace.IfPossible), grace}
	hook := func(s *rollout.Spec) {
		s.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
	}
	resizing := []kit.SpecOption{method(inplace.IfPossible), func(s *rollout.Spec) { s.Strategy.InPlace.Resize = true }}
	hookedUpdate := []kit.SpecOption{method(inplace.IfPossible), hook}
	return []scene{
		{
			name: "an image", why: "I4: the pod is made unready, then changed; B3: it takes the place",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))},
			acts: "patch b0/status Outdated, patch b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update update Outdated b0 U"},
		},
		{
			name: "in flight", why: "what is requested counts as done",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))}, patching: []string{"b0"},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait Requested b0 U"},
		},
		{
			name: "under way", why: "I5: the container has not restarted; B5: the pod is not available",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable)), on("b", newPod(updatingSince(ago(time.Minute))))},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: starting>update wait Updating b0 U"},
		},
		{
			name: "complete", why: "I4: the condition becomes True again, which the budget waits for",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable)), on("b", newPod(restarted(ago(time.Minute))))},
			acts: "patch b0/status InPlaceUnfinished",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: starting>update patch InPlaceUnfinished b0 U"},
		},
		{
			name: "a fresh pod", why: "the kubelet waits for the condition of the readiness gate, which is the planner's to set",
			spec: inPlace, fleet: []spot{on("a", newPod(kit.Unready(), func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
			}))},
			acts: "patch a0/status NewPod",
			want: []string{"a: starting>update patch NewPod a0 U"},
		},
		{
			name: "complete while frozen and paused", why: "T4: completion patches go on",
			spec:  []kit.SpecOption{method(inplace.IfPossible), kit.Frozen(), kit.Paused()},
			fleet: []spot{on("a", newPod(restarted(ago(time.Minute)))), on("b", oldPod(updatable))},
			acts:  "patch a0/status InPlaceUnfinished",
			want:  []string{"a: starting>update patch InPlaceUnfinished a0 U", "b: outdated>held hold Held b0 frozen"},
		},
		{
			name: "no readiness gate", why: "I3, I1: recreated, with the reason",
			spec: inPlace, fleet: []spot{on("a", oldPod())},
			acts: "delete a0 Outdated", want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "no readiness gate, in place only", why: "I1: held, with the reason",
			spec: only, fleet: []spot{on("a", oldPod()), on("b", oldPod(updatable))},
			acts: "patch b0/status Outdated, patch b0 Outdated",
			want: []string{"a: outdated>held hold Held a0 inPlaceOnly", "b: outdated>update update Outdated b0 U"},
		},
		{
			name: "unknown revision", why: "I3: its present revision must be known",
			spec: inPlace, fleet: []spot{on("a", podAt("lost", updatable))},
			acts: "delete a0 Outdated", want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "not ready", why: "B3: it disturbs nobody, in place too",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable, kit.Unready())), on("b", oldPod(updatable, kit.Unready()))},
			acts: "patch b0/status OutdatedNotReady, patch b0 OutdatedNotReady, patch a0/status OutdatedNotReady, patch a0 OutdatedNotReady",
			want: []string{"a: outdated>update update OutdatedNotReady a0 U", "b: outdated>update update OutdatedNotReady b0 U"},
		},
		{
			name: "burst", why: "M6: at most as many new updates in place as burst",
			spec:  []kit.SpecOption{method(inplace.IfPossible), kit.Burst("1"), kit.MaxUnavailable("100%")},
			fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))},
			acts:  "patch b0/status Outdated, patch b0 Outdated",
			want:  []string{"a: outdated>update wait Burst a0 burst", "b: outdated>update update Outdated b0 U"},
		},
		{
			name: "grace begins", why: "I4: first unready, the label stays truthful",
			spec: graceful, fleet: []spot{on("a", oldPod(updatable))},
			acts: "patch a0/status Outdated", want: []string{"a: outdated>update prepare Outdated a0 U"},
		},
		{
			name: "grace goes on", why: "I4: 30 s from the condition",
			spec: graceful, fleet: []spot{on("a", oldPod(inGrace(ago(10*time.Second))))},
			want: []string{"a: outdated>update wait GracePeriod a0 gracePeriodSeconds until=+20s U"},
		},
		{
			name: "grace is over", why: "I4: exactly 30 s are enough",
			spec: graceful, fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second))))},
			acts: "patch a0 Begun", want: []string{"a: outdated>update update Begun a0 U"},
		},
		{
			name: "paused in its grace", why: "T4: what was begun is finished, and nothing else is begun",
			spec:  append(graceful, kit.Paused()),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second)))), on("b", oldPod(updatable))},
			acts:  "patch a0 Begun",
			want:  []string{"a: outdated>update update Begun a0 U", "b: outdated>held hold Held b0 paused"},
		},
		{
			name: "frozen in its grace, where it is to be deleted", why: "T4: that waits, and until then nothing is left unready",
			spec:  append(graceful, kit.Frozen()),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second)))).leave(), on("b", oldPod(inGrace(ago(30*time.Second))), newPod(updatable))},
			acts:  "patch a0/status TakenBack, patch b0/status TakenBack",
			want:  []string{"a: leaving>none patch TakenBack a0 frozen", "b: surging>update patch TakenBack b0 frozen"},
		},
		{
			name: "held in its grace", why: "T2: the partition was raised, so the pod is made ready again",
			spec: append(graceful, partition("1")), fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second))))},
			acts: "patch a0/status TakenBack",
			want: []string{"a: outdated>held patch TakenBack a0 partition U"},
		},
		{
			name: "the hook is asked", why: "L3; B2: the place is taken as soon as the hook is asked",
			spec: hookedUpdate, fleet: []spot{on("a", oldPod(updatable, hooked)), on("b", oldPod(updatable, hooked))},
			acts: "patch b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update prepare Outdated b0 U"},
		},
		{
			name: "the hook holds", why: "L3: PreparingUpdate while any handler matches",
			spec:  hookedUpdate,
			fleet: []spot{on("a", oldPod(updatable, hooked)), on("b", oldPod(updatable, hooked, inState(lifecycle.PreparingUpdate)))},
			want:  []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait UpdateHook b0 hook U"},
		},
		{
			name: "the hook lets go", why: "L3: Updating when no handler matches",
			spec: hookedUpdate, fleet: []spot{on("b", oldPod(updatable, inState(lifecycle.PreparingUpdate)))},
			acts: "patch b0/status Begun, patch b0 Begun",
			want: []string{"b: outdated>update update Begun b0 U"},
		},
		{
			name: "the hook is not put back", why: "L3: the pod does not serve yet, so the rollout waits, and says for what",
			spec: hookedUpdate, fleet: []spot{on("a", oldPod(updatable, hooked)), on("b", newPod(updatable, inState(lifecycle.Updated)))},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: starting>update wait PutBack b0 hook U"},
		},
		{
			name: "put back", why: "L3: Normal",
			spec: hookedUpdate, fleet: []spot{on("b", newPod(updatable, hooked, inState(lifecycle.Updated)))},
			acts: "patch b0 InPlaceUnfinished", want: []string{"b: starting>update patch InPlaceUnfinished b0 U"},
		},
		{
			name: "a hook of a waiting node", why: "L3: it goes on, whatever the update waits for",
			spec: hookedUpdate, fleet: []spot{on("a", oldPod(updatable, hooked, inState(lifecycle.Updated))), on("b", newPod(kit.Unready()))},
			acts: "patch a0 InPlaceUnfinished",
			want: []string{"a: outdated>update patch InPlaceUnfinished a0 maxUnavailable", "b: starting>update wait NotReady b0 U"},
		},
		{
			name: "the next batch of a held pod", why: "V6, V1: it would restart a container that serves, outside the budget",
			spec: append(inPlace, partition("1")), fleet: []spot{on("a", oldPod(updatable, halfUpdated)), on("b", oldPod(updatable))},
			acts: "patch b0/status Outdated, patch b0 Outdated",
			want: []string{"a: outdated>held hold Held a0 partition", "b: outdated>update update Outdated b0 U"},
		},
		{
			name: "held while the hook is asked", why: "T2: taken back",
			spec: append(hookedUpdate, partition("1")), fleet: []spot{on("b", oldPod(updatable, hooked, inState(lifecycle.PreparingUpdate)))},
			acts: "patch b0 TakenBack", want: []string{"b: outdated>held patch TakenBack b0 partition U"},
		},
		{
			name: "rolled back while the hook is asked", why: "T1: the pod is what its node should have",
			spec: hookedUpdate, fleet: []spot{on("b", newPod(updatable, hooked, inState(lifecycle.PreparingUpdate)))},
			acts: "patch b0 TakenBack", want: []string{"b: updated>update patch TakenBack b0"},
		},
		{
			name: "an unreadable record", why: "fail closed: nothing is done to a pod whose last update cannot be understood",
			spec: inPlace, fleet: []spot{on("b", oldPod(updatable, kit.Unready(), unreadableRecord))},
			want: []string{"b: outdated>update wait InPlaceUnreadable b0 U"},
		},
		{
			name: "an unreadable record of the last update", why: "the pod waits for ever, so that has to be said",
			spec: inPlace, fleet: []spot{on("b", newPod(updatable, inGrace(ago(0)), unreadableRecord))},
			want: []string{"b: starting>update wait InPlaceUnreadable b0 U"},
		},
		{
			name: "an unreadable record stops nothing else", why: "the pod serves and is not begun, so its place goes to the next one",
			spec: inPlace, fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable, unreadableRecord))},
			acts: "patch a0/status Outdated, patch a0 Outdated",
			want: []string{"a: outdated>update update Outdated a0 U", "b: outdated>update wait InPlaceUnreadable b0"},
		},
		{
			name: "unlike its revision", why: "I1: the pod has no container of that name, so it is recreated",
			spec: inPlace, fleet: []spot{on("b", oldPod(updatable, otherContainer))},
			acts: "delete b0 Outdated", want: []string{"b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "unlike its revision, in place only", why: "I1: held; its place goes to the next one",
			spec: only, fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable, otherContainer))},
			acts: "patch a0/status Outdated, patch a0 Outdated",
			want: []string{"a: outdated>update update Outdated a0 U", "b: outdated>held hold Held b0 inPlaceOnly"},
		},
		{
			name: "paused and held in its grace", why: "V6: paused does not lift the partition, so the pod is made ready again",
			spec:  append(graceful, kit.Paused(), partition("1")),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second))))},
			acts:  "patch a0/status TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 partition U"},
		},
		{
			name: "paused in its grace, and not possible any more", why: "T4: to recreate it would be a new beginning",
			spec:  append(graceful, kit.Paused()),
			fleet: []spot{on("a", podAt("lost", inGrace(ago(30*time.Second))))},
			acts:  "patch a0/status TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 paused U"},
		},
		{
			name: "paused in its grace, and unlike its revision", why: "T4: only Begin finds that it cannot go on; to recreate it would be a new beginning, too",
			spec:  append(graceful, kit.Paused()),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second)), otherContainer))},
			acts:  "patch a0/status TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 paused U"},
		},
		{
			name: "paused while the hook is asked, and unlike its revision", why: "T4, L3: taken back",
			spec:  append(hookedUpdate, kit.Paused()),
			fleet: []spot{on("a", oldPod(updatable, otherContainer, hooked, inState(lifecycle.PreparingUpdate)))},
			acts:  "patch a0 TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 paused U"},
		},
		{
			name: "paused in its grace, in place only, and unlike its revision", why: "T4: what stops the whole rollout counts first",
			spec:  append(only, grace, kit.Paused()),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second)), otherContainer))},
			acts:  "patch a0/status TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 paused U"},
		},
		{
			name: "in its grace, and unlike its revision", why: "I1: recreated; burst is of updates in place, and this is none",
			spec:  append(graceful, kit.Burst("1"), kit.MaxUnavailable("2")),
			fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second)), otherContainer)), on("b", oldPod(kit.Unready(), updatable))},
			acts:  "patch b0/status OutdatedNotReady, delete a0 OutdatedNotReady",
			want:  []string{"a: outdated>update replace OutdatedNotReady a0 U", "b: outdated>update prepare OutdatedNotReady b0 U"},
		},
		{
			name: "asked, and not possible any more", why: "I1: it takes the place already, so it is recreated at once",
			spec:  hookedUpdate,
			fleet: []spot{on("a", podAt("lost", updatable, inState(lifecycle.PreparingUpdate))), on("b", oldPod(updatable))},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U", "b: outdated>update wait Budget b0 maxUnavailable"},
		},
		{
			name: "a resize that the kubelet does not give", why: "I5: it is not complete, so it takes its place in the budget, though it is ready",
			spec: resizing, fleet: []spot{on("a", oldPod(updatable)), on("b", newPod(resizedTo("2", "1")))},
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: starting>update wait Updating b0 U"},
		},
		{
			name: "a resize that the kubelet gave", why: "I5: complete",
			spec: resizing, fleet: []spot{on("a", oldPod(updatable)), on("b", newPod(resizedTo("2", "2")))},
			acts: "patch a0/status Outdated, patch a0 Outdated",
			want: []string{"a: outdated>update update Outdated a0 U", "b: updated>update none UpToDate"},
		},
		{
			name: "preDelete does not ask", why: "L2: nothing is deleted",
			spec: append(inPlace, draining), fleet: []spot{on("b", oldPod(updatable, hooked))},
			acts: "patch b0/status Outdated, patch b0 Outdated", want: []string{"b: outdated>update update Outdated b0 U"},
		},
		{
			name: "preDelete asks where the update recreates", why: "I1, L2",
			spec: append(inPlace, draining), fleet: []spot{on("b", oldPod(hooked))},
			acts: "patch b0 Outdated", want: []string{"b: outdated>update prepare Outdated b0 U"},
		},
	}
}

// Updates in place that meet something else: another method, another patch of the same pod, an override.
func TestUpdateMeets(t *testing.T) { playScenes(t, updateScenes()) }

func updateScenes() []scene {
	hookGate := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
	}
	// The update asks for two CPUs, the revision before for one.
	resizes := func(l *lab) {
		old := l.spec.Default()
		kit.Requests(corev1.ResourceCPU, "1")(&old)
		kit.Requests(corev1.ResourceCPU, "2")(&l.spec)
		l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
		l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
		for _, pod := range l.snapshot.Pods {
			pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = l.old
			pod.Spec.Containers[0].Resources = old.Template.Spec.Containers[0].Resources
		}
	}
	return []scene{
		{
			name: "paused, and recreated by now", why: "T4: what was begun with the method before cannot go on, and is taken back",
			spec: []kit.SpecOption{kit.Paused()}, fleet: []spot{on("a", oldPod(inGrace(ago(30*time.Second))))},
			acts: "patch a0/status TakenBack",
			want: []string{"a: outdated>held patch TakenBack a0 paused U"},
		},
		{
			name: "the gate of a hook was never opened", why: "I4, L4: that patch is for the version of the pod that was seen, so the update comes after it",
			spec: []kit.SpecOption{kit.InPlaceIfPossible()}, fleet: []spot{on("a", oldPod(updatable, hookGate, kit.Unready()))},
			acts: "patch a0/status InPlaceUnfinished",
			want: []string{"a: outdated>update patch InPlaceUnfinished a0 U"},
		},
		{
			name: "a resize", why: "I2", set: resizes,
			spec: []kit.SpecOption{kit.InPlaceIfPossible(), kit.Resize()}, fleet: []spot{on("a", oldPod(updatable))},
			acts: "patch a0/resize Outdated, patch a0 Outdated",
			want: []string{"a: outdated>update update Outdated a0 U"},
		},
		{
			name: "a resize of what an override gave", why: "P8: what the template says is not what the pod has", set: resizes,
			spec:  []kit.SpecOption{kit.InPlaceIfPossible(), kit.Resize(), big("2")},
			fleet: []spot{on("a", oldPod(withTwoCPUs(), updatable)).with(kit.Label("size", "big"))},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "an image where an override gave resources", why: "I2, P8: the pod has what the override gives by now, and only its image changes",
			spec:  []kit.SpecOption{kit.InPlaceIfPossible(), big("2")},
			fleet: []spot{on("a", oldPod(withTwoCPUs(), updatable)).with(kit.Label("size", "big"))},
			acts:  "patch a0/status Outdated, patch a0 Outdated",
			want:  []string{"a: outdated>update update Outdated a0 U"},
		},
		{
			name: "back from a duplicate of a failed revision", why: "R3, C7: one plan relabels no pod that it updates to another revision",
			spec: []kit.SpecOption{kit.Canary("1"), kit.InPlaceIfPossible()}, set: all(failedRevision, withTwin),
			fleet: []spot{on("a", podAt(twin, updatable)), on("b", oldPod(updatable))},
			acts:  "patch a0 Outdated",
			want:  []string{"a: outdated>stable update Outdated a0 U", "b: stable>stable none Stable"},
		},
	}
}

// withTwin adds a duplicate of the update revision, numbered below it (R3).
func withTwin(l *lab) {
	object := kit.Revision(l.spec, 2)
	object.Name, object.UID = "agent-"+twin, "revision-"+twin
	object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = twin
	for _, revision := range l.snapshot.Revisions {
		if revision.Revision == 2 {
			revision.Revision = 3
		}
	}
	l.snapshot.Revisions = append(l.snapshot.Revisions, object)
}

// TestRefusedSteps: what the API server has refused is not sent again (I1). A pod whose update it cuts short carries its revision,
// and is outdated all the same; one that is only not made ready for the first time, or of which something else was refused, is not.
func TestRefusedSteps(t *testing.T) {
	refused := func(revision string, reason rollout.Reason) func(*lab) {
		return func(l *lab) {
			for _, message := range []string{"no, as said", "no"} { // whichever is listed first
				l.snapshot.InFlight.Refused = append(l.snapshot.InFlight.Refused, rollout.RefusedPatch{
					UID: "pod-a0", Revision: l.hash(revision), Reason: reason, Message: message,
				})
			}
		}
	}
	ofAnother := func(l *lab) {
		refused("update", rollout.ReasonInPlaceUnfinished)(l)
		for i := range l.snapshot.InFlight.Refused {
			l.snapshot.InFlight.Refused[i].UID = "pod-of-another-node"
		}
	}
	half := func(p *corev1.Pod) {
		updatable(p)
		halfUpdated(p)
	}
	done := func(p *corev1.Pod) {
		half(p)
		p.Annotations[inplace.StateKey] = `{"revision":"any","updateTimestamp":"2026-01-01T11:59:00Z","lastContainerStatuses":null}`
	}
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	}
	twoContainers := func(s *rollout.Spec) {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:v2"})
	}
	goesOn := []string{"patch a0/status InPlaceUnfinished", "patch a0 InPlaceUnfinished"}
	recreated := []string{"delete a0 Outdated"}
	unfinished := refused("update", rollout.ReasonInPlaceUnfinished)
	for _, test := range []struct {
		name    string
		options []kit.SpecOption
		pod     podOf
		given   func(*lab)
		want    []string
		words   string // of the obstruction
	}{
		{"nothing is refused", nil, newPod(half), func(*lab) {}, goesOn, ""},
		{"a later batch", nil, newPod(half), unfinished, recreated, "no"},
		{"a later batch, for no known reason", nil, newPod(half), refused("update", rollout.ReasonNone), recreated, "no"},
		{"a later batch, in place only", []kit.SpecOption{method(inplace.Only)}, newPod(half), unfinished, nil, "no"},
		{"of another pod", nil, newPod(half), ofAnother, goesOn, ""},
		{"of another revision", nil, newPod(half), refused("old", rollout.ReasonInPlaceUnfinished), goesOn, ""},
		{"to take it back", nil, newPod(half), refused("update", rollout.ReasonTakenBack), goesOn, ""},
		{"of an update that is complete", nil, newPod(done), unfinished, nil, ""},
		{"of a pod that was never updated", nil, newPod(kit.Unready(), gated), unfinished, []string{"patch a0/status NewPod"}, ""},
		{"with a record that nobody can read", nil, newPod(gated, kit.Unready(), unreadableRecord), unfinished, nil, ""},
		{"of a pod that its hook holds again", nil, newPod(half, inState(lifecycle.PreparingUpdate)), unfinished,
			[]string{"patch a0 TakenBack", "patch a0/status TakenBack", "patch a0 TakenBack"}, ""},
		{"of a pod that its hook has yet to put back", nil, newPod(done, inState(lifecycle.Updated)), unfinished, recreated, "no"},
		{"the first step", nil, oldPod(updatable), refused("update", rollout.ReasonOutdated), recreated, "no"},
		{"to take back what waits for its hook", []kit.SpecOption{partition("1")},
			oldPod(updatable, inState(lifecycle.PreparingUpdate)), refused("old", rollout.ReasonTakenBack), nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := append([]kit.SpecOption{method(inplace.IfPossible), twoContainers}, test.options...)
			l := newLab(options...).add(on("a", test.pod))
			test.given(l)
			plan := l.plan(t)
			var got []string
			for _, d := range plan.Deletes {
				got = append(got, "delete "+d.Pod+" "+d.Reason.String())
			}
			for _, p := range plan.Patches {
				where := p.Pod
				if p.Subresource != "" {
					where += "/" + p.Subresource
				}
				got = append(got, "patch "+where+" "+p.Reason.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || plan.Obstructions["a"] != test.words {
				t.Errorf("words %q, want %q; -want +got:\n%s\n%s", plan.Obstructions["a"], test.words, diff, plan.Explain("a"))
			}
			for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(v)
			}
		})
	}
}
