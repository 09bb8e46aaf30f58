// Package plan tells what a DaemonSet would do next on every node of a cluster, and why. It changes nothing and
// talks to no cluster: it reads the objects that kubectl prints.
//
// Without arguments it plans an embedded fleet in the middle of a rollout. There are two more: an Advanced DaemonSet of
// OpenKruise that updates its pods in place, and the demo of Datadog's ExtendedDaemonSet while its canary runs:
//
//	go run ./examples/plan
//	go run ./examples/plan -example kruise
//	go run ./examples/plan -example eds
//
// To plan a cluster, hand it nodes, pods, controller revisions and the DaemonSet, of Kubernetes, of OpenKruise
// (daemonsets.apps.kruise.io) or of Datadog (extendeddaemonsets and extendeddaemonsetsettings.datadoghq.com):
//
//	kubectl get nodes,pods,controllerrevisions,ds -A -o json > dump.json
//	go run ./examples/plan -f dump.json -name node-agent
//
// To see what a change would do, leave the DaemonSet out of the dump, and take it as the API server would store it:
//
//	kubectl get nodes,pods,controllerrevisions -A -o json > dump.json
//	kubectl apply --dry-run=server -o yaml -f changed.yaml | go run ./examples/plan -f dump.json -f - -diff
//
// A manifest that never was in a cluster lacks the defaults that the API server fills in, so its template differs from
// every stored revision. If it has no uid either, it counts as not created yet: pods without an owner are its own if
// its selector matches them, and all others belong to somebody else.
//
// A command before the flags shows the set as the kubectl plugin of ExtendedDaemonSet does, or prints the line of kubectl
// that gives the command to the set, and what the next plan would do then:
//
//	go run ./examples/plan get -example eds
//	go run ./examples/plan canary pause foo -f dump.json
//
//	get               one line: NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE STATUS ACTIVE CANARY AGE
//	revisions         one line for each revision; also get-ers
//	pods              the pods that are not ready, with reasons
//	diff              what the new revision changes in the active one
//	canary pods       the pods of the canary, with nodes, restarts and reasons
//	canary validate   promote the revision on trial; likewise canary pause, unpause, fail, and retry for one that failed
//	pause, unpause    the rollout; also pause-rolling-update, unpause-rolling-update
//	freeze, unfreeze  the rollout; also freeze-rollout, unfreeze-rollout
//
// The clock of a canary is in the memory of the plan. To have it, and to see the canary come to its end, keep what -o json
// prints, and pass it to the next call with -memory. Without it the clock starts at -now.
//
// To see a step of a simulation again, one that broke an invariant say, hand in the case that it left behind: the spec
// and all that the controller knew (package rollout/simulate, Case.Encode):
//
//	go run ./examples/plan -case step.json -explain web-00017
//
// Flags:
//
//	-f FILE         read objects from a file (YAML or JSON, one or many documents, lists as kubectl prints them), from
//	                every .yaml, .yml and .json file of a directory, or from standard input (-); repeatable
//	-example FLEET  plan an embedded fleet: kubernetes (the default without -f), kruise or eds; not with -f
//	-n, -name SET   plan this DaemonSet, if there are several: NAME, NAMESPACE or NAMESPACE/NAME, where several kinds are
//	                there with daemonset.apps/, daemonset.apps.kruise.io/ or extendeddaemonset.datadoghq.com/ before it; both
//	                flags may be given
//	-o FORMAT       table (default), wide (every node), json or yaml (see the type document)
//	-explain NODE   only explain this node; without -o and -diff
//	-diff           only show what the update would change in the pods, and whether it restarts them, or can be made in
//	                place; without -o
//	-case FILE      plan a case of a simulation, in its own time and with its own memory; not with flags that choose other
//	                input
//	-now TIME       plan for this time (RFC 3339); by default the embedded fleet's, and with -f the present
//	-memory FILE    begin with the memory of an earlier plan: what -o json printed then
//	-timing         print to standard error how long reading and planning took
//
// What the manifest of an Advanced DaemonSet does not say, because it is a setting of OpenKruise or of the nodes:
//
//	-resize         cpu and memory are changed in place (feature gate InPlaceWorkloadVerticalScaling)
//	-cgroup-v1      there are nodes with cgroup v1: a resize and a new image take two rollouts; with -resize
//	-pre-download   images are pulled ahead even if no annotation of the set asks for it, one pull at a time (feature gate
//	                PreDownloadImageForDaemonSetUpdate); an annotation such as apps.kruise.io/image-predownload-parallelism
//	                does so by itself
//
// Text from the input that a terminal might obey, control characters above all, is printed with escapes.
//
// The exit code is 0 for a plan, 2 for bad usage or input (standard error tells what is wrong and where, one mistake to a
// line, and nothing is printed on standard output), and 1 if the output cannot be written.
package plan

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Main runs the command with these arguments, and returns the exit code.
func Main(args []string) int {
	return run(args, os.Stdin, os.Stdout, os.Stderr, time.Now)
}

// These are the exit codes.
const (
	exitOK    = 0
	exitWrite = 1
	exitInput = 2
)

// options are the command line.
type options struct {
	files    []string
	example  string // empty: the default without files
	filters  []string
	settings settings
	output   string // empty: a table
	explain  string
	diff     bool
	timing   bool
	caseFile string // empty: none
	now      time.Time
	memory   string // a file; empty: none
	words    string // a command; empty: plan
}

// run is main with its connections to the outside as parameters. It writes all output to memory first, so that bad input does not
// leave a part of a plan on standard output.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, clock func() time.Time) int {
	var out, notes bytes.Buffer
	err := plan(args, stdin, &out, &notes, clock)
	if errors.Is(err, flag.ErrHelp) {
		_, err = stderr.Write(notes.Bytes())
		return exitCode(err)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "plan: %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
		return exitInput
	}
	_, errNotes := stderr.Write(notes.Bytes())
	_, errOut := stdout.Write(out.Bytes())
	if err := errors.Join(errNotes, errOut); err != nil {
		fmt.Fprintf(stderr, "plan: %v\n", err)
		return exitWrite
	}
	return exitOK
}

func exitCode(err error) int {
	if err != nil {
		return exitWrite
	}
	return exitOK
}

func plan(args []string, stdin io.Reader, out, notes io.Writer, clock func() time.Time) error {
	opts, err := parse(args, notes)
	if err != nil {
		return err
	}
	if opts.now.IsZero() {
		opts.now = fleetTime()
		if len(opts.files) > 0 {
			opts.now = clock()
		}
	}
	begin := clock()
	in := newInput()
	if opts.caseFile != "" {
		result, err := in.decideCase(opts.caseFile)
		if err != nil {
			return err
		}
		if opts.timing {
			fmt.Fprintf(notes, "read %d bytes and planned %d nodes in %v\n",
				in.bytes, len(in.nodes), clock().Sub(begin).Round(time.Microsecond))
		}
		return write(out, opts, result)
	}
	if len(opts.files) == 0 {
		err = in.addExample(opts.example)
	} else {
		err = in.readAll(opts.files, stdin)
	}
	if err != nil {
		return err
	}
	target, err := in.choose(opts.filters)
	if err != nil {
		return err
	}
	in.surround(target)
	if err := opts.settings.apply(in, target); err != nil {
		return err
	}
	if opts.memory != "" {
		if target.Memory, err = readMemory(opts.memory); err != nil {
			return err
		}
	}
	read := clock()
	result, err := in.decide(target, opts.now)
	if err != nil {
		return err
	}
	planned := clock()
	if opts.timing {
		fmt.Fprintf(notes, "read %d bytes in %v, planned %d nodes in %v\n", in.bytes,
			read.Sub(begin).Round(time.Microsecond), len(in.nodes), planned.Sub(read).Round(time.Microsecond))
	}
	for _, path := range target.Unknown {
		fmt.Fprintf(notes, "plan: warning: %s: ignored unknown field %s\n", in.origins[target], printable(path))
	}
	return write(out, opts, result)
}

// write prints what the options ask for.
func write(out io.Writer, opts options, r *result) error {
	switch {
	case opts.words != "":
		return r.command(out, opts)
	case opts.explain != "":
		return r.explain(out, opts.explain)
	case opts.diff:
		return r.diff(out)
	case opts.output == "json" || opts.output == "yaml":
		return r.encode(out, opts.output)
	default:
		r.report(out, opts.output == "wide")
		return nil
	}
}

func parse(args []string, usage io.Writer) (options, error) {
	var opts options
	words, name, args, err := takeWords(args)
	if err != nil {
		return opts, err
	}
	if opts.words = words; name != "" {
		opts.filters = append(opts.filters, name)
	}
	flags := flag.NewFlagSet("plan", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	collect := func(to *[]string) func(string) error {
		return func(value string) error {
			if value == "" {
				return errors.New("must not be empty")
			}
			*to = append(*to, value)
			return nil
		}
	}
	flags.Func("f", "read objects from `FILE`: a file, a directory, or - for standard input (repeatable)", collect(&opts.files))
	flags.Func("example", "plan this embedded `FLEET`: kubernetes (default), kruise or eds", func(value string) error {
		if value != exampleKubernetes && value != exampleKruise && value != exampleEDS {
			return errors.New("must be kubernetes, kruise or eds")
		}
		opts.example = value
		return nil
	})
	flags.Func("n", "plan this `SET`: NAME, NAMESPACE or NAMESPACE/NAME, of any kind or after daemonset.apps/, "+
		"daemonset.apps.kruise.io/ or extendeddaemonset.datadoghq.com/", collect(&opts.filters))
	flags.Func("name", "the same as -n; both may be given", collect(&opts.filters))
	flags.Func("o", "output `FORMAT`: table, wide, json or yaml (default table)", func(value string) error {
		if !slices.Contains([]string{"table", "wide", "json", "yaml"}, value) {
			return errors.New("must be table, wide, json or yaml")
		}
		opts.output = value
		return nil
	})
	flags.Func("explain", "only explain this `NODE`", func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		opts.explain = value
		return nil
	})
	flags.BoolVar(&opts.diff, "diff", false, "only show what the update would change")
	flags.BoolVar(&opts.settings.resize, "resize", false,
		"Advanced DaemonSet: change cpu and memory in place (InPlaceWorkloadVerticalScaling)")
	flags.BoolVar(&opts.settings.cgroupV1, "cgroup-v1", false,
		"Advanced DaemonSet: with -resize, there are nodes with cgroup v1")
	flags.BoolVar(&opts.settings.preDownload, "pre-download", false,
		"Advanced DaemonSet: pull images ahead without an annotation too (PreDownloadImageForDaemonSetUpdate)")
	flags.BoolVar(&opts.timing, "timing", false, "print how long reading and planning took")
	flags.Func("now", "plan for this `TIME` (RFC 3339)", func(value string) (err error) {
		if opts.now, err = time.Parse(time.RFC3339, value); err != nil || opts.now.IsZero() {
			return errors.New("must be a time such as 2026-03-02T09:15:00Z")
		}
		return nil
	})
	flags.Func("memory", "take the memory of an earlier plan from `FILE`, what -o json printed then", func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		opts.memory = value
		return nil
	})
	flags.Func("case", "plan a case of a simulation, read from `FILE`", func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		opts.caseFile = value
		return nil
	})
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(usage, "usage: plan [-f FILE]... [-n SET] [-o FORMAT | -explain NODE | -diff] [-now TIME] [-timing]\n"+
			"       plan -example kruise|eds [FLAG]...\n"+
			"       plan -case FILE [-o FORMAT | -explain NODE | -diff] [-timing]\n"+
			"       plan COMMAND [SET] [-f FILE]... [-n SET] [-now TIME]\n"+
			"commands: "+strings.Join(knownWords(), ", "))
		flags.SetOutput(usage)
		flags.PrintDefaults()
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; files are given with -f", flags.Arg(0))
	case err == nil && opts.example != "" && len(opts.files) > 0:
		err = errors.New("-example and -f exclude each other")
	case err == nil && opts.caseFile != "" && opts.choosesInput():
		err = errors.New("-case is all the input there is: -f, -example, -n, -name, -now, -memory, -resize, -cgroup-v1, " +
			"-pre-download and commands are for other input")
	case err == nil && opts.settings.cgroupV1 && !opts.settings.resize:
		err = errors.New("-cgroup-v1 is about how cpu and memory are changed in place; it needs -resize")
	case err == nil && opts.words != "" && (opts.explain != "" || opts.diff || opts.output != ""):
		err = fmt.Errorf("%s prints text of its own; -o, -diff and -explain are for plans", opts.words)
	case err == nil && opts.explain != "" && opts.diff:
		err = errors.New("-explain and -diff exclude each other")
	case err == nil && opts.explain != "" && opts.output != "":
		err = errors.New("-explain and -o exclude each other: an explanation is text")
	case err == nil && opts.diff && opts.output != "":
		err = errors.New("-diff and -o exclude each other: the changes are text")
	}
	return opts, err
}

// choosesInput reports whether any flag but -case chooses what to read.
func (o *options) choosesInput() bool {
	return len(o.files)+len(o.filters) > 0 || o.example != "" || o.memory != "" || o.words != "" || !o.now.IsZero() ||
		o.settings != settings{}
}
