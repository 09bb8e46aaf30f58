package rollout_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

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
