package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// question holds the flags: which specs, on which fleet, in which world.
type question struct {
	Fleet string
	Nodes int
	Zones []string
	Dump  string
	Scale float64
	Specs []string
	From  string
	Name  string
	World string
	// File is Dump by its other name. Set is a set of the cluster, or with a dump the one of it that is meant; empty: none.
	File, Set string
	// Controllers are those whose behaviour is simulated. Empty: those that run sets of the kinds.
	Controllers []string
	Seed        uint64
	Seeds       int
	Until       time.Duration
	// Study is the study that the flags are from; empty: none.
	Study studyText

	defaultSeeds int
	live         Live // nil: there is no cluster to read
	ctx          context.Context
}

// isLive reports whether the cluster is read.
func (q *question) isLive() bool { return q.Set != "" && q.Dump+q.File == "" }

// dump is the file of the dump; empty: there is none.
func (q *question) dump() string { return cmp.Or(q.Dump, q.File) }

// origin is where the cluster was read from, in words; empty: there is none.
func (q *question) origin() string {
	if q.isLive() {
		return "the cluster"
	}
	if q.dump() == "" {
		return ""
	}
	return objects.Shown(q.dump())
}

func (q *question) flags(flags *pflag.FlagSet) {
	flags.StringVar(&q.Fleet, "fleet", "", "generate the node pools of this `FILE`")
	flags.IntVar(&q.Nodes, "nodes", 0, "generate `N` equal nodes")
	flags.StringSliceVar(&q.Zones, "zones", nil, "spread the nodes of --nodes over these zones: `a,b,c`")
	flags.StringVar(&q.Dump, "dump", "", "begin with a cluster: "+
		"a `FILE` that kubectl get nodes,pods,controllerrevisions,ds,events -A -o json printed")
	flags.StringVarP(&q.File, "filename", "f", "", "the same as --dump: `FILE`")
	flags.Float64Var(&q.Scale, "scale", 1, "generate this `share` of each pool only, such as 0.1")
	flags.StringArrayVar(&q.Specs, "spec", nil, "manifest of the set to roll out, a `FILE` or LABEL=FILE; repeat it to compare")
	flags.StringVar(&q.From, "from", "", "manifest whose template runs on the generated nodes, a `FILE`; "+
		"without it, they are empty")
	flags.StringVar(&q.Name, "name", "", "set to take from a file with several: `NAME` or NAMESPACE/NAME")
	flags.StringVar(&q.World, "world", "", "`FILE` that says what happens: model, controller, events; "+
		"without it, times are derived from the pods of --dump")
	flags.StringArrayVar(&q.Controllers, "controller", nil, controllers.Usage+
		"; simulate takes several, to compare them, and LABEL=CONTROLLER for one spec")
	flags.Uint64Var(&q.Seed, "seed", 1, "`SEED` of what is drawn by lot")
	flags.IntVar(&q.Seeds, "seeds", q.defaultSeeds, "make `N` runs of each spec, with seeds counted from --seed")
	flags.DurationVar(&q.Until, "until", 0, "end each run at this virtual `time`, such as 2h (default 7 days)")
}

// maxSeeds is the largest number of seeds. More would take too long.
const maxSeeds = 100_000

// check refuses flags that contradict each other, and reports all mistakes at once.
func (q *question) check() error {
	var wrong []error
	var sources []string
	for name, set := range map[string]bool{"--fleet": q.Fleet != "", "--nodes": q.Nodes != 0, "--dump": q.Dump != "",
		"--filename": q.File != "", "the cluster of SET": q.isLive()} {
		if set {
			sources = append(sources, name)
		}
	}
	slices.Sort(sources)
	switch {
	case len(sources) == 0:
		wrong = append(wrong, errors.New(
			"there is no fleet: give --nodes N, --fleet FILE, --dump FILE, or SET, a set of the cluster"))
	case len(sources) > 1:
		wrong = append(wrong, fmt.Errorf("%s are given together; a fleet comes from one of them", strings.Join(sources, " and ")))
	}
	if len(q.Zones) > 0 && q.Nodes == 0 {
		wrong = append(wrong, errors.New("--zones is for --nodes; a pool of --fleet has zones of its own"))
	}
	if q.Set != "" && q.Name != "" {
		wrong = append(wrong, fmt.Errorf("%s and --name both name a set", text.Printable(q.Set)))
	}
	if _, err := objects.ParseRef(q.Set); err != nil {
		wrong = append(wrong, err)
	}
	if q.isLive() && q.live == nil {
		wrong = append(wrong, errors.New("there is no cluster to read"))
	}
	if len(q.Specs) == 0 && q.origin() == "" {
		wrong = append(wrong, errors.New("there is no spec: give --spec FILE, a manifest; several to compare them"))
	}
	if q.From != "" && q.origin() != "" {
		wrong = append(wrong, errors.New("--from is for generated nodes; a dump has pods of its own"))
	}
	if !(q.Scale > 0 && q.Scale <= 1) { // NaN is refused, too
		wrong = append(wrong, fmt.Errorf("--scale %s: it is a share above 0 and up to 1, such as 0.1",
			strconv.FormatFloat(q.Scale, 'g', -1, 64)))
	}
	if q.Scale != 1 && q.origin() != "" {
		wrong = append(wrong, errors.New("--scale is for generated nodes"))
	}
	if q.Seeds < 1 || q.Seeds > maxSeeds {
		wrong = append(wrong, fmt.Errorf("--seeds %d: it is a number of runs from 1 to %d", q.Seeds, maxSeeds))
	}
	if err := q.checkControllers(); err != nil {
		wrong = append(wrong, err)
	}
	if q.Until < 0 {
		wrong = append(wrong, fmt.Errorf("--until %s: it is a time after the beginning, such as 2h",
			asDuration(float64(q.Until))))
	}
	return errors.Join(wrong...)
}

// experiment is a question with the content of the files that it names.
type experiment struct {
	question
	Candidates []*candidate
	World      world
	// Deadline is when a run may be stopped, because a later end is of no interest; 0: never.
	Deadline time.Duration
	// Notes are what the reader has to know beside the result: where the world comes from, and what had no effect.
	Notes []string
	// Derived says what each time and count was derived from; nil: nothing was. It comes after the result.
	Derived []string
	// NoTimes is why nothing takes any time; nil: there is a world, given or derived.
	NoTimes error
	// Page says that there is to be a page, which shows what the plans say of each node.
	Page bool
	// Texts are those of the files that were read, for the page.
	Texts []source

	there *objects.Set // the set of the cluster that is meant; nil: the cluster was not read
	shard shardNumber  // of the runs that are made
}

// source is a file that was read.
type source struct {
	Title, File, Text string
}

// load reads the files that the question names.
func (q *question) load(f *objects.Files) (*experiment, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	e := &experiment{question: *q}
	fleet, cluster, err := e.readNodes(f)
	if err != nil {
		return nil, err
	}
	if e.Candidates, err = readCandidates(f, q.Specs, q.Name); err != nil {
		return nil, err
	}
	if len(e.Candidates) == 0 {
		c, err := e.chosen(cluster)
		if err != nil {
			return nil, fmt.Errorf("%w; a set that is not there is given with --spec", err)
		}
		e.Candidates = []*candidate{c}
	}
	for _, c := range e.Candidates {
		c.Fleet = fleet
		if len(c.File.Text) > 0 {
			e.keep("Spec "+c.Label, c.File)
		}
		if cluster != nil {
			if err := c.place(cluster); err != nil {
				return nil, err
			}
			if line := objects.Unrevised(c.Fleet.Snapshot); line != "" {
				e.Notes = append(e.Notes, q.origin()+": "+line)
			}
			if c.Installs && q.World != "" { // without a world, NoTimes says it
				e.Notes = append(e.Notes, q.origin()+": "+c.installs(cluster))
			}
		}
	}
	if q.From != "" {
		old, err := readManifest(f, q.From, q.Name)
		if err != nil {
			return nil, err
		}
		for _, c := range e.Candidates {
			if err := c.runs(old); err != nil {
				return nil, err
			}
		}
		e.keep("Running before", old.File)
	}
	if q.World != "" {
		file, err := f.Read(q.World)
		if err != nil {
			return nil, err
		}
		if e.World, err = readWorld(f, file); err != nil {
			return nil, err
		}
		e.keep("World", file)
	}
	switch {
	case e.World.Model != nil:
	case q.World == "" || cluster != nil:
		e.derive(cluster)
	default:
		e.Notes = append(e.Notes, fmt.Sprintf(
			"pods take no time to start and to stop: %s has no section model, which says how long", objects.Shown(q.World)))
	}
	if e.NoTimes != nil && e.World.Controller == nil {
		e.World.Controller = new(simulate.Controller) // where nothing takes any time, it loses none
	}
	if q.From == "" && cluster == nil {
		e.Notes = append(e.Notes, "the nodes are empty at the start: this is a first installation; "+
			"to roll out over a version that runs, give its manifest with --from FILE")
	}
	if err := e.runControllers(); err != nil {
		return nil, err
	}
	if note := e.World.controllerNote(size(e.Candidates[0].Fleet)); note != "" {
		e.Notes = append(e.Notes, note)
	}
	return e, nil
}

// readNodes reads or generates the nodes: a fleet, or a cluster.
func (e *experiment) readNodes(f *objects.Files) (fleet simulate.Fleet, cluster *objects.Input, err error) {
	switch {
	case e.isLive():
		cluster, e.there, err = e.live.Read(e.ctx, e.Set)
	case e.dump() != "":
		cluster, err = readDump(f, e.dump())
	case e.Fleet != "":
		var file objects.File
		if file, err = f.Read(e.Fleet); err == nil {
			fleet, err = readFleet(file)
		}
		e.keep("Fleet", file)
	default:
		fleet, err = generated(e.Nodes, e.Zones)
	}
	if cluster != nil && err == nil {
		e.Notes = append(e.Notes, cluster.Warnings...)
	}
	if e.origin() != "" {
		return fleet, cluster, err
	}
	return scaled(fleet, e.Scale), nil, err
}

// chosen is the set of the cluster, or of the dump, that is meant.
func (e *experiment) chosen(cluster *objects.Input) (*candidate, error) {
	file := objects.File{Name: e.origin()}
	if e.there != nil {
		return &candidate{
			Label: text.Printable(e.there.Spec.Name), File: file, Place: cluster.SetPlace(e.there), Set: e.there,
		}, nil
	}
	if e.Set == "" {
		return choose(cluster, file, e.Name)
	}
	ref, err := objects.ParseRef(e.Set)
	if err != nil {
		return nil, err
	}
	set, err := cluster.Choose(ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return &candidate{Label: text.Printable(set.Spec.Name), File: file, Place: cluster.SetPlace(set), Set: set}, nil
}

// derive reads the world of each candidate off the dump. Without a dump, or if it tells no times, the experiment has no times.
func (e *experiment) derive(cluster *objects.Input) {
	if cluster == nil {
		e.NoTimes = errors.New("generated nodes have no times of their own: give --world FILE, which says how long pods take")
		return
	}
	for _, c := range e.Candidates {
		derived, err := Derive(cluster.Nodes, c.Fleet.Snapshot.Pods, cluster.Events, c.Set.Spec, c.Fleet.Snapshot.Now)
		if err != nil && c.Installs {
			err = errors.New(c.installs(cluster))
		}
		if err != nil {
			e.NoTimes = fmt.Errorf("%s: %w: give --world FILE, which says how long pods take", e.origin(), err)
			return
		}
		c.Derived = &derived
	}
	e.tellDerived()
	e.Derived = append(e.Derived,
		"give --world FILE for what cannot be derived; a file with the section model then has all times")
}

// tellDerived says what was derived from the dump. What is so for several candidates is told once.
func (e *experiment) tellDerived() {
	labels := make(map[string][]string)
	var sentences []string
	for _, c := range e.Candidates {
		for _, sentence := range c.Derived.Sentences {
			if labels[sentence] == nil {
				sentences = append(sentences, sentence)
			}
			labels[sentence] = append(labels[sentence], c.Label)
		}
	}
	for _, sentence := range sentences {
		e.Derived = append(e.Derived,
			fmt.Sprintf("derived from %s for %s: %s", e.origin(), strings.Join(labels[sentence], ", "), sentence))
	}
}

// timed refuses an experiment in which nothing takes any time, because an answer about times would be 0.
func (e *experiment) timed() error {
	if e.NoTimes != nil {
		return fmt.Errorf("every time would be 0s: %w", e.NoTimes)
	}
	return nil
}

// keep keeps the text of a file for the page.
func (e *experiment) keep(title string, file objects.File) {
	e.Texts = append(e.Texts, source{Title: title, File: file.Name, Text: string(file.Text)})
}

// scenario is the scenario of one run.
func (e *experiment) scenario(c *candidate, seed uint64) simulate.Scenario {
	var model simulate.Model
	switch {
	case e.World.Model != nil:
		model = *e.World.Model
	case c.Derived != nil:
		model = c.Derived.Model
	}
	scenario := simulate.Scenario{
		Seed: seed, Spec: c.Set.Spec, Fleet: c.Fleet, Limit: e.Until,
		Model: model, Controller: e.World.controller(size(c.Fleet)), Events: e.World.Events,
	}
	c.Controller.Simulate(&scenario, c.Set)
	return scenario
}

// command is the command line that repeats the question.
func (q *question) command(name string) string {
	words := []string{command, name}
	if q.Set != "" {
		words = append(words, quoted(q.Set))
	}
	if q.isLive() && q.live != nil {
		for _, word := range q.live.Words() {
			words = append(words, quoted(word))
		}
	}
	add := func(flag, value string) { words = append(words, flag, quoted(value)) }
	switch {
	case q.Fleet != "":
		add("--fleet", q.Fleet)
	case q.dump() != "":
		add("--dump", q.dump())
	case q.isLive():
	default:
		add("--nodes", strconv.Itoa(q.Nodes))
		if len(q.Zones) > 0 {
			add("--zones", strings.Join(q.Zones, ","))
		}
	}
	if q.Scale != 1 {
		add("--scale", strconv.FormatFloat(q.Scale, 'g', -1, 64))
	}
	if q.From != "" {
		add("--from", q.From)
	}
	for _, spec := range q.Specs {
		add("--spec", spec)
	}
	if q.Name != "" {
		add("--name", q.Name)
	}
	if q.World != "" {
		add("--world", q.World)
	}
	for _, name := range q.Controllers {
		add("--controller", name)
	}
	add("--seed", strconv.FormatUint(q.Seed, 10))
	if q.Seeds != q.defaultSeeds {
		add("--seeds", strconv.Itoa(q.Seeds))
	}
	if q.Until != 0 {
		add("--until", q.Until.String())
	}
	return strings.Join(words, " ")
}

// quoted is the word, quoted for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,=:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
