package simulation

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// check is something that a pipeline judges: that the runs of a policy come to their end, or a gate about them.
type check struct {
	// Policy is the label of the policy, and Name what is judged: comesToItsEnd, or the condition as --fail-if has it.
	Policy, Name string
	// Message is in a line why it failed, with the figure, its unit and the limit; empty: it passed.
	Message string
	// Reasons are the same for standard error, one to a line.
	Reasons []string
	// Broken reports whether a run broke an invariant, so that there is no figure.
	Broken bool
}

// comesToItsEnd is the name of the check that no run got stuck, or was not done in time.
const comesToItsEnd = "the rollout comes to its end"

// tellCI writes what the flags and the environment ask for about the checks: the file of --junit, and annotations of GitHub.
// Command is the subcommand.
func (p *program) tellCI(form *format, command string, checks []check) error {
	p.annotate(command, checks)
	if form.JUnit == "" {
		return nil
	}
	data, err := junitOf(command, checks)
	if err != nil {
		return err
	}
	if err := os.WriteFile(form.JUnit, data, 0o644); err != nil {
		return fmt.Errorf("--junit %w", objects.Reading(form.JUnit, err))
	}
	return nil
}

// These are the elements of a JUnit file that programs which read such files agree on. A policy is a suite, and a check a case of
// it. There are no times: those of the rollout are virtual, and those of the machine differ from run to run.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junitOf is the JUnit file about the checks, which are in the order of their policies.
func junitOf(command string, checks []check) ([]byte, error) {
	all := junitSuites{Name: "kubectl daemonplan " + command}
	for i := range checks {
		c := &checks[i]
		policy := text.Printable(c.Policy)
		if i == 0 || c.Policy != checks[i-1].Policy {
			all.Suites = append(all.Suites, junitSuite{Name: policy})
		}
		suite := &all.Suites[len(all.Suites)-1]
		one := junitCase{Class: policy, Name: text.Printable(c.Name)}
		for _, counts := range []*junitCounts{&all.junitCounts, &suite.junitCounts} {
			counts.count(c)
		}
		switch {
		case c.Broken:
			one.Error = c.junitMessage()
		case c.Message != "":
			one.Failure = c.junitMessage()
		}
		suite.Cases = append(suite.Cases, one)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}

func (n *junitCounts) count(c *check) {
	n.Tests++
	switch {
	case c.Broken:
		n.Errors++
	case c.Message != "":
		n.Failures++
	}
}

func (c *check) junitMessage() *junitMessage {
	var lines []string
	for _, reason := range c.Reasons {
		lines = append(lines, text.Printable(reason))
	}
	return &junitMessage{Message: text.Printable(c.Message), Text: strings.Join(lines, "\n")}
}

// These are the escapes of GitHub's workflow commands: those of messages, and those of properties, in which a colon or a comma
// would end the value.
var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotate prints an annotation for each check that failed, where a workflow of GitHub Actions runs the command. It is on
// standard error, of which GitHub takes annotations, too: standard output may be a document for the next command.
func (p *program) annotate(command string, checks []check) {
	if p.variable("GITHUB_ACTIONS") != "true" {
		return
	}
	for i := range checks {
		c := &checks[i]
		if c.Message == "" {
			continue
		}
		title := fmt.Sprintf("kubectl daemonplan %s: %s", command, c.Name)
		fmt.Fprintf(p.Stderr, "::error title=%s::%s\n", githubProperty.Replace(text.Printable(title)),
			githubMessage.Replace(text.Printable(c.Policy+": "+c.Message)))
	}
}
