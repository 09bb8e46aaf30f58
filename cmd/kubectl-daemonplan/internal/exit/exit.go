// Package exit has the exit codes of the command: what they mean, and which errors have which.
package exit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// These are the exit codes. They are those of kubectl diff, whose 1 is an answer, too: whatever keeps the command from giving an
// answer is 2, so that a script can tell a negative answer from none.
const (
	// OK: there is an answer.
	OK = 0
	// Negative: there is an answer, and it is the one that a pipeline stops for. [Table] says which that is for each command.
	Negative = 1
	// Failed: there is no answer. The arguments or what was read is wrong, the cluster cannot be read, or the output cannot be
	// written.
	Failed = 2
)

// NegativeError is the error of a command whose answer is negative. Nobody has made a mistake, and standard output has the
// answer.
type NegativeError struct {
	// Reason is why the answer is negative, one reason to a line; empty: the answer itself says it.
	Reason string
}

// Error is the reason.
func (e *NegativeError) Error() string { return e.Reason }

// Code is the exit code for the error of a command: OK for nil, Negative if a *NegativeError is in its tree, else Failed.
func Code(err error) int {
	if err == nil {
		return OK
	}
	if _, negative := errors.AsType[*NegativeError](err); negative {
		return Negative
	}
	return Failed
}

// Row says when commands exit with 0 and with 1.
type Row struct {
	// Commands are the names of the commands, without that of the program; empty: all others.
	Commands []string
	// OK and Negative are when the code is 0 and 1; an empty Negative: never.
	OK, Negative string
}

// Table has the exit codes of all commands. Help and README.md show it.
var Table = []Row{
	{[]string{"diff"}, "the update changes no pod", "it changes pods, by a restart or in place"},
	{
		[]string{"rollout status"}, "the rollout is complete, or goes on by itself",
		"it goes on only when somebody acts: stuck, paused, frozen, OnDelete, an approval is missing, or its canary failed",
	},
	{
		[]string{"watch"}, "the rollout is complete; on a terminal: a key ended the watch",
		"somebody has to act, no node gets ready for too long, the cluster is lost, the set is deleted, or it is interrupted",
	},
	{
		[]string{"simulate", "forecast", "merge"}, "every run came to its end, and no condition of --fail-if holds",
		"a run got stuck, was not done by --until or broke an invariant, or a condition holds",
	},
	{[]string{"policy lint"}, "all manifests are valid", "one has a mistake"},
	{[]string{"suggest"}, "a value meets the deadline", "none does"},
	{[]string{"study"}, "the study was made; a run that got stuck is a finding", "a run broke an invariant"},
	{nil, "there is an answer, whatever it is", ""},
}

// FailedText is when the exit code of any command is 2.
const FailedText = "the arguments or what was read is wrong, the cluster cannot be read, or the output cannot be written"

// Help is the section about the exit codes of a command, for its help; empty: it is among all others.
func Help(command string) string {
	for _, row := range Table {
		if slices.Contains(row.Commands, command) {
			return "Exit codes:\n" + row.lines("  ") + "  2  " + FailedText
		}
	}
	return ""
}

// HelpAll is the section about the exit codes of all commands, for the help of the program.
func HelpAll() string {
	var out strings.Builder
	out.WriteString("Exit codes:\n")
	for _, row := range Table {
		fmt.Fprintf(&out, "  %s\n%s", cmp.Or(strings.Join(row.Commands, ", "), "all others"), row.lines("    "))
	}
	fmt.Fprintf(&out, "  each of them\n    2  %s", FailedText)
	return out.String()
}

func (r *Row) lines(indent string) string {
	lines := indent + "0  " + r.OK + "\n"
	if r.Negative != "" {
		lines += indent + "1  " + r.Negative + "\n"
	}
	return lines
}
