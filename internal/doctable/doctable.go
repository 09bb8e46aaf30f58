// Package doctable writes tables into documents, between marks with their names: a line <!-- table: NAME --> before, and a line
// <!-- end --> behind. What a program or a test finds then stands in a document for good, and nobody copies it by hand.
package doctable

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Cut returns the table of that name, and the document before and after it, each with its mark.
func Cut(document, name string) (before, table, after string, err error) {
	begin, end := "<!-- table: "+name+" -->\n", "<!-- end -->\n"
	head, rest, begins := strings.Cut(document, begin)
	table, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", "", "", fmt.Errorf("the document has no table %q between its marks", name)
	}
	return head + begin, table, end + tail, nil
}

// Replace returns the document with these tables, by name, in place of those of the same names. Each ends with a line break.
func Replace(document string, tables map[string]string) (string, error) {
	for name, table := range tables {
		before, _, after, err := Cut(document, name)
		if err != nil {
			return "", err
		}
		document = before + table + after
	}
	return document, nil
}

// Differences lists the lines in which two versions of a document differ.
func Differences(was, is string) []string {
	var differences []string
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, line := range now {
		if !slices.Contains(old, line) {
			differences = append(differences, "not in the document: "+line)
		}
	}
	for _, line := range old {
		if !slices.Contains(now, line) {
			differences = append(differences, "not so any more: "+line)
		}
	}
	return differences
}

// Write replaces tables in a file.
func Write(file string, tables map[string]string) error {
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	is, err := Replace(string(was), tables)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if is == string(was) {
		return nil
	}
	return os.WriteFile(file, []byte(is), 0o644)
}
