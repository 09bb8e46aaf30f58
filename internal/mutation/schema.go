package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// schemaSource declares the functions that rewritten code calls. It is added to the mutated package.
//
//go:embed schema.go.txt
var schemaSource string

// schema is the file to add to a package that has mutants up to the given number.
func schema(packageName string, mutants int) []byte {
	return []byte(strings.NewReplacer(
		"package schema", "package "+packageName,
		"[1]atomic.Uint32", fmt.Sprintf("[%d]atomic.Uint32", mutants+1),
	).Replace(schemaSource))
}

// Environment of a test binary.
const (
	mutantVariable = "MUTANT"       // number of the mutant to turn on
	seenVariable   = "MUTANTS_SEEN" // file to write to which mutants are reached: "<number> <1 if it makes a difference, else 0>"
)
