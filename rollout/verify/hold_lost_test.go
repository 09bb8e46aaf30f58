package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestVerifyAcceptsLost: lost pods of a held node are created again at a revision by T1.
func TestVerifyAcceptsLost(t *testing.T) {
	// gone are finished pods that are marked for deletion. They show what the node ran.
	gone := func(names ...string) change {
		return onPods(func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
			handMarked(p)
		}, names...)
	}
	held := func(changes ...change) func() *handmade {
		return handFleet(append(append([]change{handPods("available", "b-old")}, changes...), handSelecting("b"), handStrategy(holdingRevisions))...)
	}
	duplicate := func(s *handmade) {
		s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 1, s.spec.Template))
	}
	older := func(s *handmade) {
		s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(olderHash, 0, handTemplate("v0")))
	}
	runAccepts(t, []acceptRow{
		{name: "of a duplicate of the update revision", why: "R3: it was of that", scene: held(duplicate, handPods("available", "a-new"),
			handAt("twin", "a-new"), gone("a-new"))},
		{name: "of a revision that nobody knows", why: "T1: the stable one then", scene: held(handPods("available", "a-old"),
			handAt("unknown", "a-old"), gone("a-old"))},
		{name: "after two pods", why: "T1: the younger one tells", scene: held(older, handPods("available", "a-1", "a-2"),
			handAt(olderHash, "a-2"), handCreated(1, "a-1"), gone("a-1", "a-2"))},
		{name: "after two pods, the younger one by name the last", why: "T1: it tells all the same", scene: held(older, handPods("available", "a-1", "a-2"),
			handAt(olderHash, "a-1"), handCreated(1, "a-2"), gone("a-1", "a-2"))},
		{name: "of an older revision", why: "T1: what is seen counts more than the stable one", scene: held(older, handPods("available", "a-old"),
			handAt(olderHash, "a-old"), gone("a-old"))},
		{name: "on a keep node", why: "T2: without a pod it is not in the base", scene: handFleet(handPods("available", "a-old", "k-old"), tainted("k"),
			gone("k-old"), partitionOf("50%"), handStrategy(holdingRevisions))},
	})
}
