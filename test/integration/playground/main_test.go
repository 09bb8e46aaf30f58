package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
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
)

func TestArguments(t *testing.T) {
	for _, arguments := range [][]string{{"-nodes", "-1"}, {"-nodes", "10000"}, {"-pod-start", "-1s"}, {"20"}} {
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
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS does not say where etcd and kube-apiserver are")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-nodes", "3", "-example", filepath.Join("..", "..", "..", "examples", "controller")}, writer, os.Stderr)
		_ = writer.CloseWithError(io.EOF)
		ended <- err
	}()
	var text bytes.Buffer
	kubeconfig := ""
	for buffer := make([]byte, 4096); kubeconfig == ""; {
		n, err := reader.Read(buffer)
		text.Write(buffer[:n])
		if found := regexp.MustCompile(`export KUBECONFIG=(.*)\n`).FindSubmatch(text.Bytes()); found != nil {
			kubeconfig = string(found[1])
		} else if err != nil {
			t.Fatalf("it said\n%s\nand ended: %v", text.String(), <-ended)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var nodes corev1.NodeList
	if err := api.List(ctx, &nodes); err != nil || len(nodes.Items) != 3 {
		t.Errorf("%d nodes, %v", len(nodes.Items), err)
	}
	interrupt()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if _, err := os.Stat(kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", kubeconfig, err)
	}
}
