// Command release makes a release: the commit to tag, both modules as a module proxy serves them, the command for each platform
// in an archive, their checksums, and the manifest with which krew installs the command. It uploads nothing, and changes no
// branch, tag or file of the repository.
//
//	go run . VERSION FOLDER
//
// The exit code is 0 if FOLDER holds the release, 2 for bad usage, and 1 otherwise; then FOLDER is not there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// These are the modules of a release, by the folders that hold them.
const (
	libraryPath   = "github.com/daemonplan/daemonplan"
	commandFolder = "cmd/kubectl-daemonplan"
	commandPath   = libraryPath + "/" + commandFolder
	commandName   = "kubectl-daemonplan"
)

// platform is what a program is built for.
type platform struct{ os, arch string }

// platforms are those that a release has the command for.
var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func main() { os.Exit(run(os.Args[1:], ".", os.Stdout, os.Stderr)) }

// run is main for the repository that holds a folder.
func run(args []string, folder string, stdout, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "release: want a version and a folder, as in: make release VERSION=v0.1.0")
		return 2
	}
	version, out := args[0], args[1]
	if err := checkVersion(version); err != nil {
		fmt.Fprintf(stderr, "release: %v\n", err)
		return 2
	}
	r := release{version: version, out: out, platforms: platforms}
	if err := r.make(folder); err != nil {
		fmt.Fprintf(stderr, "release: %v\n", err)
		return 1
	}
	fmt.Fprintf(stdout, "%s is in %s. To publish it:\n\n", version, out)
	fmt.Fprintf(stdout, "  git tag %s %s\n  git tag %s/%s %[2]s\n  git push origin %[1]s %[3]s/%[4]s\n",
		version, r.commit, commandFolder, version)
	return 0
}

// checkVersion refuses what is no version of both modules. Their paths end in no major version, so that v2 cannot be theirs.
func checkVersion(version string) error {
	switch {
	case version == "":
		return errors.New("VERSION is empty; want one such as v0.1.0")
	case !strings.HasPrefix(version, "v"):
		return fmt.Errorf("VERSION %q has no v before its number; want one such as v0.1.0", version)
	case semver.Canonical(version) != version:
		return fmt.Errorf("VERSION %q is not vMAJOR.MINOR.PATCH, such as v0.1.0, or v0.2.0-rc.1 for one before it", version)
	case module.IsPseudoVersion(version):
		return fmt.Errorf("VERSION %q is a pseudo-version, which the go command gives to commits without a tag", version)
	case module.Check(libraryPath, version) != nil:
		return fmt.Errorf("VERSION %q: the paths of the modules have to end in /%s for it", version, semver.Major(version))
	}
	return nil
}

// release is one release while it is made.
type release struct {
	version   string
	out       string
	platforms []platform

	source source // what it is made of
	commit string // to tag
	part   string // the folder that becomes out
	work   string // a folder for what nobody keeps
}

// make makes the release of what is checked out in the repository that holds a folder. The folder of the release appears when all
// of it is there.
func (r *release) make(folder string) (err error) {
	if _, err := os.Lstat(r.out); err == nil {
		return fmt.Errorf("%s is there already; remove it, or choose another folder with OUT=", r.out)
	}
	if r.source, err = open(folder); err != nil {
		return err
	}
	if err := r.source.ready(r.version); err != nil {
		return err
	}
	parent := filepath.Dir(r.out)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if r.part, err = os.MkdirTemp(parent, ".release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.part)) }()
	if r.work, err = os.MkdirTemp("", "release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	// Paths of proxies and of go build are absolute.
	if r.part, err = filepath.Abs(r.part); err != nil {
		return err
	}
	if err := r.modules(); err != nil {
		return err
	}
	archives, err := r.archives()
	if err != nil {
		return err
	}
	if err := r.krew(archives); err != nil {
		return err
	}
	if err := os.Chmod(r.part, 0o755); err != nil {
		return err
	}
	return os.Rename(r.part, r.out)
}
