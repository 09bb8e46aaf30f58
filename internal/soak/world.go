package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// world is one that is drawn from a seed, with policies or without. In text it is the seed, with "p" behind it for policies that
// are drawn, and "d3" for the third one that is documented.
type world struct {
	seed       uint64
	policies   bool
	documented int
}

func parseWorld(text string) (world, error) {
	digits, policies := strings.CutSuffix(text, "p")
	digits, page, documented := strings.Cut(digits, "d")
	seed, err := strconv.ParseUint(digits, 10, 64)
	number := 0
	if err == nil && documented {
		if number, err = strconv.Atoi(page); policies || number < 1 || number > len(worlds.Documented) {
			err = strconv.ErrRange
		}
	}
	if err != nil {
		return world{}, fmt.Errorf("%q is no seed; one is a whole number, and p behind it stands for policies, d1 to d%d "+
			"for one that is documented", text, len(worlds.Documented))
	}
	return world{seed, policies, number}, nil
}

// worldFrom is the i-th world from a seed on: of each seed there is one without and one with policies.
func worldFrom(seed, i uint64) world { return world{seed: seed + i/2, policies: i%2 == 1} }

// documentedFrom is the i-th world of documented policies from a seed on: of each seed there is one for each policy.
func documentedFrom(seed, i uint64) world {
	policies := uint64(len(worlds.Documented))
	return world{seed: seed + i/policies, documented: int(i%policies) + 1}
}

func (w world) String() string {
	text := strconv.FormatUint(w.seed, 10)
	switch {
	case w.documented > 0:
		text += "d" + strconv.Itoa(w.documented)
	case w.policies:
		text += "p"
	}
	return text
}

func (w world) scenario() simulate.Scenario {
	switch {
	case w.documented > 0:
		return w.troubled().Scenario
	case w.policies:
		return worlds.WithPolicies(w.seed)
	default:
		return worlds.Scenario(w.seed)
	}
}

// troubled is the world of a documented policy.
func (w world) troubled() worlds.Troubled { return worlds.WithTrouble(w.documented-1, w.seed) }

// options are those for checking this world: more has to hold under documented policies than elsewhere.
func (w world) options(all checkOptions) checkOptions {
	if w.documented > 0 {
		troubled := w.troubled()
		all.ends, all.good = true, troubled.Good()
	}
	return all
}

// compare orders worlds by seed.
func (w world) compare(other world) int {
	if w.seed != other.seed {
		if w.seed < other.seed {
			return -1
		}
		return 1
	}
	return strings.Compare(w.String(), other.String())
}
