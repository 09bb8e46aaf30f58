// Package fixedseed makes the properties of a test program draw the same inputs on every machine and day: a test fails for what a
// change does, and not by chance. Every package whose tests draw with rapid imports it in one of its test files, for its effect
// alone (internal/purity finds those that do not).
//
// It sets the defaults of two flags of rapid. Whoever asks for other inputs still gets them: RAPID_SEED and RAPID_CHECKS in the
// environment count more, and so do -rapid.seed and -rapid.checks. The seed 0 stands for one that rapid chooses by the clock.
// Fresh inputs are drawn by `make fresh`, by soak and by fuzzing.
//
// The variables are read before a test program begins to note for go's cache what it reads. So with a variable set no result gets
// into the cache, where it would pass for one of other inputs; with -count=1 none is taken from there either.
package fixedseed

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"

	_ "pgregory.net/rapid" // its flags are there before their defaults are set
)

// defaults are the values of rapid's flags where nobody asks for others, by the variable of the environment that does.
var defaults = [...]struct{ variable, flag, value string }{
	{"RAPID_SEED", "rapid.seed", "1"},
	// Enough to notice nearly every planted bug, and little enough to wait for.
	{"RAPID_CHECKS", "rapid.checks", "25"},
}

func init() {
	for _, d := range defaults {
		if _, asked := os.LookupEnv(d.variable); asked {
			os.Args = slices.DeleteFunc(os.Args, noting)
			continue
		}
		if err := flag.Set(d.flag, d.value); err != nil {
			panic(err) // rapid has renamed the flag: no test draws what it should
		}
	}
}

// noting reports whether an argument of a test program tells it to note what it reads, without which the go command keeps no
// result.
func noting(argument string) bool { return strings.HasPrefix(argument, "-test.testlogfile=") }

// Share returns how many of all its inputs a test takes that enumerates them instead of drawing: as many in a hundred as there
// are checks of a property, at least one and at most all. So RAPID_CHECKS=100 takes all of them.
func Share(all uint64) uint64 {
	checks, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		panic(err) // the flag is an int
	}
	return min(max(all*uint64(max(checks, 0))/100, 1), all)
}
