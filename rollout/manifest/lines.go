package manifest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// node is a value in a YAML text that knows its line, so that a mistake in a text within a text can be found.
type node struct{ *yaml.Node }

// onlyDocument parses a text with one document; nil: there is none, but space and comments. The parser that makes JSON of the
// text reads the first document, and says nothing of what follows.
func onlyDocument(text string) (node, error) {
	var only node
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return only, nil
		case err != nil:
			return node{}, err
		}
		for _, content := range document.Content {
			if content.Tag == "!!null" {
				continue
			}
			if only.Node != nil {
				return node{}, fmt.Errorf("line %d: another document begins here, and there must be only one", content.Line)
			}
			only = node{content}
		}
	}
}

// keysGivenTwice finds the keys that are there more than once in the same mapping. The parser that makes JSON of the text does
// not say where that mapping is.
func (n node) keysGivenTwice(path *field.Path) field.ErrorList {
	if n.Node == nil {
		return nil
	}
	var errs field.ErrorList
	switch n.Kind {
	case yaml.MappingNode:
		lines := make(map[string]int)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			below := path.Child(key.Value)
			if line, found := lines[key.Value]; found && key.Kind == yaml.ScalarNode {
				errs = append(errs, field.Forbidden(below, fmt.Sprintf("%s (lines %d and %d of it)", mustBeOnce, line, key.Line)))
			}
			lines[key.Value] = key.Line
			errs = append(errs, node{n.Content[i+1]}.keysGivenTwice(below)...)
		}
	case yaml.SequenceNode:
		for i := range n.Content {
			errs = append(errs, node{n.Content[i]}.keysGivenTwice(path.Index(i))...)
		}
	default: // nothing is below it
	}
	return errs
}

// mention says in which line the value at a path below the node is, as the end of a sentence; "" if that is not found.
func (n node) mention(path string) string {
	if line := n.line(path); line > 0 {
		return fmt.Sprintf(" (line %d of it)", line)
	}
	return ""
}

// line is where the value at a path below the node begins, or its key if it has one; 0: there is no such value.
func (n node) line(path string) int {
	if n.Node == nil {
		return 0
	}
	if path == "" {
		return n.Line
	}
	switch n.Kind {
	case yaml.AliasNode:
		return node{n.Alias}.line(path)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			for _, step := range [...]string{"." + key.Value, "[" + key.Value + "]"} {
				rest, found := strings.CutPrefix(path, step)
				switch {
				case !found:
				case rest == "":
					return key.Line
				default:
					if line := (node{n.Content[i+1]}).line(rest); line > 0 {
						return line
					}
				}
			}
		}
	case yaml.SequenceNode:
		for i := range n.Content {
			if rest, found := strings.CutPrefix(path, fmt.Sprintf("[%d]", i)); found {
				return node{n.Content[i]}.line(rest)
			}
		}
	default: // nothing is below it
	}
	return 0
}
