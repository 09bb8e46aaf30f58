// Command mutation makes small mistakes in the library, one at a time, and looks whether a test fails. A mistake (a mutant)
// that no test notices shows a missing test, a line that could go, or a change that makes no difference to anybody.
//
//	cd internal/mutation
//	go run . ./placement ./lifecycle             # all mutants of two packages
//	go run . -since origin/main -for 4m ./...    # what changed, as far as four minutes reach
//	go run . -effort 5s ./rollout                # tests worth 5 s of processor time for each mutant
//	go run . -again lived ./rollout              # once more, what lived, with all tests in which it makes a difference
//	go run . -again lived -files '^validation' -tests Valid ./rollout   # after a test was added: what it kills, quickly
//	go run . -report ../../build/mutation.md     # the report, from the results that all runs left in build/mutation
//
// It ends with status 1 if fewer of the covered mutants are killed than -least says. Interrupted, it begins no more mutants
// and reports on those it has tried; -again "not tried" goes on from there.
//
// # How it works
//
// A package is rewritten once, with all its mutants in it: `a < b` becomes a call that knows `a < b`, `a <= b` and
// `a >= b`, and an environment variable says which counts. The rewritten files and one file of helpers
// (schema.go.txt) reach the compiler through an overlay, so the checkout is never written, and there is one build for
// thousands of mutants. Types are known, so what is written compiles; the few places that do not are left out, and counted.
// Where the original evaluates something once, or not at all, so does the rewritten code.
//
// Each top-level test, example and fuzz target (with its seeds) is run alone once, without a mutant, to learn what it costs
// and which mutants it reaches. While it runs, the helpers compute both values and note where they differ. A mutant that is
// reached but nowhere differs cannot be noticed, and lives without being run. All others are run
// against the tests in which they make a difference, the cheapest first, until one fails. What the tests draw at
// random has to be the same in each run: RAPID_SEED is 1 unless the environment says otherwise.
//
// A run that takes five times the processor time of its tests, and two seconds, is ended, and its mutant counts as killed:
// mostly these are endless loops. They are listed in a column of their own. Time on the clock does not count, so that a busy
// machine kills no mutant.
//
// # Operators
//
//   - boundary moved: < and <=, > and >=
//   - comparison negated, operand negated, result negated, where nothing stronger is done
//   - condition true, condition false, case true, case false: conditions of if, for (false only) and switches without a tag
//   - && and || swapped
//   - operator swapped: + -, * /, % to *, | &, ^ and &^ to &, << >>, also in assignments, ++ and --
//   - sign dropped
//   - constant changed: 0 to 1, 1 to 0, other integer literals to the next
//   - lower bound dropped, upper bound dropped: of slices
//   - call, assignment, defer, return, break, continue removed; break and continue swapped
//
// Left alone are generated files, constants, capacities that make is given, and panics.
//
// # Judgements
//
// survivors.txt says why mutants may live. An entry is one or more mutants, each on a line as the report names it, and below
// them the reason, indented. It begins with one of
//
//   - equivalent: no input makes a difference, and why
//   - speed: the result is the same, the way there longer
//   - unreachable: what would make a difference cannot get there; a second line of defence
//   - wording: it changes a text, and nobody depends on which
//   - accepted: a test could notice it and none does, and why that is bearable
//
// Entries hold no line numbers, so they stay true while code around them changes. Those that no longer name a living mutant
// are reported.
package main
