package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is a test run as go test -json prints it: "Action Package Test text".
func output(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		word := strings.SplitN(l, " ", 4)
		fmt.Fprintf(&b, `{"Action":%q,"Package":%q`, word[0], word[1])
		if len(word) > 2 && word[2] != "-" {
			fmt.Fprintf(&b, `,"Test":%q`, word[2])
		}
		switch {
		case len(word) > 3 && word[3] == "build failed":
			fmt.Fprintf(&b, `,"FailedBuild":%q`, word[1])
		case len(word) > 3:
			fmt.Fprintf(&b, `,"Output":%q`, word[3]+"\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader(output(
		"start p",
		"run p TestB",
		"output p TestB peersuite asks Plan",
		"run q TestD",
		"run p TestB/two",
		"output p TestB/two peersuite asks Plan",
		"output p TestB/two peersuite asks Claim",
		"output p TestB/two peersuite asks Plan",
		`output p TestB/two peersuite error Plan: "no"`,
		"output p TestB/two     a_test.go:12: I0102 what the controller logs",
		"output p TestB/two     a_test.go:12: Wrong: 1",
		"output p TestB/two         a second line of it",
		"fail p TestB/two",
		"pass q TestD",
		"run p TestB/one",
		"pass p TestB/one",
		"fail p TestB",
		"run p TestA",
		"skip p TestA",
		"fail p",
		"pass q",
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := []*result{
		{in: "p", test: "TestB", outcome: "fail", asks: []string{"Plan"}, subtests: 2},
		{in: "p", test: "TestB/one", outcome: "pass"},
		{
			in: "p", test: "TestB/two", outcome: "fail", asks: []string{"Claim", "Plan"}, errors: []string{`Plan: "no"`},
			said: []string{"Wrong: 1"},
		},
		{in: "p", test: "TestA", outcome: "skip"},
		{in: "q", test: "TestD", outcome: "pass"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("packages together, functions as they ran, subtests by name (-want +got):\n%s", diff)
	}
}

func TestParseFails(t *testing.T) {
	for name, lines := range map[string][]string{
		"does not build":                {"build-output p - a.go:1: wrong", "fail p - build failed"},
		"ended in the middle of a":      {"run p TestA", "fail p"},
		"TestA ends all tests of its p": {"run p TestA", "output p TestA panic: oh", "fail p TestA", "fail p"},
		"two packages have a test":      {"run p TestA", "pass p TestA", "run q TestA"},
		"invalid character 'b' lookin":  nil,
	} {
		text := output(lines...)
		if lines == nil {
			text = "but no JSON"
		}
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
