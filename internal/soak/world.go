package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/daemonplan/daemonplan/internal/worlds"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// world is one that is drawn from a seed, with policies or without. In text it is the seed, with "p" behind it for policies.
type world struct {
	seed     uint64
	policies bool
}

func parseWorld(text string) (world, error) {
	digits, policies := strings.CutSuffix(text, "p")
	seed, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return world{}, fmt.Errorf("%q is no seed; one is a whole number, and p behind it stands for policies", text)
	}
	return world{seed, policies}, nil
}

// worldFrom is the i-th world from a seed on: of each seed there is one without and one with policies.
func worldFrom(seed, i uint64) world { return world{seed + i/2, i%2 == 1} }

func (w world) String() string {
	text := strconv.FormatUint(w.seed, 10)
	if w.policies {
		text += "p"
	}
	return text
}

func (w world) scenario() simulate.Scenario {
	if w.policies {
		return worlds.WithPolicies(w.seed)
	}
	return worlds.Scenario(w.seed)
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
