package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("peersuite", flag.ContinueOnError)
	write := flags.Bool("write", false, "write the tables of docs/what-is-proved.md anew")
	plant := flags.Bool("bugs", false, "plant bugs in the library, and see a test fail for each")
	count := flags.Int("bench", 0, "run the controller's own benchmarks so many times, with the planner beside it, and no tests")
	kubelet := flags.Int("kubelet", 0, "ask the kubelet which containers so many updates in place restart, and no tests")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := goCommand(ctx, ".", "list", "-m", "-f", "{{.Dir}}", library)
	if err != nil {
		return err
	}
	w := newWorkspace(strings.TrimSpace(string(root)))
	defer func() { err = errors.Join(err, w.remove()) }()
	if *kubelet > 0 {
		w.dir += "-kubelet"
		return w.kubelet(ctx, *kubelet, out)
	}
	if err := w.fill(ctx); err != nil {
		return err
	}
	if *count > 0 {
		return w.benchmark(ctx, out, *count)
	}
	results, err := w.run(ctx)
	if err != nil {
		return err
	}
	rows, sum, problems := judge(results, expected)
	fmt.Fprintf(out, "%s\n%s\n", table(rows), summary(sum, w.version))
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	if *plant {
		if err := w.plantAll(ctx, out); err != nil {
			return err
		}
	}
	return hold(filepath.Join(w.root, "docs", "what-is-proved.md"), *write, map[string]string{
		"peersuite": summary(sum, w.version) + "\n" + table(rows), "peersuite bugs": bugTable(),
	})
}
