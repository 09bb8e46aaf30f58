package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

// result of a case: what was predicted, and what happened.
type result struct {
	Name     string    `json:"name"`
	What     string    `json:"what"`
	Nodes    int       `json:"nodes"`
	Forecast forecast  `json:"forecast"`
	Seconds  []float64 `json:"seconds"`
	Peaks    []int     `json:"peaks"`
}

// forecast is what the command says.
type forecast struct {
	P5   float64 `json:"p5"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	Peak int     `json:"peak"`
}

// check makes the forecast of a case, and then rolls out.
func (s settings) check(ctx context.Context, c scenario, p programs, stderr io.Writer) (_ result, err error) {
	cluster, err := controlplane.Start(ctx, controlplane.Options{
		CRDs: []string{filepath.Join(s.root, "examples", "controller", "config", "crd")},
	})
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	f, err := install(cluster, &c, p)
	if err != nil {
		return result{}, fmt.Errorf("installation: %w", err)
	}
	fmt.Fprintf(stderr, "%s: %d nodes are installed\n", c.name, c.nodes)
	r := result{Name: c.name, What: c.what, Nodes: c.nodes}
	for version := 2; version < s.runs+2; version++ {
		if err := f.settle(); err != nil {
			return r, err
		}
		if version == 2 {
			if r.Forecast, err = s.forecast(f, p); err != nil {
				return r, err
			}
			fmt.Fprintf(stderr, "%s: predicted %.1fs (%.1fs to %.1fs), peak %d\n", c.name, r.Forecast.P50, r.Forecast.P5,
				r.Forecast.P95, r.Forecast.Peak)
		}
		took, peak, err := s.rollOut(f, version)
		if err != nil {
			return r, fmt.Errorf("rollout %d: %w", version-1, err)
		}
		fmt.Fprintf(stderr, "%s: real %.1fs, peak %d\n", c.name, took.Seconds(), peak)
		r.Seconds, r.Peaks = append(r.Seconds, took.Seconds()), append(r.Peaks, peak)
	}
	return r, nil
}

// settle waits until the limits of requests have filled up again, all pods are available, and the status says what there is.
func (f *fleet) settle() error {
	const quiet = 15 * time.Second
	return wait(f.cluster.Context(), quiet)
}

// wait fails if the context ends before the time is over.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// forecast dumps the cluster as a user does, and asks the command.
func (s settings) forecast(f *fleet, p programs) (forecast, error) {
	folder := f.cluster.Folder
	if err := f.heartbeat(); err != nil {
		return forecast{}, err
	}
	kubectl, err := controlplane.Binary("kubectl")
	if err != nil {
		return forecast{}, err
	}
	dump, err := output(exec.CommandContext(f.cluster.Context(), kubectl, "--kubeconfig", f.cluster.Kubeconfig, "get",
		"nodes,pods,controllerrevisions,ds", "-A", "-o", "json"))
	if err != nil {
		return forecast{}, err
	}
	ds, err := f.current(f.cluster.Context())
	if err != nil {
		return forecast{}, err
	}
	next, err := manifest(ds, 2, f.strategy)
	if err != nil {
		return forecast{}, err
	}
	for name, data := range map[string][]byte{"dump.json": dump, "next.json": next, "world.yaml": []byte(f.world())} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return forecast{}, err
		}
	}
	who := "kubernetes"
	if f.strategy != "" {
		who = "daemonplan"
	}
	command := exec.CommandContext(f.cluster.Context(), p.command, "forecast", "--dump", "dump.json", "--spec", "next.json",
		"--world", "world.yaml", "--controller", who, "--seeds", fmt.Sprint(s.seeds), "-o", "json")
	command.Dir = folder
	said, err := output(command)
	if err != nil {
		return forecast{}, err
	}
	return read(said)
}

// heartbeat has a kubelet say that its node is alive, as each does all the time: the latest time in a dump is taken for that of
// the dump.
func (f *fleet) heartbeat() error {
	var nodes corev1.NodeList
	if err := f.api.List(f.cluster.Context(), &nodes, client.Limit(1)); err != nil {
		return err
	}
	node := &nodes.Items[0]
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
	}
	return f.api.Status().Update(f.cluster.Context(), node)
}

// read takes the figures out of an answer: the time to the nodes that can be reached, and the most nodes down that the rollout
// takes.
func read(answer []byte) (forecast, error) {
	type quantiles struct{ P5, P50, P90, P95, Max *float64 }
	var said struct {
		Specs []struct {
			Headline                 string
			ReachableDurationSeconds quantiles
			PeakTakenNodes           quantiles
		}
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return forecast{}, err
	}
	if len(said.Specs) != 1 {
		return forecast{}, fmt.Errorf("the forecast is about %d specs", len(said.Specs))
	}
	spec := said.Specs[0]
	q, peak := spec.ReachableDurationSeconds, spec.PeakTakenNodes.Max
	if q.P5 == nil || q.P50 == nil || q.P90 == nil || q.P95 == nil || peak == nil {
		return forecast{}, fmt.Errorf("the forecast has no times: %s", spec.Headline)
	}
	return forecast{*q.P5, *q.P50, *q.P90, *q.P95, int(*peak)}, nil
}

func output(command *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	// A forecast ends with 1 if some nodes cannot be updated; what it says is on standard output all the same.
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, stderr.String())
	}
	return out, nil
}

// rollOut changes the image, and waits until all nodes that can be reached serve it.
func (s settings) rollOut(f *fleet, version int) (took time.Duration, peak int, err error) {
	ctx, cancel := context.WithTimeoutCause(f.cluster.Context(), s.patience,
		fmt.Errorf("it took longer than -patience %v", s.patience))
	defer cancel()
	ds, err := f.current(ctx)
	if err != nil {
		return 0, 0, err
	}
	before := ds.DeepCopy()
	ds.Spec.Template.Spec.Containers[0].Image = image(version)
	f.pods.Begin()
	begin := time.Now()
	if err := f.api.Patch(ctx, ds, client.MergeFrom(before)); err != nil {
		return 0, 0, err
	}
	if f.die > 0 {
		if err := wait(ctx, f.die-time.Since(begin)); err != nil {
			return 0, 0, err
		}
		if err := f.kill(ctx); err != nil {
			return 0, 0, err
		}
	}
	at, err := f.pods.Await(ctx, image(version), f.reachable())
	if err != nil {
		return 0, 0, err
	}
	peak = f.pods.Counts().Peak
	if f.die > 0 {
		if err := f.revive(); err != nil {
			return 0, 0, err
		}
		if _, err := f.pods.Await(ctx, image(version), f.nodes); err != nil {
			return 0, 0, err
		}
	}
	return at.Sub(begin), peak, nil
}
