package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// source is the commit that a release is made of.
type source struct {
	root string // of the work tree
	head string
	time time.Time // of the commit: the time of all files of a release
}

// open finds the commit that is checked out.
func open(folder string) (source, error) {
	s := source{root: folder}
	root, err := s.git("rev-parse", "--show-toplevel")
	if err != nil {
		return s, err
	}
	s.root = root
	text, err := s.git("log", "-1", "--format=%H %ct")
	if err != nil {
		return s, err
	}
	head, seconds, _ := strings.Cut(text, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("the time of commit %s: %w", head, err)
	}
	s.head, s.time = head, time.Unix(unix, 0).UTC()
	return s, nil
}

// ready refuses to make a release of what no commit holds, one whose changes are written down nowhere, and one that has been made
// of something else.
func (s source) ready(version string) error {
	changed, err := s.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is made of a commit, and these files differ from %s; commit, stash or remove them:\n%s",
			s.head[:12], changed)
	}
	changelog, err := s.git("show", "HEAD:CHANGELOG.md")
	if err != nil {
		return err
	}
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	if semver.Prerelease(version) == "" && !strings.Contains("\n"+changelog, "\n"+heading) {
		return fmt.Errorf("CHANGELOG.md has no section %q; move there what stands under Unreleased", heading)
	}
	for _, tag := range []string{version, commandFolder + "/" + version} {
		commit, err := s.git("rev-parse", "--quiet", "--verify", "refs/tags/"+tag+"^{commit}")
		if err == nil && commit != s.head {
			return fmt.Errorf("there is a tag %s, of another commit (%s); check that out, or choose another version", tag,
				commit[:12])
		}
	}
	return nil
}

// file reads a file of the commit.
func (s source) file(name string) ([]byte, error) {
	text, err := s.run(nil, nil, "show", "HEAD:"+name)
	return text, err
}

// commit makes a commit of what is checked out with other content for some files, and returns its name. It is on no branch. If
// the files have that content already, it is the commit that is checked out.
func (s source) commit(index, message string, files map[string][]byte) (string, error) {
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := s.run(env, nil, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	for name, content := range files {
		blob, err := s.run(env, content, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		entry := "100644," + strings.TrimSpace(string(blob)) + "," + name
		if _, err := s.run(env, nil, "update-index", "--cacheinfo", entry); err != nil {
			return "", err
		}
	}
	tree, err := s.run(env, nil, "write-tree")
	if err != nil {
		return "", err
	}
	was, err := s.git("rev-parse", "HEAD^{tree}")
	if err != nil || was == strings.TrimSpace(string(tree)) {
		return s.head, err
	}
	// The time of the commit is the time of the files, which then are the same when the release is made of this commit.
	date := fmt.Sprintf("%d +0000", s.time.Unix())
	env = append(env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	name, err := s.run(env, nil, "commit-tree", strings.TrimSpace(string(tree)), "-p", s.head, "-m", message)
	return strings.TrimSpace(string(name)), err
}

// git runs git, and returns what it prints without the line break at the end.
func (s source) git(args ...string) (string, error) {
	out, err := s.run(nil, nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}

func (s source) run(env []string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.root, append(os.Environ(), env...), bytes.NewReader(stdin)
	return output(cmd)
}

// output runs a program, and returns what it prints. The error has what it prints to standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		line := strings.Join(append([]string{filepath.Base(cmd.Path)}, cmd.Args[1:]...), " ")
		return nil, fmt.Errorf("%s: %w\n%s", line, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}
