//go:build teeth

package inplace_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
)

// TestPairsReachEverything: pairs have every obstacle, and some have none.
func TestPairsReachEverything(t *testing.T) {
	const pairs = 1000
	inPlace, obstacles := 0, map[inplace.Code]int{}
	for seed := range pairs {
		p := rapid.Custom(anyPair).Example(seed)
		u := inplace.Compare(p.old, p.new, p.options)
		if u.InPlace() {
			inPlace++
		}
		for _, obstacle := range u.Obstacles {
			obstacles[obstacle.Code]++
		}
	}
	if inPlace < pairs/10 || inPlace > pairs*9/10 {
		t.Errorf("%d of %d pairs are in place: the property says little", inPlace, pairs)
	}
	for code := inplace.Immutable; code < inplace.NodeUnable; code++ {
		if obstacles[code] == 0 {
			t.Errorf("no pair with the obstacle %q", code)
		}
	}
}

// Implementations with a planted bug, which the property must reject.
func TestDiffPropertyHasTeeth(t *testing.T) {
	without := func(code inplace.Code) diff {
		return func(old, new *corev1.PodTemplateSpec, options inplace.Options) *inplace.Update {
			u := inplace.Compare(old, new, options)
			u.Obstacles = slices.DeleteFunc(u.Obstacles, func(o inplace.Obstacle) bool { return o.Code == code })
			return u
		}
	}
	type mutant struct {
		name string
		diff diff
	}
	mutants := []mutant{
		{"options ignored", func(old, new *corev1.PodTemplateSpec, _ inplace.Options) *inplace.Update {
			return inplace.Compare(old, new, inplace.Options{})
		}},
		{"sides swapped", func(old, new *corev1.PodTemplateSpec, options inplace.Options) *inplace.Update {
			return inplace.Compare(new, old, options)
		}},
		{"images forgotten", func(old, new *corev1.PodTemplateSpec, options inplace.Options) *inplace.Update {
			u := inplace.Compare(old, new, options)
			u.Images = nil
			return u
		}},
	}
	for code := inplace.Immutable; code < inplace.NodeUnable; code++ {
		mutants = append(mutants, mutant{"without " + code.String(), without(code)})
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			generate := rapid.Custom(anyPair)
			for seed := range 2000 {
				if disagreement(m.diff, generate.Example(seed)) != "" {
					return
				}
			}
			t.Error("the property accepts it")
		})
	}
}
