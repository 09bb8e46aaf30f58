package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(interrupted, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings of the command line.
type settings struct {
	root     string
	since    string
	duration time.Duration
	effort   time.Duration
	grace    time.Duration
	sample   int
	seed     uint64
	parallel int
	least    float64
	also     string
	again    string
	files    *regexp.Regexp
	tests    *regexp.Regexp
	records  string
	judged   string
	report   string
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s settings
	flags.StringVar(&s.root, "root", filepath.Join("..", ".."), "`directory` of the module to mutate")
	flags.StringVar(&s.since, "since", "", "only lines that are not as they were at this `revision`")
	flags.DurationVar(&s.duration, "for", 0, "begin no mutant after this `time`; 0: try all")
	flags.DurationVar(&s.effort, "effort", 0, "processor `time` of the tests that a mutant is worth; 0: all tests that reach it")
	flags.DurationVar(&s.grace, "grace", 2*time.Second, "processor `time` that a run may take beyond five times its tests'")
	flags.IntVar(&s.sample, "sample", 0, "try so `many` mutants of each package, drawn by the seed; 0: all")
	flags.Uint64Var(&s.seed, "seed", 1, "orders the mutants, so that `-for` and -sample try a fair share")
	flags.IntVar(&s.parallel, "j", runtime.GOMAXPROCS(0), "how `many` processes to run at a time")
	flags.Float64Var(&s.least, "least", 90, "fail if fewer than this `percentage` of the covered mutants is killed")
	flags.StringVar(&s.also, "also", "", "`packages`, by commas, whose tests to try on what a package's own tests leave alive")
	flags.StringVar(&s.again, "again", "", "only mutants that had this `status` before: lived, not covered, not tried")
	pattern(flags, &s.files, "files", "only mutants in files whose name matches this `pattern`")
	pattern(flags, &s.tests, "tests", "only tests that match this `pattern`; what they do not kill keeps the status it had")
	flags.StringVar(&s.records, "records", "", "`directory` that keeps the results (default: build/mutation in the module)")
	flags.StringVar(&s.judged, "judged", "survivors.txt", "`file` that says why mutants may live")
	flags.StringVar(&s.report, "report", "", "`file` to write a report on all records to")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	if s.records == "" {
		s.records = filepath.Join(s.root, "build", "mutation")
	}
	judged, err := readJudgements(s.judged)
	if err != nil {
		return fail(stderr, err)
	}
	records, err := s.mutate(ctx, flags.Args(), stderr)
	if err != nil {
		return fail(stderr, err)
	}
	printTable(stdout, records)
	printSurvivors(stdout, records, judged)
	if s.report != "" {
		if err := s.writeReport(judged); err != nil {
			return fail(stderr, err)
		}
	}
	if share := total(records).share(); share < s.least {
		fmt.Fprintf(stderr, "mutation: %.1f %% of the covered mutants were killed, fewer than %.1f %%\n", share, s.least)
		return 1
	}
	return 0
}

// pattern is a flag that holds a regular expression. Without it the expression matches everything.
func pattern(flags *flag.FlagSet, to **regexp.Regexp, name, usage string) {
	*to = regexp.MustCompile("")
	flags.Func(name, usage, func(value string) (err error) {
		*to, err = regexp.Compile(value)
		return err
	})
}

func fail(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "mutation:", err)
	return 2
}

func (s *settings) writeReport(judged judgements) error {
	records, err := readRecords(s.records)
	if err != nil {
		return err
	}
	return os.WriteFile(s.report, []byte(markdown(records, judged)), 0o644)
}

// mutate tries the packages one after another. What is left of the time is shared among those to come.
func (s *settings) mutate(ctx context.Context, patterns []string, stderr io.Writer) ([]*record, error) {
	if len(patterns) == 0 {
		return readRecords(s.records)
	}
	subjects, err := load(s.root, patterns)
	if err != nil {
		return nil, err
	}
	var changed lines
	if s.since != "" {
		if changed, err = changedSince(s.root, s.since); err != nil {
			return nil, err
		}
		subjects = slices.DeleteFunc(subjects, func(p *subject) bool { return !changed.inside(p.dir) })
	}
	end := time.Now().Add(s.duration)
	var records []*record
	for i, p := range subjects {
		h := &hunter{
			effort: s.effort, tests: s.tests, grace: s.grace, parallel: s.parallel, favourite: map[string]*test{},
			stopped: ctx.Done(), progress: stderr,
		}
		if s.duration > 0 {
			h.deadline = time.Now().Add(time.Until(end) / time.Duration(len(subjects)-i))
		}
		begun := time.Now()
		r, err := s.one(p, h, changed)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		fmt.Fprintf(stderr, "%s: %d tests, %v\n", p.dir, r.Tests, time.Since(begun).Round(time.Second))
		for _, name := range r.Failing {
			fmt.Fprintf(stderr, "%s: %s fails without a mutant and was left out\n", p.dir, name)
		}
		if err := r.write(s.records); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// one tries one package. It returns nil if nothing of it can be changed.
func (s *settings) one(p *subject, h *hunter, changed lines) (*record, error) {
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	v := newVariant(p, scratch, func(m *mutant) bool {
		return s.files.MatchString(m.File) && (changed == nil || changed.touches(p.dir, m))
	})
	if len(v.sites) == 0 {
		return nil, nil
	}
	r, err := readRecord(p.dir, s.records)
	if err != nil {
		return nil, err
	}
	own, err := v.suite(p.dir, h)
	if err != nil {
		return nil, err
	}
	mutants := s.choose(v.mutants(), r)
	results := map[string]result{}
	for _, m := range v.mutants() {
		results[m.key("")] = result{Mutant: m, Status: notTried}
	}
	if s.partly() {
		for _, old := range r.Results {
			if now, ok := results[old.Mutant.key("")]; ok {
				old.Mutant = now.Mutant
			} else if s.files.MatchString(old.Mutant.File) {
				continue // it is gone
			}
			results[old.Mutant.key("")] = old
		}
	}
	before := r
	r = &record{Package: p.dir, Tests: len(own.tests), Effort: s.effort, Failing: own.failing}
	for _, t := range own.slow {
		r.Slow = append(r.Slow, t.name)
	}
	if s.partly() { // most results are those of the run before
		r.Effort, r.Slow, r.Also = before.Effort, before.Slow, before.Also
	}
	for _, found := range h.hunt(own, mutants) {
		if s.counts(found) {
			results[found.Mutant.key("")] = found
		}
	}
	if err := s.others(v, h, mutants, results, r); err != nil {
		return nil, err
	}
	for _, found := range results {
		r.Results = append(r.Results, found)
	}
	for _, m := range v.uncompiled {
		r.Results = append(r.Results, result{Mutant: m, Status: unbuildable})
	}
	return r, nil
}

// partly tells whether a run is about some mutants, or some tests, of a package: it adds to the record of the run before.
func (s *settings) partly() bool {
	return s.again != "" || s.files.String() != "" || s.tests.String() != ""
}

// counts tells whether to record a result. Of some of the tests only kills say something.
func (s *settings) counts(found result) bool {
	dead := found.Status == killed || found.Status == expired
	return dead || s.tests.String() == "" && (found.Status != notTried || !s.partly())
}

// suite builds and probes the tests of a package.
func (v *variant) suite(dir string, h *hunter) (*suite, error) {
	binary, err := v.binary(dir)
	if err != nil {
		return nil, err
	}
	if binary == "" {
		return &suite{dir: dir}, nil
	}
	s, err := newSuite(v.root, dir, binary, v.scratch)
	if err != nil {
		return nil, err
	}
	s.only(h.tests)
	err = s.probe(h.effort, h.parallel)
	return s, err
}

// choose orders the mutants by the seed and takes the sample.
func (s *settings) choose(mutants []*mutant, before *record) []*mutant {
	if s.again != "" {
		had := map[string]bool{}
		for _, r := range before.Results {
			had[r.Mutant.key("")] = string(r.Status) == s.again
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return !had[m.key("")] })
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	if s.sample > 0 {
		mutants = mutants[:min(s.sample, len(mutants))]
	}
	return mutants
}

// others tries the tests of other packages on what is alive.
func (s *settings) others(v *variant, h *hunter, mutants []*mutant, results map[string]result, r *record) error {
	for dir := range strings.SplitSeq(s.also, ",") {
		dir = filepath.ToSlash(filepath.Clean(dir))
		if dir == "." || dir == v.dir {
			continue
		}
		alive := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool {
			status := results[m.key("")].Status
			return status != lived && status != uncovered
		})
		if len(alive) == 0 {
			return nil
		}
		other, err := v.suite(dir, h)
		if err != nil {
			return err
		}
		r.Also = append(r.Also, dir)
		for _, found := range h.hunt(other, alive) {
			had := results[found.Mutant.key("")]
			switch found.Status {
			case killed, expired:
			case lived:
				found.Same = found.Same && (had.Same || had.Status == uncovered)
				found.Left += had.Left
			case uncovered, notTried, unbuildable:
				continue
			}
			if s.counts(found) {
				results[found.Mutant.key("")] = found
			}
		}
	}
	return nil
}
