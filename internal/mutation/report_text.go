package main

const preamble = `# Mutation testing

A mutant is the library with one small mistake. The tests kill it if one of them fails; one that lives shows a missing
test, a line that could go, or a change that nobody can notice. This page is written by
internal/mutation, whose documentation says which mistakes are made and how:

` + "```" + `sh
cd internal/mutation
go run . ./...                             # all mutants of all packages: hours
go run . -report ../../build/mutation.md   # this page, from the results of all runs
` + "```" + `

`

const legend = `Killed and timed out ones are dead. Not covered: no test reaches them. Not tried: they were not in the sample,
or the tests that reach them take longer than a mutant was worth. The share is that of the covered ones.

`

const notJudged = `Each waits for a test or for a reason. Where tests were left out above, one of them may kill it.
A run lists them, with their lines.

`
