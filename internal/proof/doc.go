// Package proof holds no code, only tests of the project's own tests: that docs/what-is-proved.md says what is so, and that
// no rule can go without a test that names it.
//
// The tables of that document are read off the source: which property states which invariant, which planted bugs it rejects,
// which spoiled plans the verifier rejects, which entries of the differences belong to a rule. TestDocument fails when they
// differ, and writes them anew with -update (make update). The other tests fail where something is missing: an invariant without
// a property or without a planted bug, a property that no test runs, a rule that nothing was taken away of, a name in the text
// that no test has.
//
// TestLinksAndCommandsOfDocuments holds all documents to the folders, headings and targets of make that they name.
//
// TestRemovals takes the code of each rule away, in an overlay, and sees to it that the test which is named for it fails and
// names the rule. That builds the packages once per rule, so it runs only with -removals (make rules); that each removal still
// fits the code is tested always.
package proof
