package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

func TestArguments(t *testing.T) {
	for _, arguments := range [][]string{{"-nodes", "-1"}, {"-nodes", "10000"}, {"-pod-start", "-1s"}, {"20"}, {"-rollout", "-nodes", "14"}} {
		err := run(t.Context(), arguments, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), arguments[len(arguments)-1]) {
			t.Errorf("%v: %v, want an error that names it", arguments, err)
		}
	}
}

// What one is told to apply can be applied: the planner takes it.
func TestGuide(t *testing.T) {
	manifest, _, ok := strings.Cut(guide, "\n  END\n")
	_, manifest, found := strings.Cut(manifest, "<<'END'\n")
	if !ok || !found {
		t.Fatal("the guide has no manifest")
	}
	var set v1alpha1.PlannedDaemonSet
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(manifest, "%%", "%")), &set); err != nil {
		t.Fatal(err)
	}
	set.Namespace, set.UID = "default", "u"
	if _, err := rollout.New(set.RolloutSpec()); err != nil {
		t.Error(err)
	}
}

// The cluster is there when one is told so, and gone when it is interrupted.
func TestPlayground(t *testing.T) {
	kubeconfig := ""
	play(t, []string{"-nodes", "3"}, func(text string) {
		kubeconfig = regexp.MustCompile(`export KUBECONFIG=(.*)\n`).FindStringSubmatch(text)[1]
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		api, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var nodes corev1.NodeList
		if err := api.List(t.Context(), &nodes); err != nil || len(nodes.Items) != 3 {
			t.Errorf("%d nodes, %v", len(nodes.Items), err)
		}
	})
	if _, err := os.Stat(kubeconfig); kubeconfig != "" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", kubeconfig, err)
	}
}

// Whoever pastes all that one is told to paste installs the command, and sees what the text promises.
func TestRollout(t *testing.T) {
	for _, component := range []string{"kubectl", "kube-controller-manager"} {
		if _, err := controlplane.Binary(component); err != nil {
			t.Skip(err)
		}
	}
	play(t, []string{"-nodes", "15", "-pod-start", "100ms", "-rollout"}, func(text string) {
		var script strings.Builder
		for line := range strings.Lines(text) {
			if strings.Contains(line, "daemonplan diff") { // as of kubectl diff, 1 says that there is a difference
				line = strings.TrimRight(line, "\n") + " || test $? = 1\n"
			}
			if strings.HasPrefix(line, "  ") {
				script.WriteString(line)
			}
		}
		shell := exec.CommandContext(t.Context(), "sh", "-e")
		shell.Stdin, shell.Dir = strings.NewReader(script.String()), t.TempDir()
		modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		// What is installed goes away with the test.
		shell.Env = append(os.Environ(), "GOBIN=", "GOPATH="+t.TempDir(), "GOMODCACHE="+strings.TrimSpace(string(modules)))
		output, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		for _, want := range []string{
			"Updating (WaitingForAvailability): 6 of 14 nodes updated and available, 5 waiting for the budget",
			"3 pods are not ready.", "CrashLoopBackOff", "node-0003: ineligible", "Kubelet stopped posting node status.",
			`"registry.example/agent:v1" -> "registry.example/agent:v2" (restarts)`, "14 nodes are updated:",
			"as the API server would store it (dry run)", "every node that can be reached", "image updated",
		} {
			if !strings.Contains(string(output), want) {
				t.Errorf("lacks %q:\n%s", want, output)
			}
		}
	})
}

// play runs a playground, does something when it has said all, and interrupts it.
func play(t *testing.T, arguments []string, do func(text string)) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS does not say where etcd and kube-apiserver are")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append(arguments, "-root", filepath.Join("..", "..", "..")), writer, io.Discard)
		_ = writer.CloseWithError(io.EOF)
		ended <- err
	}()
	// All of it is written at once.
	buffer := make([]byte, 64<<10)
	n, err := reader.Read(buffer)
	if err != nil {
		t.Fatalf("it ended: %v", <-ended)
	}
	do(string(buffer[:n]))
	interrupt()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
