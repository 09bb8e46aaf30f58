package differential_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/internal/differential"
)

// report describes a world that a comparison fails on, and saves it in a file, because what a test prints is indented. The
// file of the smallest one stays: it is the last that rapid tries.
func report(test string, w differential.World, err error) error {
	text, failed := objects(w)
	file := filepath.Join("testdata", "failed", test+".yaml")
	if failed == nil {
		failed = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
	}
	return fmt.Errorf("%w\n%w\n"+
		"in the root of the repository: go -C cmd/kubectl-daemonplan run . plan --controller daemonplan -f ../../internal/differential/%s --now %s\n%s",
		err, failed, file, w.Now.Format(time.RFC3339), text)
}

// objects prints a world as a manifest that kubectl daemonplan reads.
func objects(w differential.World) (string, error) {
	var text strings.Builder
	if w.Burst > 0 {
		fmt.Fprintf(&text, "# with a burst of %d\n", w.Burst)
	}
	list := []runtime.Object{w.Set.DeepCopy()}
	for _, r := range w.Revisions {
		list = append(list, r.DeepCopy())
	}
	for _, n := range w.Nodes {
		list = append(list, n.DeepCopy())
	}
	for _, p := range w.Pods {
		list = append(list, p.DeepCopy())
	}
	for _, object := range list {
		var kind schema.GroupVersionKind
		switch object.(type) {
		case *appsv1.DaemonSet:
			kind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
		case *appsv1.ControllerRevision:
			kind = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
		case *corev1.Node:
			kind = corev1.SchemeGroupVersion.WithKind("Node")
		case *corev1.Pod:
			kind = corev1.SchemeGroupVersion.WithKind("Pod")
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		data, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "---\n%s", data)
	}
	return text.String(), nil
}

// TestPrintedWorlds holds that what a failing comparison prints can be planned, and is the same world.
func TestPrintedWorlds(t *testing.T) {
	c := newController(t)
	for seed := range 5 {
		w := anyWorld().Example(seed)
		w.Burst = 0
		s, err := take(c, w)
		if err != nil {
			t.Fatal(err)
		}
		text := report(t.Name(), w, errors.New("an example")).Error()
		_, command, found := strings.Cut(text, "in the root of the repository: ")
		command, _, ended := strings.Cut(command, "\n")
		if !found || !ended {
			t.Fatalf("no command: %s", text)
		}
		words := append(strings.Fields(command), "-o", "json")
		run := exec.CommandContext(t.Context(), words[0], words[1:]...)
		run.Dir = filepath.Join("..", "..")
		answer, err := run.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var printed struct {
			Actions struct {
				Creates []struct{ Node string }
				Deletes []struct{ Pod string }
			}
		}
		if err := json.Unmarshal(answer, &printed); err != nil {
			t.Fatal(err)
		}
		var creates, deletes []string
		for _, a := range printed.Actions.Creates {
			creates = append(creates, a.Node)
		}
		for _, a := range printed.Actions.Deletes {
			deletes = append(deletes, a.Pod)
		}
		planned := peer.DecidedBy(s.plan)
		if !slices.Equal(creates, planned.Creates) || !slices.Equal(peer.Deleted.Of(deletes...), planned.Fates) {
			t.Errorf("creates on %v and deletes %v, want %v\n%s", creates, deletes, planned, text)
		}
	}
}
