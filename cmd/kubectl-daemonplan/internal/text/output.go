package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// These are formats that programs read.
const (
	outputJSON     = "json"
	outputYAML     = "yaml"
	outputJSONPath = "jsonpath="
)

// Output is the flag --output of a command: one of its formats, or jsonpath=TEMPLATE where it has JSON. Every command has it from
// here.
type Output struct {
	format   string // as it was given
	standard string // without the flag
	formats  []string
	template *jsonpath.JSONPath // nil: the format is another one
}

// Flag adds the flag to a command that has these formats. Standard is the format without the flag; empty: one that has no name,
// which usage tells of. Completion offers the formats.
func (o *Output) Flag(c *cobra.Command, usage, standard string, formats ...string) {
	o.standard, o.formats = standard, formats
	if slices.Contains(formats, outputJSON) {
		o.formats = append(slices.Clip(formats), outputJSONPath)
	}
	c.Flags().StringVarP(&o.format, "output", "o", standard, usage)
	complete := cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("output", complete) // the flag is there
}

// Check says what is wrong with the flag; nil: nothing. It has to be called before the other methods.
func (o *Output) Check() error {
	template, isPath := strings.CutPrefix(o.format, outputJSONPath)
	switch {
	case isPath && slices.Contains(o.formats, outputJSONPath):
		o.template = jsonpath.New("output").AllowMissingKeys(true) // as kubectl get does
		if err := o.template.Parse(template); err != nil {
			return fmt.Errorf("--output %s: %w; it is a template such as jsonpath='{.name}'", Printable(o.format), err)
		}
		if template == "" {
			return fmt.Errorf("--output %s: the template is empty; it is one such as jsonpath='{.name}'", o.format)
		}
		return nil
	case o.format == o.standard || o.format != outputJSONPath && slices.Contains(o.formats, o.format):
		return nil
	}
	words := slices.Clone(o.formats)
	for i, word := range words {
		if word == outputJSONPath {
			words[i] = "jsonpath=TEMPLATE"
		}
	}
	list := words[0]
	if last := len(words) - 1; last > 0 {
		list = strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return fmt.Errorf("--output %s: must be %s", cmp.Or(Printable(o.format), `""`), list)
}

// Is reports whether the format is this one.
func (o *Output) Is(format string) bool { return o.format == format }

// IsData reports whether the answer is a document, which [Output.Print] prints.
func (o *Output) IsData() bool { return o.template != nil || o.Is(outputJSON) || o.Is(outputYAML) }

// Print prints a document in the format. What a terminal might obey is escaped in each of them: see [JSON] and [Printable].
func (o *Output) Print(out io.Writer, document any) error {
	data, err := JSON(document)
	switch {
	case err != nil:
		return err
	case o.template != nil:
		return o.execute(out, data)
	case o.Is(outputYAML):
		data, err = yaml.JSONToYAML(data)
	default:
		data = append(data, '\n')
	}
	if err == nil {
		_, err = out.Write(data)
	}
	return err
}

// execute prints what the template makes of JSON. Like kubectl, it adds no line break.
func (o *Output) execute(out io.Writer, data []byte) error {
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	var printed strings.Builder
	if err := o.template.Execute(&printed, escaped(document)); err != nil {
		return fmt.Errorf("--output %s: %w", Printable(o.format), err)
	}
	_, err := io.WriteString(out, printed.String())
	return err
}

// escaped makes all texts of a document printable. What the template itself has, line breaks above all, stays as it is.
func escaped(document any) any {
	switch value := document.(type) {
	case string:
		return Printable(value)
	case []any:
		for i := range value {
			value[i] = escaped(value[i])
		}
	case map[string]any:
		printable := make(map[string]any, len(value))
		for key, below := range value {
			printable[Printable(key)] = escaped(below)
		}
		return printable
	}
	return document
}
