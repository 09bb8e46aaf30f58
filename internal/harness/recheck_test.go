package harness_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// TestRecheckFinds: in one rollout each Verifier that has kept what it must not is found, and the real one is not.
func TestRecheckFinds(t *testing.T) {
	type seen = seenBefore
	// older has in place of each pod its version of the snapshot before, where it keeps what keep says of the new one.
	older := func(before, now seen, keep func(was, is *corev1.Pod) *corev1.Pod) seen {
		now.snapshot.Pods = slices.Clone(now.snapshot.Pods)
		for i, p := range now.snapshot.Pods {
			if k := slices.IndexFunc(before.snapshot.Pods, func(q *corev1.Pod) bool { return p.UID == q.UID }); k >= 0 {
				now.snapshot.Pods[i] = keep(before.snapshot.Pods[k], p)
			}
		}
		return now
	}
	for name, spoil := range map[string]func(before, now seen) seen{
		"nothing": func(_, now seen) seen { return now },
		"a fact that depends on the time": func(before, now seen) seen {
			if !before.snapshot.Now.IsZero() {
				now.snapshot.Now = before.snapshot.Now
			}
			return now
		},
		"a pod that is gone": func(before, now seen) seen {
			for _, p := range before.snapshot.Pods {
				if !slices.ContainsFunc(now.snapshot.Pods, func(q *corev1.Pod) bool { return p.UID == q.UID }) {
					now.snapshot.Pods = append(slices.Clone(now.snapshot.Pods), p)
				}
			}
			return now
		},
		"a pod before it changed": func(before, now seen) seen {
			return older(before, now, func(was, _ *corev1.Pod) *corev1.Pod { return was })
		},
		"a label unseen": func(before, now seen) seen {
			return older(before, now, func(was, is *corev1.Pod) *corev1.Pod {
				is = is.DeepCopy()
				is.Labels = maps.Clone(was.Labels)
				return is
			})
		},
		"an annotation unseen": func(before, now seen) seen {
			return older(before, now, func(was, is *corev1.Pod) *corev1.Pod {
				is = is.DeepCopy()
				is.Annotations = maps.Clone(was.Annotations)
				return is
			})
		},
		"two pods, each as the other": func(_, now seen) seen {
			now.snapshot.Pods = slices.Clone(now.snapshot.Pods)
			if n := len(now.snapshot.Pods); n > 1 {
				a, b := now.snapshot.Pods[0].DeepCopy(), now.snapshot.Pods[n-1].DeepCopy()
				a.Spec.NodeName, b.Spec.NodeName = b.Spec.NodeName, a.Spec.NodeName
				now.snapshot.Pods[0], now.snapshot.Pods[n-1] = a, b
			}
			return now
		},
		"a spec before it changed": func(before, now seen) seen {
			if before.spec.Name != "" {
				now.spec = before.spec
			}
			return now
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for _, options := range [][]rollouttest.SpecOption{nil, {rollouttest.InPlaceIfPossible()}} {
				found = found || recheckFinds(t, spoil, options...)
			}
			if want := name != "nothing"; found != want {
				t.Errorf("found: %t, right is %t", found, want)
			}
		})
	}
}

// seenBefore is what a Verifier is asked about.
type seenBefore struct {
	spec     rollout.Spec
	snapshot rollout.Snapshot
}

// recheckFinds reports whether anything is found in a rollout with a Verifier that sees something else than there is.
func recheckFinds(t *testing.T, spoil func(before, now seenBefore) seenBefore, options ...rollouttest.SpecOption) bool {
	t.Helper()
	old := rollouttest.Spec("agent", append(options, rollouttest.MinReadySeconds(10))...)
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	snapshot, err := rollouttest.Fleet(4, rollouttest.Running(old)).Build()
	if err != nil {
		t.Fatal(err)
	}
	snapshot.Now = rollouttest.Noon()
	cluster, err := harness.NewCluster(spec, snapshot, harness.Behavior{Start: 5 * time.Second, Stop: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var verifier verify.Verifier
	var before, now seenBefore
	check := harness.Recheck(func(spec rollout.Spec, s rollout.Snapshot, plan *rollout.Plan) []verify.Violation {
		if !s.Now.Equal(now.snapshot.Now) || spec.Strategy.NodeSelector != now.spec.Strategy.NodeSelector {
			before, now = now, seenBefore{spec, s}
		}
		spoiled := spoil(before, seenBefore{spec, s})
		return verifier.Plan(spoiled.spec, spoiled.snapshot, plan)
	})
	isFound := func(err error) bool { return err != nil && strings.Contains(err.Error(), "a Verifier that has seen") }
	step := 0
	_, err = cluster.Run(cluster.Plan, 200, func(s rollout.Snapshot, plan rollout.Plan) error {
		if step++; step == 3 { // of another spec the plan may be wrong, and the Verifier finds that, too
			held := spec
			held.Strategy.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "none"}}
			if err := check(held, s, plan); isFound(err) {
				return err
			}
		}
		return check(spec, s, plan)
	})
	if err != nil && !isFound(err) {
		t.Fatal(err)
	}
	return err != nil
}
