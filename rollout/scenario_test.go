package rollout_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateScenarios = flag.Bool("update", false, "rewrite the expected outputs in testdata/scenarios; read the diff before you commit it")

// TestScenario plays the narrated transcripts in testdata/scenarios: each is one story of a set on a small cluster,
// told by commands, with what the planner answers written below each. A difference fails; with -update the answers
// are written into the files instead.
//
// A transcript begins with a header: comment lines that say what the story shows and by which rules. Then come
// stanzas, separated by blank lines:
//
//	# Why this happens. A stanza without this line is refused.
//	command argument key=value
//	another command
//	----
//	what the commands print
//
// A command may end in <<EOF; then the lines up to one that is EOF are a text for it, such as a manifest, in which there
// are no blank lines. The commands are methods of stage.
func TestScenario(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found (error: %v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(data)
			got, err := playTranscript(want)
			if err != nil {
				t.Fatalf("%s:%v", file, err)
			}
			if got == want {
				return
			}
			if *updateScenarios {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: what is planned differs from what is written (-want +got); -update rewrites it:\n%s", file,
				cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		})
	}
}

// playTranscript plays a transcript and returns it with the outputs that its commands print. An error begins with the
// line it is about.
func playTranscript(text string) (string, error) {
	script, err := parseTranscript(text)
	if err != nil {
		return "", err
	}
	s := &stage{}
	for i := range script.stanzas {
		st := &script.stanzas[i]
		st.output = nil
		line := st.line + len(st.narration)
		for _, command := range st.commands {
			if err := s.do(command); err != nil {
				return "", fmt.Errorf("%d: %s: %w", line, firstLine(command), err)
			}
			line += 1 + strings.Count(command, "\n")
		}
		st.output = s.printed()
	}
	return script.String(), nil
}

// transcript is a parsed script.
type transcript struct {
	header  []string
	stanzas []stanza
}

// stanza is one step of the story.
type stanza struct {
	line      int // of its first narration line, from 1
	narration []string
	commands  []string // each with its text, if it has one
	output    []string
}

// String is the text of the transcript: that which was parsed, if it was in normal form.
func (s *transcript) String() string {
	blocks := []string{strings.Join(s.header, "\n")}
	for i := range s.stanzas {
		st := &s.stanzas[i]
		lines := append(append(append(append([]string(nil), st.narration...), st.commands...), separator), st.output...)
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

const (
	separator = "----"
	// A command that ends in heredoc has a text, which ends before the line endOfText.
	heredoc   = " <<" + endOfText
	endOfText = "EOF"
)

func firstLine(command string) string {
	line, _, _ := strings.Cut(command, "\n")
	return line
}

// citation is the number of a rule or an invariant.
var citation = regexp.MustCompile(`\b[PRMTBILDCSV]\d+\b`)

func parseTranscript(text string) (*transcript, error) {
	script := &transcript{}
	line := 1
	for i, block := range strings.Split(strings.TrimSuffix(text, "\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		if i == 0 {
			if rest := narration(lines); len(rest) > 0 || !citation.MatchString(block) {
				return nil, fmt.Errorf("1: a transcript begins with comment lines of their own that cite the rules it shows")
			}
			script.header = lines
		} else {
			st, err := parseStanza(lines, line)
			if err != nil {
				return nil, err
			}
			script.stanzas = append(script.stanzas, st)
		}
		line += len(lines) + 1
	}
	if len(script.stanzas) == 0 {
		return nil, fmt.Errorf("%d: a transcript has at least one stanza", line)
	}
	return script, nil
}

func parseStanza(lines []string, line int) (stanza, error) {
	rest := narration(lines)
	st := stanza{line: line, narration: lines[:len(lines)-len(rest)]}
	if strings.Trim(strings.Join(st.narration, ""), "# \t") == "" {
		return stanza{}, fmt.Errorf("%d: a stanza begins with a comment that says why", line)
	}
	for i := 0; i < len(rest); i++ {
		text := rest[i]
		switch {
		case text == separator && len(st.commands) == 0:
			return stanza{}, fmt.Errorf("%d: a stanza needs a command", line)
		case text == separator:
			st.output = rest[i+1:]
			return st, nil
		case strings.HasPrefix(text, "#"):
			return stanza{}, fmt.Errorf("%d: comments stand before the commands of a stanza", line+len(st.narration)+i)
		case strings.HasSuffix(text, heredoc):
			length := slices.Index(rest[i:], endOfText)
			if length < 0 {
				return stanza{}, fmt.Errorf("%d: the text ends with %s, and holds no blank line", line+len(st.narration)+i, endOfText)
			}
			text = strings.Join(rest[i:i+length+1], "\n")
			i += length
		}
		st.commands = append(st.commands, text)
	}
	return stanza{}, fmt.Errorf("%d: the commands of a stanza end with %s", line, separator)
}

// narration returns what follows the leading comment lines.
func narration(lines []string) (rest []string) {
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		lines = lines[1:]
	}
	return lines
}

// TestScenarioFaults holds the runner to its word: a transcript that breaks the form, or asks for what there is not,
// must not pass for one without differences.
func TestScenarioFaults(t *testing.T) {
	object := func(name string) string {
		return "<<EOF\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: " + name + "}\nspec:\n" +
			"  selector: {matchLabels: {app: " + name + "}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:\n" +
			"      containers: [{name: main, image: a}]\nEOF\n"
	}
	apply := func(name string) string { return "manifest " + object(name) }
	takeover := func(name string) string { return "takeover " + object(name) }
	const begin = "# Placement (P2).\n\n# One node.\ncluster nodes=a\n----\n\n"
	tests := []struct{ name, why, text, want string }{
		{"empty", "nothing is told", "", "1: a transcript begins with"},
		{"no header", "the first stanza is no header", "# One node (P2).\ncluster nodes=a\n----\n", "1: a transcript begins with"},
		{"no rule", "a story without a rule shows nothing", "# Placement.\n\n# Why.\nstatus\n----\n", "1: a transcript begins with"},
		{"only a header", "there is nothing to play", "# Placement (P2).\n", "3: a transcript has at least one stanza"},
		{"no narration", "the reason is mandatory", begin + "status\n----\n", "7: a stanza begins with a comment"},
		{"blank narration", "a hash alone is no reason", begin + "# \nstatus\n----\n", "7: a stanza begins with a comment"},
		{"no command", "a reason for nothing", begin + "# Why.\n----\n", "7: a stanza needs a command"},
		{"no separator", "commands and output could not be told apart", begin + "# Why.\nstatus\n", "7: the commands of a stanza end"},
		{"late comment", "the reason comes first", begin + "# Why.\nstatus\n# Why.\n----\n", "9: comments stand before"},
		{"dangling comment", "it belongs to no stanza", begin + "# Why.\n\n# Why.\nstatus\n----\n", "7: the commands of a stanza end"},
		{"unknown command", "a typo must not pass as an empty output", begin + "# Why.\nfly\n----\n", "8: fly: there is no command"},
		{"unknown argument", "a typo must not pass as a default", begin + "# Why.\nspec imgae=v2\n----\n", "8: spec imgae=v2: unknown argument imgae=v2"},
		{"superfluous argument", "as above", begin + "# Why.\nstep a\n----\n", "8: step a: unknown argument a"},
		{"unknown node", "nothing would happen", begin + "# Why.\nnode remove b\n----\n", "8: node remove b: there is no node b"},
		{"unknown pod", "nothing would happen", begin + "# Why.\npod delete a\n----\n", "8: pod delete a: 0 pods"},
		{"bad spec", "the planner refuses it", begin + "# Why.\nspec maxUnavailable=0\n----\n", "8: spec maxUnavailable=0: cluster: spec.strategy"},
		{"bad duration", "time must pass", begin + "# Why.\nadvance soon\n----\n", "8: advance soon: time: invalid duration"},
		{"open text", "the rest of the stanza would be swallowed", begin + "# Why.\nmanifest <<EOF\nkind: DaemonSet\n----\n", "8: the text ends with EOF"},
		{"text for no one", "it would be ignored", begin + "# Why.\nstatus <<EOF\na\nEOF\n----\n", "8: status <<EOF: this command takes no text"},
		{"no text", "a manifest is wanted", begin + "# Why.\nmanifest\n----\n", "8: manifest: the command wants a text"},
		{"line after a text", "texts have lines too", begin + "# Why.\nobjects <<EOF\nkind: Pod\nmetadata: {name: p, uid: u}\nEOF\nfly\n----\n", "12: fly: there is no command"},
		{"object of a wrong kind", "it would be left out", begin + "# Why.\nobjects <<EOF\nkind: Job\nEOF\n----\n", "8: objects <<EOF: a Job is neither"},
		{"bad quantity", "it is no amount", begin + "# Why.\nspec limits=cpu\n----\n", "8: spec limits=cpu: limits: cpu must be"},
		{"nothing to edit", "there is no object", begin + "# Why.\nedit a=b\n----\n", "8: edit a=b: no manifest was applied yet"},
		{"nothing to edit there", "a typo must not add a field", begin + "# Why.\n" + apply("a") + "edit spec.template.spec.containers.1.image=b\n----\n",
			"19: edit spec.template.spec.containers.1.image=b: spec.template.spec.containers.1.image: there is no 1"},
		{"no pair", "nothing would change", begin + "# Why.\n" + apply("a") + "edit spec\n----\n", "19: edit spec: spec must be path=value"},
		{"no canary", "nobody would obey", begin + "# Why.\ncommand pause=r1\n----\n", "8: command pause=r1: the set has no canary"},
		{"no plugin", "kubectl knows more than we do", begin + "# Why.\nkubectl get ds\n----\n", "8: kubectl get ds: only the plugin eds"},
		{"no command of the plugin", "a typo must not do nothing", begin + "# Why.\nkubectl eds melt\n----\n", "8: kubectl eds melt: "},
		{"no reason to wait", "nothing would wait", begin + "# Why.\nbehave waiting=v2\n----\n", "8: behave waiting=v2: v2 must be image:reason"},
		{"half a slow start", "it has three parts", begin + "# Why.\nspec slowStart=1m\n----\n", "8: spec slowStart=1m: slowStart: 1m must be"},
		{"nothing to crash", "a pod that has Failed runs no container", begin + "# Why.\ninstall\npod fail a\npod crash a\n----\n",
			"10: pod crash a: the pod does not run"},
		{"takeover by itself", "there is nothing to take over", begin + "# Why.\n" + takeover("a") + takeover("a") + "----\n",
			"19: takeover <<EOF: this is the set that there is"},
		{"two pods", "that is what a takeover must not do", begin + "# Why.\ninstall\n" + takeover("b") + "run\n----\n",
			"20: run: node a holds 2 pods"},
		{"no cluster", "there is nothing to plan for", "# Placement (P2).\n\n# Why.\nstep\n----\n", "4: step: there is no cluster yet"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			_, err := playTranscript(tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that begins with %q: %s", err, tt.want, tt.why)
			}
		})
	}
}

// TestScenarioDifference: an output that is not what is planned is found, and one that is stays as it is.
func TestScenarioDifference(t *testing.T) {
	const script = "# Placement (P2).\n\n# One node.\ncluster nodes=a\n----\n\n# A pod is missing (M1).\nstep\n----\ndelete everything\n"
	played, err := playTranscript(script)
	if err != nil {
		t.Fatal(err)
	}
	if played == script || !strings.Contains(played, "create on a") || strings.Contains(played, "everything") {
		t.Errorf("the wrong output was not replaced by the right one:\n%s", played)
	}
	again, err := playTranscript(played)
	if err != nil || again != played {
		t.Errorf("the rewritten transcript is not stable (error %v):\n%s", err, cmp.Diff(played, again))
	}
}
