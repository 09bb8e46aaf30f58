package differential_test

import (
	"encoding/json"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// hashing is a template and how often its name was taken.
type hashing struct {
	Template *corev1.PodTemplateSpec
	Count    *int32
}

// hashes are those of a template, and of one that was made ready for a history.
type hashes struct{ Hash, Resolver string }

func compareHashes() comparison[hashing, hashes] {
	const (
		first = iota
		collided
	)
	hash := func(h hashing) hashes {
		out := hashes{Hash: history.Hash(h.Template, h.Count)}
		out.Resolver = out.Hash
		if resolver, err := history.Compile(helperSet, h.Template); err == nil {
			out.Resolver = resolver.Hash(h.Count)
		}
		return out
	}
	return comparison[hashing, hashes]{
		theirs: "ComputeHash", ours: "history.Hash, Resolver.Hash",
		kinds: []string{first: "no collision count", collided: "collision count"},
		inputs: rapid.Custom(func(t *rapid.T) hashing {
			return hashing{
				Template: anyTemplate().Draw(t, "template"),
				Count:    anyOptional(t, rapid.SampledFrom([]int32{0, 1, -1, 255, 256, math.MaxInt32, math.MinInt32}), "collision count"),
			}
		}),
		batch: 30, answer: hash,
		judge: func(h hashing, ours hashes) judgement {
			j := judgement{kind: kindIf(h.Count != nil)}
			theirs := controller.ComputeHash(h.Template, h.Count)
			if theirs != ours.Hash || theirs != ours.Resolver {
				j.err = disagree(h, theirs, ours)
			}
			return j
		},
		bugs: []plantedBug[hashing, hashes]{
			{"nil is 0", "a count of 0 is hashed, none is not", func(h hashing) hashes {
				if h.Count == nil {
					h.Count = new(int32)
				}
				return hash(h)
			}},
			{"of the data", "the dump tells nil from empty, JSON does not", func(h hashing) hashes {
				data, err := history.Data(h.Template)
				var e envelope
				if err != nil || json.Unmarshal(data, &e) != nil {
					return hash(h)
				}
				h.Template = &e.Spec.Template
				return hash(h)
			}},
		},
	}
}
