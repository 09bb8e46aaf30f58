//go:build teeth

package fleet_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// TestMistakesInClaimsAreFound: a claim that is kept for a newer version of a pod is found.
func TestMistakesInClaimsAreFound(t *testing.T) {
	makesADifference(t, func(t *rapid.T) (found bool) {
		first := map[types.UID]fleet.Claim{}
		drawHistory(t, func(_ *state, earlier reading, now *state) (reading, error) {
			got, err := claimAndRead(earlier, now, func(p *corev1.Pod) fleet.Claim {
				if _, known := first[p.UID]; !known {
					first[p.UID] = claimOf(p)
				}
				return first[p.UID]
			})
			want, wantErr := naive(owned(now))
			found = found || differ(got, want, err, wantErr) != ""
			return claimAndRead(reading{}, now, claimOf)
		}, owned)
		return found
	})
}

// makesADifference looks for a history that shows a mistake, among the same ones in every run.
func makesADifference(t *testing.T, shows func(*rapid.T) bool) {
	t.Helper()
	const histories = 400
	for seed := range histories {
		if rapid.Custom(shows).Example(seed) {
			return
		}
	}
	t.Errorf("none of %d histories shows the mistake", histories)
}

// TestMistakesInReuseAreFound: a reading that takes over too much is told from reading anew.
func TestMistakesInReuseAreFound(t *testing.T) {
	for name, spoil := range map[string]func(earlier, now *state) *state{
		"a gone pod is kept": func(earlier, now *state) *state {
			for _, p := range earlier.pods {
				if !slices.ContainsFunc(now.pods, func(q *corev1.Pod) bool { return q.UID == p.UID }) {
					return &state{now.rules, now.nodes, append(slices.Clone(now.pods), p)}
				}
			}
			return now
		},
		"a newer version of a pod is not read": func(earlier, now *state) *state {
			return &state{now.rules, now.nodes, older(earlier.pods, now.pods, func(p *corev1.Pod) string { return string(p.UID) })}
		},
		"a newer version of a node is not read": func(earlier, now *state) *state {
			return &state{now.rules, older(earlier.nodes, now.nodes, func(n *corev1.Node) string { return n.Name }), now.pods}
		},
		"a new spec keeps the verdicts of the old one": func(earlier, now *state) *state {
			return &state{earlier.rules, now.nodes, now.pods}
		},
		"two objects of one name or UID are one": func(_, now *state) *state {
			s := &state{rules: now.rules}
			for _, n := range now.nodes {
				if !slices.ContainsFunc(s.nodes, func(m *corev1.Node) bool { return m.Name == n.Name }) {
					s.nodes = append(s.nodes, n)
				}
			}
			for _, p := range now.pods {
				if !slices.ContainsFunc(s.pods, func(q *corev1.Pod) bool { return q.UID == p.UID }) {
					s.pods = append(s.pods, p)
				}
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			makesADifference(t, func(t *rapid.T) (found bool) {
				drawHistory(t, func(earlier *state, facts reading, now *state) (reading, error) {
					if earlier == nil {
						return readBoth(nil, reading{}, now)
					}
					got, err := readBoth(earlier, facts, spoil(earlier, now))
					want, wantErr := naive(now)
					found = found || differ(got, want, err, wantErr) != ""
					return readBoth(nil, reading{}, now)
				})
				return found
			})
		})
	}
}

// older puts into now the versions of objects that were there before.
func older[T any](before, now []T, key func(T) string) []T {
	now = slices.Clone(now)
	for i := range now {
		for _, old := range before {
			if key(old) == key(now[i]) {
				now[i] = old
			}
		}
	}
	return now
}
