package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

func TestVersions(t *testing.T) {
	tests := []struct {
		name    string
		why     string
		version string
		want    string // part of the error; empty: none
	}{
		{name: "release", why: "a version", version: "v0.1.0"},
		{name: "candidate", why: "a version before one", version: "v0.2.0-rc.1"},
		{name: "first major", why: "v1 needs no other path", version: "v1.0.0"},
		{name: "empty", why: "make passes on what it is not given", version: "", want: "VERSION is empty; want one such as v0.1.0"},
		{name: "no v", why: "a tag of a module begins with v", version: "0.1.0", want: `VERSION "0.1.0" has no v before its number`},
		{name: "short", why: "the go command knows no v1", version: "v1", want: `VERSION "v1" is not vMAJOR.MINOR.PATCH`},
		{name: "leading zero", why: "a number is written in one way", version: "v0.01.0", want: "is not vMAJOR.MINOR.PATCH"},
		{name: "build", why: "the go command drops it", version: "v0.1.0+today", want: "is not vMAJOR.MINOR.PATCH"},
		{name: "second major", why: "its path would end in v2", version: "v2.0.0", want: "have to end in /v2"},
		{name: "pseudo-version", why: "it is a commit's", version: "v0.0.0-20260102150405-abcdefabcdef", want: "is a pseudo-version"},
		{name: "path", why: "the version is part of names of files", version: "v0.1.0/../..", want: "is not vMAJOR.MINOR.PATCH"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := checkVersion(test.version)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got error %v, want %q", test.why, err, test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name string
		why  string
		do   func(t *testing.T, root, out string)
		want string
	}{
		{
			name: "changed file", why: "nobody could make the release again",
			do:   func(t *testing.T, root, _ string) { write(t, root, "LICENSE", "mine") },
			want: " M LICENSE",
		},
		{
			name: "new file", why: "it is in no commit either",
			do:   func(t *testing.T, root, _ string) { write(t, root, "rollout.go", "package daemonplan") },
			want: "these files differ from",
		},
		{
			name: "nothing in the changelog", why: "users read there what is new",
			do: func(t *testing.T, root, _ string) {
				write(t, root, "CHANGELOG.md", "## [Unreleased]\n\n## [0.1.1]\n")
				save(t, root)
			},
			want: `CHANGELOG.md has no section "## [0.1.0]"`,
		},
		{
			name: "another release of this version", why: "a version that is published stays as it is",
			do: func(t *testing.T, root, _ string) {
				git(t, root, "tag", commandFolder+"/v0.1.0")
				write(t, root, "LICENSE", "another")
				save(t, root)
			},
			want: "there is a tag cmd/kubectl-daemonplan/v0.1.0, of another commit",
		},
		{
			name: "folder is there", why: "it may hold what somebody needs",
			do:   func(t *testing.T, _, out string) { write(t, out, "precious", "") },
			want: "is there already; remove it, or choose another folder with OUT=",
		},
		{
			name: "another module replaced", why: "go install refuses replace directives",
			do: func(t *testing.T, root, _ string) {
				name := commandFolder + "/go.mod"
				write(t, root, name, read(t, root, name)+"\nreplace example.com/a => ../a\n")
				save(t, root)
			},
			want: "cmd/kubectl-daemonplan/go.mod:9: replaces example.com/a",
		},
		{
			name: "no repository", why: "a release is made of a commit",
			do: func(t *testing.T, root, _ string) {
				if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
					t.Fatal(err)
				}
			},
			want: "not a git repository",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, out := t.TempDir(), filepath.Join(t.TempDir(), "new", "out")
			git(t, root, "init", "-q")
			write(t, root, "go.mod", "module "+libraryPath+"\n\ngo 1.26.0\n")
			write(t, root, "LICENSE", "yours")
			write(t, root, "CHANGELOG.md", "# Changelog\n\n## [0.1.0]\n")
			write(t, root, commandFolder+"/go.mod", "module "+commandPath+"\n\ngo 1.26.0\n\nrequire "+libraryPath+" v0.0.0\n\nreplace "+
				libraryPath+" => ../..\n")
			write(t, root, commandFolder+"/go.sum", "")
			save(t, root)
			test.do(t, root, out)
			before := tree(t, filepath.Dir(out))
			var stdout, stderr bytes.Buffer
			if code := run([]string{"v0.1.0", out}, root, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("%s: got exit code %d and %q, want 1 and %q", test.why, code, &stderr, test.want)
			}
			if diff := cmp.Diff(before, tree(t, filepath.Dir(out))); diff != "" {
				t.Errorf("something was left behind (-before +after):\n%s", diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"v0.1.0"}, {"v0.1.0", "out", "more"}, {"1", "out"}} {
		var stdout, stderr bytes.Buffer
		if code := run(args, t.TempDir(), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "v0.1.0") {
			t.Errorf("%q: got exit code %d and %q, want 2 and an example", args, code, &stderr)
		}
	}
}

// TestRelease makes a release of this work tree for this machine, and installs the command from it as users do.
func TestRelease(t *testing.T) {
	const version = "v0.1.0"
	root := copied(t)
	out := filepath.Join(t.TempDir(), "out")
	r := release{version: version, out: out, platforms: []platform{{runtime.GOOS, runtime.GOARCH}}}
	if err := r.make(root); err != nil {
		t.Fatal(err)
	}
	files := tree(t, out)

	t.Run("go install", func(t *testing.T) {
		bin := t.TempDir()
		env, err := goEnv(filepath.Join(out, "proxy"), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", "install", commandPath+"@"+version)
		cmd.Dir = bin // in no module
		// All other modules come from the cache of modules, where they were checked when they came.
		cmd.Env = append(env, "GOBIN="+bin, "GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off")
		if _, err := output(cmd); err != nil {
			t.Fatal(err)
		}
		showsVersion(t, filepath.Join(bin, commandName), version)
	})

	t.Run("archive", func(t *testing.T) {
		name := commandName + "_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
		sum := sha256.Sum256([]byte(files[name]))
		line := hex.EncodeToString(sum[:]) + "  " + name + "\n"
		if files["checksums.txt"] != line {
			t.Errorf("checksums.txt is %q, want %q", files["checksums.txt"], line)
		}
		unpacked := t.TempDir()
		packed := untar(t, files[name], r.source.time)
		for _, name := range []string{"LICENSE", commandName, completion, "man/man1/kubectl-daemonplan-explain.1"} {
			if packed[name] == "" {
				t.Errorf("it holds no %s, but %q", name, slices.Sorted(maps.Keys(packed)))
			}
		}
		for name, content := range packed {
			write(t, unpacked, name, content)
		}
		if read(t, unpacked, "LICENSE") != read(t, root, "LICENSE") {
			t.Error("the licence is another")
		}
		program := filepath.Join(unpacked, commandName)
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		showsVersion(t, program, version)
		for _, folder := range []string{root, r.work, os.Getenv("HOME")} {
			if folder != "" && strings.Contains(read(t, unpacked, commandName), folder+"/") {
				t.Errorf("the program holds the path %s of this machine", folder)
			}
		}
	})

	t.Run("krew", func(t *testing.T) {
		var plugin index.Plugin
		if err := yaml.UnmarshalStrict([]byte(files["daemonplan.yaml"]), &plugin); err != nil {
			t.Fatal(err)
		}
		if plugin.Name != "daemonplan" || plugin.Spec.Version != version || len(plugin.Spec.Platforms) != 1 {
			t.Errorf("the manifest is of %s %s for %d platforms", plugin.Name, plugin.Spec.Version, len(plugin.Spec.Platforms))
		}
		for _, p := range plugin.Spec.Platforms {
			content := files[filepath.Base(p.URI)]
			if sum := sha256.Sum256([]byte(content)); p.Sha256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%s does not have the checksum %s", p.URI, p.Sha256)
			}
			packed := untar(t, content, r.source.time)
			for _, file := range append(p.Files, index.FileOperation{From: p.Bin}) {
				if packed[file.From] == "" {
					t.Errorf("%s holds no %s", p.URI, file.From)
				}
			}
		}
	})

	t.Run("commit", func(t *testing.T) {
		changed := git(t, root, "diff", "--name-only", "HEAD", r.commit)
		if changed != commandFolder+"/go.mod\n"+commandFolder+"/go.sum\n" {
			t.Errorf("the commit changes %q", changed)
		}
		goMod := git(t, root, "show", r.commit+":"+commandFolder+"/go.mod")
		if strings.Contains(goMod, "replace") || !strings.Contains(goMod, libraryPath+" "+version+"\n") {
			t.Errorf("go.mod of the command is not that of a release:\n%s", goMod)
		}
		if status := git(t, root, "status", "--porcelain"); status != "" {
			t.Errorf("the work tree was changed:\n%s", status)
		}
	})

	// The release is made once by whoever tags it, and again where the tag arrives.
	t.Run("of the tagged commit", func(t *testing.T) {
		git(t, root, "tag", version, r.commit)
		git(t, root, "tag", commandFolder+"/"+version, r.commit)
		git(t, root, "checkout", "-q", version)
		again := release{version: version, out: filepath.Join(t.TempDir(), "out"), platforms: r.platforms}
		if err := again.make(root); err != nil {
			t.Fatal(err)
		}
		if again.commit != r.commit {
			t.Errorf("the commit to tag is %s, and was %s", again.commit, r.commit)
		}
		second := tree(t, again.out)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(second))); diff != "" {
			t.Fatalf("other files (-first +second):\n%s", diff)
		}
		for name := range files {
			if files[name] != second[name] {
				t.Errorf("%s has other bytes", name)
			}
		}
	})
}

func TestZipped(t *testing.T) {
	r := release{source: source{time: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)}}
	data, err := r.zipped([]entry{{"program.exe", 0o755, []byte("text")}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.zipped([]entry{{"program.exe", 0o755, []byte("text")}})
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the second time there are other bytes (%v)", err)
	}
	packed, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	f := packed.File[0]
	if f.Name != "program.exe" || f.Mode() != 0o755 || !f.Modified.Equal(r.source.time) {
		t.Errorf("got %s with mode %s of %s", f.Name, f.Mode(), f.Modified)
	}
}

// showsVersion checks what a program prints with --version.
func showsVersion(t *testing.T, program, version string) {
	t.Helper()
	printed, err := output(exec.Command(program, "--version"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(printed)), version) {
		t.Errorf("with --version it prints %q, want %s", printed, version)
	}
}

// untar unpacks an archive, all of whose files have to be of one time.
func untar(t *testing.T, data string, modified time.Time) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(modified) || header.Uid != 0 {
			t.Errorf("%s is of %s and user %d", header.Name, header.ModTime, header.Uid)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}

// copied is a repository with one commit of all files of this work tree, committed or not.
func copied(t *testing.T) string {
	t.Helper()
	here := strings.TrimSpace(git(t, ".", "rev-parse", "--show-toplevel"))
	root := t.TempDir()
	git(t, root, "init", "-q")
	for name := range strings.SplitSeq(git(t, here, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		content, err := os.ReadFile(filepath.Join(here, name))
		switch {
		case name == "" || errors.Is(err, fs.ErrNotExist): // removed, and not committed
		case err != nil:
			t.Fatal(err)
		default:
			write(t, root, name, string(content))
		}
	}
	save(t, root)
	return root
}

// save commits all files.
func save(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "-m", "test")
}

func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@example.com")
	}
	out, err := source{root: folder}.run(nil, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// tree is what the files below a folder hold, by their paths from there. A folder that is not there has none.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files[filepath.ToSlash(name)] = read(t, folder, name)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}
