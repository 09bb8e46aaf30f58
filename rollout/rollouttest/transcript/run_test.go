package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// recordedTB is a test that takes down how it fails, and goes on.
type recordedTB struct{ errors, fatals []string }

func (*recordedTB) Helper() {}
func (r *recordedTB) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recordedTB) Fatalf(format string, args ...any) {
	r.fatals = append(r.fatals, fmt.Sprintf(format, args...))
}

func writeStory(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRunReportsWhatDiffers(t *testing.T) {
	file := writeStory(t, story("step\nexpect actions deletes=1")+"nothing else\n")
	r := &recordedTB{}
	transcript.Run(r, []string{file}, false)
	if len(r.fatals) != 0 || len(r.errors) != 2 {
		t.Fatalf("reported %q and %q, want a failed expectation and a difference", r.errors, r.fatals)
	}
	if want := file + ":10: expect actions deletes=1: deletes is 0, not 1"; !strings.HasPrefix(r.errors[0], want) {
		t.Errorf("reported %q, want what begins with %q", r.errors[0], want)
	}
	for _, want := range []string{file + ": what is planned differs", `"nothing else"`, `"nothing to do"`} {
		if !strings.Contains(r.errors[1], want) {
			t.Errorf("the difference lacks %q:\n%s", want, r.errors[1])
		}
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "nothing else") {
		t.Errorf("the file was written without being told to (error %v):\n%s", err, data)
	}
}

func TestRunUpdates(t *testing.T) {
	file := writeStory(t, story("step\nexpect actions deletes=1")+"nothing else\n")
	r := &recordedTB{}
	transcript.Run(r, []string{file}, true)
	if len(r.fatals) != 0 || len(r.errors) != 1 || !strings.Contains(r.errors[0], "expect actions deletes=1") {
		t.Fatalf("reported %q and %q, want the failed expectation only", r.errors, r.fatals)
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "nothing else") || !strings.Contains(string(data), "expect actions deletes=1") {
		t.Errorf("the answers were not written, or the expectation was (error %v):\n%s", err, data)
	}
	again := &recordedTB{}
	transcript.Run(again, []string{file}, false)
	if len(again.errors) != 1 || strings.Contains(again.errors[0], "differs") {
		t.Errorf("after an update the transcript still differs: %q", again.errors)
	}
}

func TestRunDoesNotUpdateWhatCannotBePlayed(t *testing.T) {
	text := story("fly")
	file := writeStory(t, text)
	r := &recordedTB{}
	transcript.Run(r, []string{file}, true)
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], file+":9: fly: there is no command of that name") {
		t.Errorf("reported %q", r.errors)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text {
		t.Errorf("the file was changed (error %v):\n%s", err, data)
	}
}

// A transcript that breaks the form fails with its line, too.
func TestRunMalformed(t *testing.T) {
	file := writeStory(t, "status\n")
	r := &recordedTB{}
	transcript.Run(r, []string{file}, false)
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], file+":1: a transcript begins with") {
		t.Errorf("reported %q", r.errors)
	}
}

// A test of nothing must not pass.
func TestRunNothing(t *testing.T) {
	for name, files := range map[string][]string{"no files": nil, "a missing file": {filepath.Join(t.TempDir(), "none.txt")}} {
		r := &recordedTB{}
		transcript.Run(r, files, false)
		if len(r.fatals) != 1 || len(r.errors) != 0 {
			t.Errorf("%s: reported %q and %q", name, r.errors, r.fatals)
		}
	}
}

// What several commands are made of has lines of its own; the failure has the line of the transcript all the same.
func TestRunReportsTheLine(t *testing.T) {
	file := writeStory(t, story("cluster start=soon stop=later"))
	r := &recordedTB{}
	transcript.Run(r, []string{file}, false)
	if want := file + ":9: cluster start=soon stop=later: start: "; len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], want) {
		t.Errorf("reported %q, want one that begins with %q", r.errors, want)
	}
}

// A transcript that could not be written must not pass for one that was.
func TestRunReportsWhatItCannotWrite(t *testing.T) {
	file := writeStory(t, "# Files.\n\n# Why.\ncluster nodes=a\napply gone.yaml\ninstall\n----\n")
	r := &recordedTB{}
	transcript.Run(r, []string{file}, true, transcript.WithFiles(func(string) ([]byte, error) {
		return []byte(simple("agent")), os.RemoveAll(filepath.Dir(file))
	}))
	if len(r.errors) != 0 || len(r.fatals) != 1 || !strings.Contains(r.fatals[0], file) {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
}

// A name that begins at the root is not looked for beside the transcript.
func TestRunReadsFilesAnywhere(t *testing.T) {
	set := writeStory(t, simple("agent"))
	file := writeStory(t, "# Files.\n\n# Why.\ncluster nodes=a\napply "+set+"\nspec image=v2\nexpect status desired=1\n----\n")
	r := &recordedTB{}
	transcript.Run(r, []string{file}, false)
	if len(r.errors)+len(r.fatals) != 0 {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
}

// A file is read beside the transcript, or where WithFiles says.
func TestApplyFiles(t *testing.T) {
	const set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x}\nspec:\n  selector: {matchLabels: {app: x}}\n  template:\n" +
		"    metadata: {labels: {app: x}}\n    spec: {containers: [{name: main, image: a}]}\n"
	tests := []struct{ name, why, file, want string }{
		{"one set", "it is applied", set, ""},
		{"among others", "they are of no interest", "apiVersion: v1\nkind: Service\n---\n" + set, ""},
		{"two sets", "which one is meant is not said", set + "---\n" + set, "document 2: there is a set already"},
		{"a setting beside it", "it is of interest", set + "---\napiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\n" +
			"metadata: {name: s}\nspec: {reference: {kind: ExtendedDaemonSet, name: x}, nodeSelector: {}, containers: [{name: main}]}\n", ""},
		{"none", "there is nothing to apply", "apiVersion: v1\nkind: Service\n", "holds no set"},
		{"unreadable", "it is no manifest", "a: [", "document 1: "},
		{"a broken setting", "it would be left out", set + "---\napiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\n", "document 2: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := transcript.Play("# Files.\n\n# Why.\ncluster nodes=a\napply set.yaml\ninstall\n----\n", transcript.WithFiles(func(name string) ([]byte, error) {
				if name != "set.yaml" {
					return nil, os.ErrNotExist
				}
				return []byte(tt.file), nil
			}))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q: %s", err, tt.want, tt.why)
			}
		})
	}
}

// A spec from Go has no manifest; editing the one before it would bring that back.
func TestApplySpecHasNoManifest(t *testing.T) {
	files := transcript.WithFiles(func(string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", "manifests", "agent.yaml")) })
	_, err := transcript.Play("# Edited.\n\n# Why.\ncluster nodes=a\napply agent.yaml\napply spec=mine\nedit a=b\n----\n", files,
		transcript.WithSpec("mine", kit.Spec("agent")))
	if err == nil || !strings.HasPrefix(err.Error(), "7: edit a=b: no manifest was applied yet") {
		t.Errorf("error %v", err)
	}
}

// A directory without transcripts is a test of nothing.
func TestRunDirOfNothing(t *testing.T) {
	r := &nested{}
	transcript.RunDir(r, t.TempDir(), false)
	if len(r.fatals) != 1 || !strings.Contains(r.fatals[0], "no transcripts found") {
		t.Errorf("reported %q", r.fatals)
	}
}

// Each transcript of a directory is played, and fails for itself.
func TestRunDirPlaysAll(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"first.txt", "second.txt", "notes.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(story("fly")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &nested{}
	transcript.RunDir(r, dir, false)
	if len(r.fatals) != 0 || len(r.errors) != 2 || !strings.Contains(r.errors[0], "first.txt:9: fly") ||
		!strings.Contains(r.errors[1], "second.txt:9: fly") {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
}

// nested is a recordedTB with subtests.
type nested struct{ recordedTB }

func (n *nested) Run(_ string, test func(*nested)) bool {
	test(n)
	return len(n.errors)+len(n.fatals) == 0
}
