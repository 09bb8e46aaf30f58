package transcript

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// verb is one word of the language.
type verb struct {
	name string
	// shows: it changes nothing, so that what was planned before it is still what would be planned.
	shows bool
	// plays: it makes plans and executes them.
	plays bool
	does  func(*stage, *arguments) error
}

// commands lists the language, in the order in which the package's documentation explains it.
func commands() []verb {
	return []verb{
		{name: "cluster", does: (*stage).newCluster},
		{name: "apply", does: (*stage).applySet},
		{name: "spec", does: (*stage).changeSpec},
		{name: "edit", does: (*stage).edit},
		{name: "annotate", does: (*stage).annotate},
		{name: "settings", does: (*stage).settings},
		{name: "command", does: (*stage).command},
		{name: "approve", does: (*stage).approve},
		{name: "expedite", does: (*stage).expedite},
		{name: "retry", does: (*stage).retry},
		{name: "kubectl", does: (*stage).kubectl},
		{name: "objects", does: (*stage).objects},
		{name: "takeover", does: (*stage).takeover},

		{name: "fleet", does: (*stage).fleet},
		{name: "node", does: (*stage).node},
		{name: "behave", does: (*stage).behave},
		{name: "forget", does: (*stage).forget},

		{name: "ready", does: onPod("ready")},
		{name: "unready", does: onPod("unready")},
		{name: "fail", does: onPod("fail")},
		{name: "crash", does: onPod("crash")},
		{name: "evict", does: onPod("evict")},
		{name: "pod", does: (*stage).pod},

		{name: "step", plays: true, does: (*stage).step},
		{name: "run", plays: true, does: (*stage).run},
		{name: "ramp", plays: true, does: (*stage).ramp},
		{name: "install", plays: true, does: (*stage).install},
		{name: "tick", does: (*stage).advance},

		{name: "status", does: (*stage).status},
		{name: "explain", does: (*stage).explain},
		{name: "pods", shows: true, does: (*stage).pods},
		{name: "patches", does: (*stage).patches},
		{name: "diff", does: (*stage).diff},
		{name: "canary", does: (*stage).canary},
		{name: "parts", does: (*stage).parts},
		{name: "marks", shows: true, does: (*stage).marks},

		{name: "expect", shows: true, does: (*stage).expect},
	}
}

// synonyms are other names of commands.
func synonyms() map[string]string {
	return map[string]string{"manifest": "apply", "advance": "tick"}
}

// do plays one command.
func (s *stage) do(line string) error {
	line, text, hasText := strings.Cut(line, "\n")
	if hasText {
		line = strings.TrimSuffix(line, heredoc)
		text = strings.TrimSuffix(text, endOfText)
	}
	s.text = text
	a := words(line)
	name := a.next()
	if other, ok := synonyms()[name]; ok {
		name = other
	}
	all := commands()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	switch {
	case i < 0:
		return errors.New("there is no command of that name")
	case s.cluster == nil && name != "cluster":
		return errors.New("there is no cluster yet")
	}
	if !all[i].shows && (name != "fleet" || len(a) > 0) {
		s.shown = nil
	}
	if all[i].plays {
		s.made = nil
	}
	if err := all[i].does(s, &a); err != nil {
		return err
	}
	if s.text != "" {
		return errors.New("this command takes no text")
	}
	return a.rest()
}

// words splits a command at spaces. What is in double quotes stays together, quotes included; where they do not pair, they
// mean nothing.
func words(line string) arguments {
	var list arguments
	var word strings.Builder
	quoted := false
	for i, r := range line {
		switch {
		case r == '"' && (i == 0 || line[i-1] != '\\'):
			quoted = !quoted
			word.WriteRune(r)
		case (r == ' ' || r == '\t') && !quoted:
			if word.Len() > 0 {
				list = append(list, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(r)
		}
	}
	if quoted {
		return strings.Fields(line)
	}
	if word.Len() > 0 {
		list = append(list, word.String())
	}
	return list
}

// unquoted is a word without the quotes around it.
func unquoted(word string) string {
	if text, err := strconv.Unquote(word); err == nil {
		return text
	}
	return word
}
