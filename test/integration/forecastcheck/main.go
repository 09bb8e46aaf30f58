// Command forecastcheck holds forecasts against what happens: on a cluster of real components (etcd, kube-apiserver, the
// DaemonSet controller and the scheduler of Kubernetes) whose kubelets are KWOK, it asks `kubectl daemonplan forecast` how long a
// rollout will take and how many nodes will be down, rolls out, and compares.
//
//	KUBEBUILDER_ASSETS=$(make -s cluster COMPONENTS="kube-scheduler kube-controller-manager kubectl kwok") \
//		go run ./forecastcheck -case '^plain' -runs 10
//
// Each case leaves a file in the folder of results. The table is made of all files that are there: of several runs of this
// command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "forecastcheck:", err)
		os.Exit(1)
	}
}

// settings of the command line.
type settings struct {
	only     *regexp.Regexp
	runs     int
	seeds    int
	results  string
	write    string
	patience time.Duration
	root     string
}

func parse(arguments []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("forecastcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("case", "", "run the cases whose names match this regular `expression` (default: all); "+
		"if it matches none, only the table is made")
	flags.IntVar(&s.runs, "runs", 10, "how `many` rollouts of each case")
	flags.IntVar(&s.seeds, "seeds", 200, "how `many` simulated runs a forecast is made of")
	flags.StringVar(&s.results, "results", filepath.Join("..", "..", "build", "forecast-check"), "`folder` of the results")
	flags.StringVar(&s.write, "write", "", "write the table between the marks of this `file`")
	flags.DurationVar(&s.patience, "patience", 20*time.Minute, "how `long` one rollout may take")
	flags.StringVar(&s.root, "root", filepath.Join("..", ".."), "`folder` of the repository")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if s.runs < 1 || s.seeds < 1 {
		return s, fmt.Errorf("-runs %d -seeds %d: want 1 at least", s.runs, s.seeds)
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("-case: %w", err)
	}
	return s, nil
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) (err error) {
	s, err := parse(arguments, stderr)
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "daemonplan-forecastcheck-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	programs := programs{command: filepath.Join(folder, "kubectl-daemonplan"), example: filepath.Join(folder, "controller")}
	for binary, module := range map[string]string{
		programs.command: filepath.Join(s.root, "cmd", "kubectl-daemonplan"),
		programs.example: filepath.Join(s.root, "examples", "controller"),
	} {
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
		build.Dir, build.Stdout, build.Stderr = module, stderr, stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("%s: go build: %w", module, err)
		}
	}
	if err := os.MkdirAll(s.results, 0o755); err != nil {
		return err
	}
	for _, c := range cases() {
		if !s.only.MatchString(c.name) {
			continue
		}
		r, err := s.check(ctx, c, programs, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := r.save(s.results); err != nil {
			return err
		}
	}
	results, err := load(s.results)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, table(results)); err != nil {
		return err
	}
	if s.write != "" {
		if err := insert(s.write, table(results)); err != nil {
			return err
		}
	}
	return judge(results)
}

// programs of this repository.
type programs struct{ command, example string }
