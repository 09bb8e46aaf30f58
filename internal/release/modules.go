package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// proxy is the folder of the release that has both modules as GOPROXY=file://… reads them.
func (r *release) proxy() string { return filepath.Join(r.part, "proxy") }

// modules makes the commit to tag, in which the command requires the library by version and not by folder, and writes both
// modules to the proxy.
func (r *release) modules() error {
	// A clone, because the package that makes modules of commits knows no work trees beside the first. It has no files of its
	// own.
	clone := filepath.Join(r.work, "clone")
	if _, err := r.source.git("clone", "--quiet", "--no-checkout", "--shared", r.source.root, clone); err != nil {
		return err
	}
	goMod, err := r.source.file("go.mod")
	if err != nil {
		return err
	}
	// The library is the same in both commits: its module ends where that of the command begins.
	sums, err := r.publish(clone, libraryPath, r.source.head, "", goMod)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if files[commandFolder+"/go.mod"], err = r.commandMod(); err != nil {
		return err
	}
	commandSum, err := r.source.file(commandFolder + "/go.sum")
	if err != nil {
		return err
	}
	files[commandFolder+"/go.sum"] = withSums(commandSum, sums)
	index := filepath.Join(r.work, "index")
	if r.commit, err = r.source.commit(index, "Release "+r.version, files); err != nil {
		return err
	}
	sums, err = r.publish(clone, commandPath, r.commit, commandFolder, files[commandFolder+"/go.mod"])
	if err != nil {
		return err
	}
	// A module that requires the command, to build it as those do who install it: the version that it prints is that of its
	// module.
	for name, data := range map[string][]byte{
		"go.mod": fmt.Appendf(nil, "module release\n\ngo 1.26.0\n\nrequire %s %s\n", commandPath, r.version),
		"go.sum": withSums(files[commandFolder+"/go.sum"], sums),
	} {
		if err := os.WriteFile(filepath.Join(r.work, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commandMod is go.mod of the command without replace directives.
func (r *release) commandMod() ([]byte, error) {
	name := commandFolder + "/go.mod"
	data, err := r.source.file(name)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	for _, replace := range file.Replace {
		if replace.Old.Path != libraryPath {
			return nil, fmt.Errorf("%s:%d: replaces %s, and go install refuses a module with replace directives; "+
				"require a published version of it", name, replace.Syntax.Start.Line, replace.Old.Path)
		}
	}
	if err := file.DropReplace(libraryPath, ""); err != nil {
		return nil, err
	}
	if err := file.AddRequire(libraryPath, r.version); err != nil {
		return nil, err
	}
	file.Cleanup()
	return file.Format()
}

// publish writes a module of a commit to the proxy, as the go command makes it of a repository, and returns its lines of go.sum.
func (r *release) publish(repo, path, commit, folder string, goMod []byte) (map[module.Version]string, error) {
	dir := filepath.Join(r.proxy(), filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	m := module.Version{Path: path, Version: r.version}
	var content bytes.Buffer
	if err := zip.CreateFromVCS(&content, m, repo, commit, folder); err != nil {
		return nil, err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{r.version, r.source.time})
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{
		r.version + ".zip":  content.Bytes(),
		r.version + ".mod":  goMod,
		r.version + ".info": info,
		"list":              []byte(r.version + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	sum, err := dirhash.HashZip(filepath.Join(dir, r.version+".zip"), dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	if err != nil {
		return nil, err
	}
	return map[module.Version]string{
		m: sum,
		{Path: path, Version: r.version + "/go.mod"}: modSum,
	}, nil
}

// withSums adds lines to go.sum, in place of those of the same modules, and sorts it as the go command does.
func withSums(goSum []byte, sums map[module.Version]string) []byte {
	all := map[module.Version]string{}
	for line := range strings.Lines(string(goSum)) {
		if f := strings.Fields(line); len(f) == 3 {
			all[module.Version{Path: f[0], Version: f[1]}] = f[2]
		}
	}
	for m := range all {
		for added := range sums {
			if m.Path == added.Path {
				delete(all, m)
			}
		}
	}
	maps.Copy(all, sums)
	list := slices.Collect(maps.Keys(all))
	module.Sort(list)
	var text strings.Builder
	for _, m := range list {
		fmt.Fprintf(&text, "%s %s %s\n", m.Path, m.Version, all[m])
	}
	return []byte(text.String())
}
