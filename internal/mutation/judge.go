package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// kinds of reasons; doc.go says what each means.
var kinds = []string{"equivalent:", "speed:", "unreachable:", "wording:", "accepted:"}

// judgements say why mutants may live, by their keys.
type judgements map[string]string

// readJudgements reads a file of entries. An entry is one or more keys, each on a line, and below them the reason, indented.
// Lines that begin with # are comments.
func readJudgements(name string) (judgements, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	judged := judgements{}
	var keys []string
	reasoned := false
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, " \r\n")
		reason := strings.TrimSpace(line)
		switch {
		case reason == "" || strings.HasPrefix(line, "#"):
		case line[0] == '\t' || line[0] == ' ':
			if len(keys) == 0 {
				return nil, fmt.Errorf("%s:%d: a reason without a mutant", name, number)
			}
			for _, key := range keys {
				judged[key] = strings.TrimSpace(judged[key] + " " + reason)
			}
			reasoned = true
		default:
			if reasoned {
				keys, reasoned = nil, false
			}
			if _, twice := judged[line]; twice {
				return nil, fmt.Errorf("%s:%d: judged before: %s", name, number, line)
			}
			keys = append(keys, line)
			judged[line] = ""
		}
	}
	for key, reason := range judged {
		if reason == "" {
			return nil, fmt.Errorf("%s: without a reason: %s", name, key)
		}
		if !slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(reason, kind) }) {
			return nil, fmt.Errorf("%s: %s: the reason begins with none of %s", name, key, strings.Join(kinds, " "))
		}
	}
	return judged, nil
}
