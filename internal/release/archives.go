package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// archive is one file of the release with the command for one platform.
type archive struct {
	platform
	name   string // of the file
	bin    string // of the program in it
	sha256 string
}

// entry is a file in an archive.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// archives builds the command for each platform, and writes the archives and their checksums. Equal commits, versions and
// versions of Go give equal bytes: the files have the time of the commit, and programs no path of this machine.
func (r *release) archives() ([]archive, error) {
	manuals, err := r.manuals()
	if err != nil {
		return nil, err
	}
	var archives []archive
	var sums strings.Builder
	for _, p := range r.platforms {
		a := archive{platform: p, bin: commandName}
		a.name = fmt.Sprintf("%s_%s_%s_%s.tar.gz", commandName, r.version, p.os, p.arch)
		pack := r.tarball
		if p.os == "windows" {
			a.bin += ".exe"
			a.name = strings.TrimSuffix(a.name, ".tar.gz") + ".zip"
			pack = r.zipped
		}
		program, err := r.build(p)
		if err != nil {
			return nil, err
		}
		files, err := r.besides(p, manuals)
		if err != nil {
			return nil, err
		}
		data, err := pack(append([]entry{{a.bin, 0o755, program}}, files...))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(r.part, a.name), data, 0o644); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		a.sha256 = hex.EncodeToString(sum[:])
		fmt.Fprintf(&sums, "%s  %s\n", a.sha256, a.name)
		archives = append(archives, a)
	}
	return archives, os.WriteFile(filepath.Join(r.part, "checksums.txt"), []byte(sums.String()), 0o644)
}

// completion is what kubectl runs to complete the arguments of the command. It has to be in the PATH.
const completion = "kubectl_complete-daemonplan"

// besides are the files that go into the archive for a platform beside the program. Windows has neither scripts of a shell nor
// manual pages.
func (r *release) besides(p platform, manuals []entry) ([]entry, error) {
	license, err := r.source.file("LICENSE")
	if err != nil {
		return nil, err
	}
	files := []entry{{"LICENSE", 0o644, license}}
	if p.os != "windows" {
		files = append(files, entry{completion, 0o755, []byte("#!/bin/sh\nexec " + commandName + " __complete \"$@\"\n")})
		files = append(files, manuals...)
	}
	return files, nil
}

// manuals are the manual pages.
func (r *release) manuals() ([]entry, error) {
	folder := filepath.Join(r.work, "man")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	date := fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.source.time.Unix())
	if err := r.goCommand([]string{date}, "run", "-trimpath", commandPath+"/internal/man", folder); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var manuals []entry
	for _, page := range pages { // in the order of names
		data, err := os.ReadFile(filepath.Join(folder, page.Name()))
		if err != nil {
			return nil, err
		}
		manuals = append(manuals, entry{"man/man1/" + page.Name(), 0o644, data})
	}
	return manuals, nil
}

// build builds the command for a platform.
func (r *release) build(p platform) ([]byte, error) {
	path := filepath.Join(r.work, "program")
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0"}
	if err := r.goCommand(env, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, commandPath); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// goCommand runs the go command on the modules of the release. All other modules come from the cache of modules, whose folder of
// downloads is a proxy, too, or else from where the go command gets them. What is downloaded is kept apart, so that no cache on
// this machine ever has a version that is not published.
func (r *release) goCommand(env []string, args ...string) error {
	base, err := goEnv(r.proxy(), r.work)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = r.work
	cmd.Env = append(append(base, "GOFLAGS=-mod=mod -modcacherw"), env...)
	_, err = output(cmd)
	return err
}

// goEnv is an environment in which the go command finds the modules of a release, and keeps what it downloads below a folder.
func goEnv(proxy, work string) ([]string, error) {
	out, err := output(exec.Command("go", "env", "GOPROXY", "GOMODCACHE", "GONOSUMDB"))
	if err != nil {
		return nil, err
	}
	values := strings.Split(string(out), "\n")
	usual, cache, unchecked := values[0], values[1], values[2]
	return append(os.Environ(),
		"GOPROXY="+fileURL(proxy)+","+fileURL(filepath.Join(cache, "cache", "download"))+","+usual,
		"GOMODCACHE="+filepath.Join(work, "modules"),
		"GONOSUMDB="+strings.Trim(unchecked+","+libraryPath+","+libraryPath+"/*", ","),
		"GOWORK=off"), nil
}

// fileURL is the address of a folder, with three slashes on Windows too, where paths begin with the letter of a drive.
func fileURL(path string) string {
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/")
}

// tarball packs files as .tar.gz.
func (r *release) tarball(files []entry) ([]byte, error) {
	var data bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&data, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := tar.Header{
			Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.source.time, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// zipped packs files as .zip.
func (r *release) zipped(files []entry) ([]byte, error) {
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, f := range files {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.source.time}
		header.SetMode(f.mode)
		part, err := w.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}
