// Command soak runs random fleets, specs, faults and user actions through the simulator until something breaks that must hold:
// the invariants of verify.Plan, which the simulator checks at each step, the rules of package judge, which watches the
// simulated cluster as it is, and that plans are the same when they are made again. Each run is made from its seed alone; of each
// seed there are two, one without and one with policies for fleets ("4711" and "4711p"). At the first failure it prints the
// smallest scenario that it finds to fail in the same way, and ends with exit code 1.
//
//	go run ./internal/soak -for 2m                     # from a random seed on
//	go run ./internal/soak -for 0 -count 20000         # so many worlds
//	go run ./internal/soak -seed 4711p                 # one, with all that happens in it
//	go run ./internal/soak -scenario build/soak/seed-4711.yaml
//
// The seeds of past failures are in testdata/seeds.txt. They run first, and in the tests of this package.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

//go:embed testdata/seeds.txt
var corpus string

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// settings of the command line.
type settings struct {
	duration time.Duration
	from     uint64
	count    uint64
	parallel int
	out      string
	goOn     bool
	// documented: the worlds are those of documented policies.
	documented bool
	options    checkOptions
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s settings
	flags.DurationVar(&s.duration, "for", 2*time.Minute, "how `long` to begin new worlds; 0: until there are count of them")
	flags.Uint64Var(&s.from, "from", rand.Uint64N(1<<40), "first `seed` (default: a random one)")
	flags.Uint64Var(&s.count, "count", 0, "how `many` worlds at most, two of each seed; 0: any number")
	flags.IntVar(&s.parallel, "parallel", 0, "how `many` runs at a time; 0: one for each core")
	flags.StringVar(&s.out, "out", filepath.Join("build", "soak"), "`directory` for what a failure leaves behind")
	flags.IntVar(&s.options.every, "every", 100, "make the plan of each `n`-th step again, to compare; 0: of none")
	flags.BoolVar(&s.goOn, "go-on", false, "go on after failures; the first seed that failed is explained in the end")
	flags.BoolVar(&s.documented, "documented", false, "run the worlds of the documented policies, of each seed one for each")
	one := flags.String("seed", "", "run the world of this `seed` only (4711, or 4711p with policies, or "+
		"4711d3 with the third one that is documented), and print what happens")
	replay := flags.String("scenario", "", "run the scenario of this `file` only, as failures leave them behind")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *replay != "" {
		text, err := os.ReadFile(*replay)
		var sc simulate.Scenario
		if err == nil {
			err = yaml.Unmarshal(text, &sc)
		}
		if err != nil {
			fmt.Fprintln(stderr, "soak:", err)
			return 2
		}
		return s.single(strconv.FormatUint(sc.Seed, 10), sc, stdout)
	}
	if *one != "" {
		w, err := parseWorld(*one)
		if err != nil {
			fmt.Fprintln(stderr, "soak: -seed", err)
			return 2
		}
		s.options = w.options(s.options)
		return s.single(w.String(), w.scenario(), stdout)
	}
	if s.count == 0 && s.duration == 0 {
		fmt.Fprintln(stderr, "soak: -for 0 needs -count")
		return 2
	}
	if s.parallel <= 0 {
		s.parallel = runtime.GOMAXPROCS(0)
	}
	return s.many(stdout)
}

// single runs one scenario, verbosely.
func (s *settings) single(seed string, sc simulate.Scenario, stdout io.Writer) int {
	listen := simulate.NewJSONLinesWriter(stdout)
	out := checkAnd(sc, s.options, listen.Record)
	if err := listen.Flush(); err != nil {
		fmt.Fprintln(stdout, err)
	}
	if out.failure == nil {
		fmt.Fprintln(stdout, out.report.String())
		return 0
	}
	s.explain(seed, sc, out.failure, stdout)
	return 1
}

// world is the i-th new one.
func (s *settings) world(i uint64) world {
	if s.documented {
		return documentedFrom(s.from, i)
	}
	return worldFrom(s.from, i)
}

// many runs the corpus and then world after world.
func (s *settings) many(stdout io.Writer) int {
	begin := time.Now()
	past, err := parseSeeds(corpus)
	if err != nil {
		fmt.Fprintln(stdout, err)
		return 2
	}
	fmt.Fprintf(stdout, "soak: %d seeds of past failures, then from %d on, %d at a time\n", len(past), s.from, s.parallel)
	var next atomic.Uint64
	var mutex sync.Mutex
	totals := totals{features: map[string]int{}}
	found := map[world]*failure{}
	var group sync.WaitGroup
	for range s.parallel {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				var w world
				switch fresh := i - uint64(len(past)); {
				case i < uint64(len(past)):
					w = past[i]
				case s.count > 0 && fresh >= s.count, s.duration > 0 && time.Since(begin) > s.duration:
					return
				default:
					w = s.world(fresh)
				}
				out := check(w.scenario(), w.options(s.options))
				mutex.Lock()
				if totals.add(&out); totals.runs%1000 == 0 {
					fmt.Fprintf(stdout, "soak: %d worlds in %v\n", totals.runs, time.Since(begin).Round(time.Second))
				}
				if out.failure != nil {
					found[w] = out.failure
					fmt.Fprintf(stdout, "soak: seed %s fails: %s\n", w, out.failure.kind)
				}
				stop := len(found) > 0 && !s.goOn
				mutex.Unlock()
				if stop {
					return
				}
			}
		})
	}
	group.Wait()
	totals.print(stdout, time.Since(begin))
	if len(found) == 0 {
		fmt.Fprintln(stdout, "soak: no violation")
		return 0
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(found)), world.compare)
	s.options = first.options(s.options)
	s.explain(first.String(), first.scenario(), found[first], stdout)
	return 1
}

// totals sum up runs.
type totals struct {
	runs, plans int
	features    map[string]int
}

func (t *totals) add(out *outcome) {
	t.runs++
	t.plans += out.report.Plans
	for name := range out.features {
		t.features[name]++
	}
}

func (t *totals) print(w io.Writer, took time.Duration) {
	fmt.Fprintf(w, "soak: %d worlds and %d plans in %v, %.1f worlds a second\n", t.runs, t.plans, took.Round(time.Second),
		float64(t.runs)/took.Seconds())
	line := "  runs with"
	for _, name := range slices.Sorted(maps.Keys(t.features)) {
		entry := fmt.Sprintf(" %s %d,", name, t.features[name])
		if len(line)+len(entry) > 110 {
			fmt.Fprintln(w, line)
			line = "   "
		}
		line += entry
	}
	fmt.Fprintln(w, strings.TrimSuffix(line, ","))
}

// shrinking is how long the search for a smaller scenario may take.
const shrinking = time.Minute

// explain prints a failure with the smallest scenario that has it, and writes both to files.
func (s *settings) explain(seed string, sc simulate.Scenario, f *failure, w io.Writer) {
	fmt.Fprintf(w, "soak: seed %s fails: %s\n%s\n", seed, f.kind, f.text)
	smaller, f := shrink(sc, f, s.options, time.Now().Add(shrinking))
	fmt.Fprintf(w, "\nsoak: the smallest scenario found that fails so:\n%s\n", f.text)
	if f.step != nil {
		fmt.Fprintf(w, "step %d, %v after the beginning\n", f.step.Number, f.step.At)
		for _, node := range f.nodes {
			fmt.Fprintln(w, f.step.Plan.Explain(node))
		}
	}
	text, err := yaml.Marshal(smaller)
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintf(w, "\n%s\n", text)
	if err := s.leave(seed, f, text, w); err != nil {
		fmt.Fprintln(w, err)
	}
	fmt.Fprintf(w, "soak: see it again with: go run ./internal/soak -seed %s\n", seed)
	fmt.Fprintf(w, "soak: once it is understood, add %s to internal/soak/testdata/seeds.txt, with a word on what it was\n", seed)
}

// leave writes the scenario, and the case of the step for kubectl daemonplan.
func (s *settings) leave(seed string, f *failure, text []byte, w io.Writer) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	name := filepath.Join(s.out, fmt.Sprintf("seed-%s.yaml", seed))
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(w, "soak: the scenario is in %s\n", name)
	if f.step == nil {
		return nil
	}
	data, err := f.step.Case().Encode()
	if err != nil {
		return err
	}
	name = filepath.Join(s.out, fmt.Sprintf("seed-%s.json", seed))
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(w, "soak: see the step with: kubectl daemonplan plan --case %s\n", name)
	return nil
}

// parseSeeds reads a corpus: one seed a line, and after a # what it found.
func parseSeeds(text string) ([]world, error) {
	var seeds []world
	number := 0
	for line := range strings.Lines(text) {
		number++
		word, comment, _ := strings.Cut(line, "#")
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		seed, err := parseWorld(word)
		switch {
		case err != nil:
			return nil, fmt.Errorf("seeds.txt:%d: %w", number, err)
		case strings.TrimSpace(comment) == "":
			return nil, fmt.Errorf("seeds.txt:%d: seed %s lacks a comment that says what it found", number, seed)
		}
		seeds = append(seeds, seed)
	}
	return seeds, nil
}
