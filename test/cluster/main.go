// Command cluster builds a Kubernetes control plane for tests: etcd and kube-apiserver, and if asked kube-scheduler,
// kube-controller-manager and kubectl, the controller of OpenKruise's Advanced DaemonSets, and KWOK, whose nodes exist as objects
// only. All come from their published modules at the versions that go.mod names, here or, for what cannot be built with the same
// libraries, in a module of its own. They go into a cache folder, whose path is printed; what is there already and up to date is
// left as it is.
//
//	export KUBEBUILDER_ASSETS=$(go run .)
//	export KUBEBUILDER_ASSETS=$(go run . kube-scheduler kube-controller-manager)
//
// The first build takes minutes, and about 2 GiB of memory.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// component is a binary of the control plane: the package at path, built in the folder of the module that requires it.
type component struct {
	name, path, module string
	always             bool
}

var components = []component{
	{"etcd", "go.etcd.io/etcd/server/v3", ".", true},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", ".", true},
	{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", ".", false},
	{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", ".", false},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl", ".", false},
	{"kruise", ".", "kruise", false},
	{"kwok", "sigs.k8s.io/kwok/cmd/kwok", "kwok", false},
}

// linkerFlags strip the binaries, and tell them the version that clients ask for.
const linkerFlags = "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("cache", "", "`folder` to build into (default: daemonplan/cluster in the user's cache folder)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	wanted, err := choose(flags.Args())
	if err != nil {
		return err
	}
	if *folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		*folder = filepath.Join(user, "daemonplan", "cluster")
	}
	key, err := keyOf("main.go", "go.mod", "go.sum",
		"kruise/main.go", "kruise/go.mod", "kruise/go.sum", "kwok/go.mod", "kwok/go.sum")
	if err != nil {
		return err
	}
	assets, err := filepath.Abs(filepath.Join(*folder, key))
	if err != nil {
		return err
	}
	for _, c := range wanted {
		if err := c.build(ctx, assets, stderr); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	_, err = fmt.Fprintln(stdout, assets)
	return err
}

// choose returns what is always built and what is asked for.
func choose(names []string) ([]component, error) {
	var wanted []component
	var known []string
	for _, c := range components {
		known = append(known, c.name)
		if c.always || slices.Contains(names, c.name) {
			wanted = append(wanted, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no component %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return wanted, nil
}

// keyOf names what the binaries are made from: the files and the version of Go.
func keyOf(files ...string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("run it in its own folder: %w", err)
		}
		fmt.Fprintln(hash, name, len(text))
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// build makes the binary unless it is there. It appears under its name when it is whole. Builds of several clones may share the
// folder, at once: each has a folder of its own until its binary is whole, and the last of equal binaries stays.
func (c component) build(ctx context.Context, assets string, stderr io.Writer) (err error) {
	to := filepath.Join(assets, c.name)
	if _, err := os.Stat(to); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(assets, 0o755); err != nil {
		return err
	}
	own, err := os.MkdirTemp(assets, c.name+"-unfinished-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	fmt.Fprintf(stderr, "building %s, which takes a while\n", c.name)
	unfinished, err := filepath.Abs(filepath.Join(own, c.name))
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", linkerFlags, "-o", unfinished, c.path)
	command.Dir = c.module
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stdout, command.Stderr = stderr, stderr
	if err := command.Run(); err != nil {
		return err
	}
	return os.Rename(unfinished, to)
}
