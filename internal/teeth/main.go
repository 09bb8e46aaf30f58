// Command teeth runs the tests of tests: planted bugs that properties have to notice, generators that have to reach everything,
// entries of tables of differences that have to be needed. They have the build tag teeth and stand in files named …teeth_test.go,
// so that they are not built into the everyday run.
//
//	go run ./internal/teeth                 # in all modules
//	go run ./internal/teeth -since HEAD~1   # of packages of which, or below which, something has changed since then
//	go run ./internal/teeth -list           # say what would be run
//
// A change outside of Go packages, such as of recorded cases in testdata, counts as one of the package that its folder belongs
// to. At the end it lists what failed; then it exits with 1.
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
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "teeth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("teeth", flag.ContinueOnError)
	flags.SetOutput(stderr)
	since := flags.String("since", "", "run those of packages in which, or below which, anything has changed since this `commit`")
	list := flags.Bool("list", false, "say what would be run, and run nothing")
	root := flags.String("root", ".", "`folder` of the repository")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see -help", flags.Arg(0))
	}
	found, err := find(*root)
	if err != nil {
		return err
	}
	if *since != "" {
		changed, err := changedFiles(ctx, *root, *since)
		if err != nil {
			return err
		}
		if found, err = concerned(ctx, *root, found, changed); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(stdout, "nothing that the tests of tests are about has changed")
		return err
	}
	var failed []string
	for _, module := range modulesOf(found) {
		packages, pattern := commandLine(found, module)
		fmt.Fprintf(stdout, "== %s: %s\n", module, strings.Join(packages, " "))
		if *list {
			continue
		}
		arguments := append([]string{"test", "-tags", "teeth", "-timeout", "1h", "-run", pattern}, packages...)
		command := exec.CommandContext(ctx, "go", arguments...)
		command.Dir = module
		command.Stdout, command.Stderr = stdout, stderr
		if err := command.Run(); err != nil {
			failed = append(failed, module)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("tests of tests fail in %s", strings.Join(failed, ", "))
	}
	return nil
}

// modulesOf lists the folders of the modules that have any, each once.
func modulesOf(found []toothed) []string {
	var modules []string
	for _, p := range found {
		modules = append(modules, p.module)
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// commandLine returns the packages of a module as the go command takes them, and the pattern of the tests to run there.
func commandLine(found []toothed, module string) (packages []string, pattern string) {
	var tests []string
	for _, p := range found {
		if p.module == module {
			packages = append(packages, "./"+p.folder)
			tests = append(tests, p.tests...)
		}
	}
	slices.Sort(tests)
	return packages, "^(" + strings.Join(slices.Compact(tests), "|") + ")$"
}
