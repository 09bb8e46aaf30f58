package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// script is a parsed transcript.
type script struct {
	header  []string
	stanzas []stanza
}

// stanza is one step of the story.
type stanza struct {
	line      int // of its first narration line, from 1
	narration []string
	commands  []string // each with its text, if it has one
	output    []string // what the commands print, as soon as they were played
}

// String is the text of the transcript, with the outputs that the stanzas have now.
func (s *script) String() string {
	blocks := []string{strings.Join(s.header, "\n")}
	for i := range s.stanzas {
		st := &s.stanzas[i]
		lines := slices.Concat(st.narration, st.commands, []string{separator}, st.output)
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

// parse reads a transcript. Its error begins with the number of the line that it is about.
func parse(text string) (*script, error) {
	parsed := &script{}
	line := 1
	for i, block := range strings.Split(strings.TrimSuffix(text, "\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		if i == 0 {
			if rest := narration(lines); len(rest) > 0 || wordless(lines) {
				return nil, errors.New("1: a transcript begins with comment lines of their own that say what it shows")
			}
			parsed.header = lines
		} else {
			st, err := parseStanza(lines, line)
			if err != nil {
				return nil, err
			}
			parsed.stanzas = append(parsed.stanzas, st)
		}
		line += len(lines) + 1
	}
	if len(parsed.stanzas) == 0 {
		return nil, fmt.Errorf("%d: a transcript has at least one stanza", line)
	}
	return parsed, nil
}

func parseStanza(lines []string, line int) (stanza, error) {
	rest := narration(lines)
	st := stanza{line: line, narration: lines[:len(lines)-len(rest)]}
	if wordless(st.narration) {
		return stanza{}, fmt.Errorf("%d: a stanza begins with a comment that says why", line)
	}
	for i := 0; i < len(rest); i++ {
		text := rest[i]
		switch {
		case text == separator && len(st.commands) == 0:
			return stanza{}, fmt.Errorf("%d: a stanza needs a command", line)
		case text == separator:
			return st, nil // what stands below is what was printed the last time
		case strings.HasPrefix(text, "#"):
			return stanza{}, fmt.Errorf("%d: comments stand before the commands of a stanza", line+len(st.narration)+i)
		case strings.HasSuffix(text, heredoc):
			length := slices.Index(rest[i:], endOfText)
			if length < 0 {
				return stanza{}, fmt.Errorf("%d: the text ends with %s, and holds no blank line",
					line+len(st.narration)+i, endOfText)
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

// wordless tells whether comment lines say nothing.
func wordless(lines []string) bool { return strings.Trim(strings.Join(lines, ""), "# \t") == "" }
