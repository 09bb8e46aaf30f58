package simulation

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/studies"
)

// studyFile has the flags of simulate, one to a line.
const studyFile = "study.txt"

const studyLong = `Run a study that is ready made: simulate with the files and flags of its directory under
cmd/kubectl-daemonplan/studies, where a README tells what comes out. Without a name, list the studies.`

const studyExample = `  kubectl daemonplan study
  kubectl daemonplan study slow-registry --out report`

func (p *program) studyCommand() *cobra.Command {
	var out output
	var scale float64
	var seed uint64
	var seeds int
	c := &cobra.Command{
		Use: "study [NAME]", Short: "Run a study that is ready made", Long: studyLong, Example: studyExample,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.listStudies()
			}
			if len(args) > 1 {
				return fmt.Errorf("unexpected argument %q: run one study at a time", args[1])
			}
			q, f, err := study(args[0])
			if err != nil {
				return err
			}
			line := command + " study " + args[0]
			c.Flags().Visit(func(flag *pflag.Flag) {
				switch flag.Name {
				case "scale":
					q.Scale = scale
				case "seed":
					q.Seed = seed
				case "seeds":
					q.Seeds = seeds
				default:
					return
				}
				line += " --" + flag.Name + " " + quoted(flag.Value.String())
			})
			e, outcomes, err := p.run(q, f, out, line)
			if err != nil {
				return err
			}
			p.tellWhose(e)
			printTable(p.Stdout, outcomes) // a run that gets stuck in a study is a finding, and no failure
			p.tellDerived(e)
			return nil
		},
	}
	c.Flags().SortFlags = false
	c.Flags().Float64Var(&scale, "scale", 1, "take this `share` of the nodes only, such as 0.1")
	c.Flags().Uint64Var(&seed, "seed", 0, "another `SEED` than that of the study")
	c.Flags().IntVar(&seeds, "seeds", 0, "make `N` runs of each spec")
	out.flags(c)
	return c
}

// study reads the flags of a study.
func study(name string) (*question, *objects.Files, error) {
	dir, err := fs.Sub(studies.FS, name)
	if err != nil || !fs.ValidPath(name) || name == "." {
		return nil, nil, unknownStudy(name)
	}
	text, err := fs.ReadFile(dir, studyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, unknownStudy(name)
	}
	if err != nil {
		return nil, nil, err
	}
	readme, err := fs.ReadFile(dir, "README.md")
	if err != nil {
		return nil, nil, err
	}
	q := &question{defaultSeeds: 1, Study: readStudy(name, string(readme))}
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	q.flags(flags)
	if err := flags.Parse(strings.Fields(string(text))); err != nil {
		return nil, nil, fmt.Errorf("studies/%s/%s: %w", name, studyFile, err)
	}
	return q, &objects.Files{FS: dir}, nil
}

// studyText is what the page says of a study.
type studyText struct {
	// Finding is the paragraph of the README that says what came out.
	Name, Title, Finding string
}

// readStudy takes the title and the finding from a README.
func readStudy(name, readme string) studyText {
	text := studyText{Name: name}
	for paragraph := range strings.SplitSeq(readme, "\n\n") {
		if title, ok := strings.CutPrefix(paragraph, "# "); ok && text.Title == "" {
			text.Title = strings.TrimSpace(title)
		}
		if finding, ok := strings.CutPrefix(paragraph, "**Finding.**"); ok {
			plain := strings.NewReplacer("`", "", "*", "").Replace(finding)
			text.Finding = strings.Join(strings.Fields(plain), " ")
		}
	}
	return text
}

func unknownStudy(name string) error {
	return fmt.Errorf("there is no study %s; there are: %s", text.Printable(name), strings.Join(studyNames(), ", "))
}

func studyNames() []string {
	entries, err := studies.FS.ReadDir(".")
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// listStudies prints each study with the title of its README.
func (p *program) listStudies() error {
	var rows [][]string
	for _, name := range studyNames() {
		text, err := fs.ReadFile(studies.FS, name+"/README.md")
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, readStudy(name, string(text)).Title})
	}
	for _, row := range rows {
		fmt.Fprintf(p.Stdout, "%-22s %s\n", row[0], row[1])
	}
	return nil
}
