package cli

import (
	"strings"
	"testing"
)

// TestNoHeaders compares each table with the same without its header: the rows are equal, and all other lines are on standard error.
func TestNoHeaders(t *testing.T) {
	warned := join(smallSet, smallNode, hashedPod()) // of a revision that is not stored
	for _, c := range []struct {
		args   []string
		stdin  string
		header string
	}{
		{[]string{"get", "--example", "eds"}, "", "NAME "},
		{[]string{"revisions", "--example", "eds"}, "", "NAME "},
		{[]string{"pods", "--example", "kubernetes"}, "", "NODE "},
		{[]string{"canary", "pods", "--example", "eds"}, "", "NODE "},
		{[]string{"plan", "-o", "wide", "--example", "kruise"}, "", "NODE "},
		{[]string{"pods", "-f", "-"}, warned, "NODE "},
		{[]string{"pods", "-f", "-"}, join(smallSet, smallNode), ""}, // none
	} {
		all := plans(t, c.stdin, c.args...)
		want := ""
		if c.header != "" {
			_, table, _ := strings.Cut("\n"+all, "\n"+c.header)
			_, want, _ = strings.Cut(table, "\n")
			want, _, _ = strings.Cut(want, "Warning: ")
		}
		code, stdout, stderr := call(c.stdin, append(c.args, "--no-headers")...)
		if code != 0 || stdout != want || (want == "") != (c.header == "") {
			t.Errorf("%q: exit code %d, got\n%s\nwant\n%s", c.args, code, stdout, want)
		}
		for line := range strings.Lines(stderr) {
			if !strings.Contains(all, line) {
				t.Errorf("%q: standard error has %q", c.args, line)
			}
		}
		if warning := "Warning: "; strings.Contains(all, warning) && !strings.Contains(stderr, warning) {
			t.Errorf("%q: the warning is lost: %s", c.args, stderr)
		}
	}
	if _, _, stderr := call(warned, "pods", "-f", "-", "--no-headers"); !strings.HasPrefix(stderr, "1 pod is not ready.\nWarning: ") {
		t.Errorf("standard error %q", stderr)
	}
}

func TestJSONPath(t *testing.T) {
	for template, want := range map[string]string{
		"{.name} {.budget.burst}":                                "node-agent 250",
		`{range .revisions[*]}{.number}{"\t"}{.name}{"\n"}{end}`: "2\tnode-agent-65f7bf6c94\n1\tnode-agent-78f94887bb\n",
		"{.nothing}": "",
	} {
		if got := plans(t, "", "plan", "--example", "kubernetes", "-o", "jsonpath="+template); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
	if got := plans(t, join(smallSet, evilNode), "plan", "-f", "-", "-o", `jsonpath={range .nodes[*]}{.node}{"\n"}{end}`); got != `a\x1b[31m\nb`+"\n" {
		t.Errorf("raw text of the input: %q", got)
	}
	code, stdout, stderr := call("", "plan", "--example", "kubernetes", "-o", "jsonpath={.nodes[99999]}")
	if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: --output jsonpath={.nodes[99999]}: array index out of bounds") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}
