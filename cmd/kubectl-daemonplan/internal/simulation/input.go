package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// shownName is the name of a file as messages have it.
func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// checkText refuses what is no text, before a parser finds something else wrong with it.
func checkText(name string, data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return fmt.Errorf("%s: the text is UTF-16; it must be UTF-8", shownName(name))
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("%s: line %d: byte %d of the file is no UTF-8; the file must be text in UTF-8",
				shownName(name), lineOf(data, at), at)
		}
		at += size
	}
	return nil
}

// lineOf is the number of the line with the byte at that place.
func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// unparsed explains why a text could not be parsed, if the reason is a common one that parsers have no words for.
func unparsed(data []byte, err error) error {
	if at := bytes.Index(data, []byte("{{")); at >= 0 {
		return fmt.Errorf("line %d has a template ({{ … }}): render it first, as helm template does", lineOf(data, at))
	}
	if at := notFinite.FindIndex(data); at != nil {
		found := bytes.Trim(data[at[0]:at[1]], " \t:,[-")
		return fmt.Errorf("line %d: %s is no number that can be used here; one is 0.5 or 3%%", lineOf(data, at[1]-1), found)
	}
	return err
}

var (
	notFinite = regexp.MustCompile(`[:,\[\s-]\s*[-+]?\.(nan|NaN|NAN|inf|Inf|INF)\b`)
	separator = regexp.MustCompile(`(?m)^---([ \t].*)?$`)
	content   = regexp.MustCompile(`(?m)^\s*[^\s#]`)
)

// documents is how many YAML documents are in the text that are not empty.
func documents(data []byte) int {
	n := 0
	for _, part := range separator.Split(string(data), -1) {
		n += one(content.MatchString(part))
	}
	return n
}

// placed puts the file and the place of the object before each mistake: its document, its item in a list, and its kind and
// name as far as they can be read.
func placed(file string, data []byte, object manifest.Object, err error) error {
	if of, ok := errors.AsType[*manifest.DocumentError](err); ok {
		place := fmt.Sprintf("%s: document %d", file, of.Document)
		if of.Item > 0 {
			place += fmt.Sprintf(", item %d", of.Item)
		}
		return located(place, unparsed(data, of.Err))
	}
	place := fmt.Sprintf("%s: document %d", file, object.Document)
	if object.Item > 0 {
		place += fmt.Sprintf(", item %d", object.Item)
	}
	var named struct {
		Metadata struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object.JSON, &named) // what cannot be read has no name
	if name, ok := named.Metadata.Name.(string); ok {
		namespace, _ := named.Metadata.Namespace.(string)
		if namespace != "" {
			name = namespace + "/" + name
		}
		place += fmt.Sprintf(" (%s %s)", printable(object.Kind), printable(name))
	} else if object.Kind != "" {
		place += fmt.Sprintf(" (%s)", printable(object.Kind))
	}
	return located(place, err)
}

// outdatedAPI is the mistake of a DaemonSet of an API group that clusters no longer serve; nil: it is none.
func outdatedAPI(object manifest.Object) error {
	if object.Kind == "DaemonSet" && (object.APIVersion == "extensions/v1beta1" || object.APIVersion == "apps/v1beta2") {
		return fmt.Errorf("apiVersion: a DaemonSet of %s is not served any more: convert it to apps/v1", object.APIVersion)
	}
	return nil
}
