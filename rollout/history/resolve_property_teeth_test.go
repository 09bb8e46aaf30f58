//go:build teeth

package history_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestResolvePropertySeesBugs(t *testing.T) {
	// Each bug is put into what the real Resolve returns.
	after := func(bug func(in history.Input, out *history.Resolution)) resolving {
		return func(r *history.Resolver, in history.Input) (history.Resolution, error) {
			out, err := r.Resolve(in)
			bug(in, &out)
			return out, err
		}
	}
	for name, mutant := range map[string]resolving{
		"writes to its input": after(func(in history.Input, out *history.Resolution) {
			if out.Renumber != nil {
				out.Renumber.Revision.Revision = out.Renumber.Number
			}
		}),
		"depends on order": after(func(in history.Input, out *history.Resolution) {
			if len(in.Carriers) > 1 && in.Carriers[0].Hash > in.Carriers[1].Hash {
				out.CollisionCount = new(int32(77))
			}
		}),
		"deletes the stable revision": after(func(in history.Input, out *history.Resolution) {
			if out.Stable.Existing != nil && out.Stable.Name != out.Update.Name {
				out.Delete = append(out.Delete, out.Stable.Existing)
			}
		}),
		"deletes duplicates with their pods": after(func(in history.Input, out *history.Resolution) {
			for _, revision := range in.Revisions {
				if slices.Contains(out.Relabel, history.HashOf(revision)) {
					out.Delete = append(out.Delete, revision)
				}
			}
		}),
		"trims the newest": after(func(in history.Input, out *history.Resolution) { slices.Reverse(out.Delete) }),
		"never trims":      after(func(in history.Input, out *history.Resolution) { out.Delete = nil }),
		"never relabels":   after(func(in history.Input, out *history.Resolution) { out.Relabel = nil }),
		"never renumbers":  after(func(in history.Input, out *history.Resolution) { out.Renumber = nil }),
		"never creates":    after(func(in history.Input, out *history.Resolution) { out.Create = nil }),
		"counts no collision": after(func(in history.Input, out *history.Resolution) {
			out.CollisionCount = in.CollisionCount
		}),
		"stable is update": after(func(in history.Input, out *history.Resolution) { out.Stable = out.Update }),
		"knows one match":  after(func(in history.Input, out *history.Resolution) { out.Matches = []string{out.Update.Hash} }),
		"numbers anew for ever": after(func(in history.Input, out *history.Resolution) {
			if out.Create == nil {
				out.Renumber = &history.Renumber{Revision: out.Update.Existing, Number: out.Update.Number + 1}
			}
		}),
		"terminating pods make stable": func(r *history.Resolver, in history.Input) (history.Resolution, error) {
			in = copied(in)
			for i := range in.Carriers {
				in.Carriers[i].Live = true
			}
			return r.Resolve(in)
		},
		"limit off by one": func(r *history.Resolver, in history.Input) (history.Resolution, error) {
			in.Limit++
			return r.Resolve(in)
		},
	} {
		t.Run(name, func(t *testing.T) { refutes(t, worlds(), resolvesWell(mutant)) })
	}
}
