// Package purity holds no code, only tests of the project's own source. They parse the library's packages and fail
// where one of them
//
//   - does what a function of its arguments cannot do: read a clock, the environment, files or the network, draw
//     random numbers (but from a seed), log, start goroutines, use channels, panic, keep state in a package-level variable;
//   - imports a package of this module that is not below it in the list of docs/packages.md;
//   - lets the planner and its verifier share code: rollout/verify imports nothing internal, and the planner does not import it.
//   - draws inputs in its tests that differ from run to run (TestDrawsAreRepeatable), or has tests of tests that are built into
//     the everyday run (TestTestsOfTestsAreApart).
//
// The tests read that list, so a new package is refused until it has its row there.
//
// The checks work on parsed source and name resolution within one package, without the types of what is imported: they
// see every direct offence and none that hides behind a call into another module. No offence is excused by a comment; a
// package with a good reason is listed with it in imports_test.go.
package purity
