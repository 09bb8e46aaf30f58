// Command sidebyside runs the DaemonSet controller of Kubernetes and the example controller on clusters of the same making, one
// after the other, has each install a daemon and then update it on all nodes, and prints what that took.
//
//	KUBEBUILDER_ASSETS=$(make -s cluster COMPONENTS=kube-controller-manager) go run ./sidebyside -nodes 300
//
// Each run has an API server of its own, fresh, so that none finds warm caches, or the remains of another. The kubelet of all
// nodes is the one of the integration tests. The DaemonSet controller runs twice: with the limit on its requests that
// kube-controller-manager has by default, and without; the example has none by default.
//
// It fails if the example went beyond the budget, or carried anything out twice.
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
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/intstr"
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
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

// settings of the command line.
type settings struct {
	nodes     int
	budget    string
	podStart  time.Duration
	scheduler bool
	example   string
	verify    bool
	alone     bool
	profile   string
	pprof     string // address at which the example serves its profile; empty: nowhere
	patience  time.Duration
}

// allowed is how many nodes may be without a serving pod at a time.
func (s settings) allowed() (int, error) {
	value := intstr.Parse(s.budget)
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, s.nodes, true)
	if err != nil {
		return 0, fmt.Errorf("-max-unavailable %s: %w", s.budget, err)
	}
	return n, nil
}

func parse(arguments []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.nodes, "nodes", 300, "how `many` nodes")
	flags.StringVar(&s.budget, "max-unavailable", "10%", "`budget` of the update, a count or a percentage")
	flags.DurationVar(&s.podStart, "pod-start", 100*time.Millisecond, "how `long` containers take to be ready")
	flags.BoolVar(&s.scheduler, "scheduler", false, "pods are bound by kube-scheduler (default: by the tests' kubelet)")
	example := filepath.Join("..", "..", "examples", "controller")
	flags.StringVar(&s.example, "example", example, "`folder` of the example controller")
	flags.BoolVar(&s.verify, "verify", true, "the example checks each plan with verify.Plan, as it does by default")
	flags.BoolVar(&s.alone, "alone", false, "run the example only")
	flags.StringVar(&s.profile, "cpuprofile", "", "`file` for a CPU profile of the example, of the first minute of its update")
	flags.DurationVar(&s.patience, "patience", 30*time.Minute, "how `long` one run may take")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if s.nodes < 1 || s.nodes > 9999 {
		return s, fmt.Errorf("-nodes %d: want 1 to 9999", s.nodes)
	}
	if s.podStart < 0 {
		return s, fmt.Errorf("-pod-start %v: want no less than 0", s.podStart)
	}
	if n, err := s.allowed(); err != nil {
		return s, err
	} else if n < 1 {
		return s, fmt.Errorf("-max-unavailable %s: an update needs a budget of at least one node", s.budget)
	}
	return s, nil
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) (err error) {
	s, err := parse(arguments, stderr)
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard())
	if s.profile != "" {
		if s.pprof, err = freeAddress(); err != nil {
			return err
		}
	}
	folder, err := os.MkdirTemp("", "daemonplan-sidebyside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary := filepath.Join(folder, "controller")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir, build.Stdout, build.Stderr = s.example, stderr, stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("-example %s: go build: %w", s.example, err)
	}
	var results []result
	for _, r := range runners(s, binary) {
		fmt.Fprintf(stderr, "%s: %d nodes\n", r.name, s.nodes)
		result, err := s.measure(ctx, r, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		results = append(results, result)
	}
	if _, err := io.WriteString(stdout, report(s, results)); err != nil {
		return err
	}
	return judge(s, results)
}
