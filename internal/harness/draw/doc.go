// Package draw generates, for pgregory.net/rapid, what this project's properties are checked on: specs and snapshots ([AnySpec],
// [AnyCanarySpec], [AnySnapshot]), both as a case of the harness ([AnyCase], [AnyCanaryCase]), and what befalls a cluster that
// lives through one ([AnyBehavior], [AnyChanges], [AnyCanaryWorld], [AnyIllness], [AnyMishaps]).
//
// It stands above package rollouttest, whose builders it draws from, and above the harness, whose types it draws. Users get the
// first three through package generate beside rollouttest.
//
// What is drawn comes from a small vocabulary on purpose: what is drawn must meet. It shrinks to few nodes named "a", "b" and so
// on, with one healthy updated pod each.
package draw
