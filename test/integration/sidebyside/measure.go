package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/test/integration/apilog"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// result of a run.
type result struct {
	name            string
	ours            bool
	install, update phase
	// memory is the most that the process held, in bytes.
	memory int64
	// twice is what was carried out twice, or not at all.
	twice []string
	// doubled are nodes that were seen with two live pods of one revision.
	doubled []string
}

// phase is one of the two things that a controller has to do.
type phase struct {
	// done is when all nodes served with the new image, and said when the status said so, since the change was sent.
	done, said time.Duration
	// cpu is what the process used until it was quiet again.
	cpu   time.Duration
	calls []apilog.Call
	// down is the most nodes without a serving pod at a time, of those that once had one.
	down int
}

// quiet is how long a controller sends nothing to count as being at rest, and look how often that is looked at.
const (
	quiet = 2 * time.Second
	look  = 100 * time.Millisecond
)

// measure runs a controller on a cluster of its own.
func (s settings) measure(ctx context.Context, r runner, stderr io.Writer) (_ result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("it took longer than -patience %v", s.patience))
	defer cancel()
	cluster, err := controlplane.Start(ctx, controlplane.Options{CRDs: []string{s.crds()}, Audit: []string{r.user}})
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	w, err := s.prepare(cluster, r)
	if err != nil {
		return result{}, err
	}
	result := result{name: r.name, ours: r.ours}
	for _, step := range []struct {
		name   string
		into   *phase
		image  string
		change func(context.Context) error
		file   string // for a profile; empty: none
	}{
		{"installation", &result.install, before, func(ctx context.Context) error {
			return w.api.Create(ctx, r.set.object())
		}, ""},
		{"update", &result.update, after, func(ctx context.Context) error {
			object := r.set.object()
			from := client.MergeFrom(object.DeepCopyObject().(client.Object)) //nolint:errcheck // a copy of an object is one
			r.set.update()
			return w.api.Patch(ctx, object, from)
		}, r.profile},
	} {
		written := func() error { return nil }
		if step.file != "" {
			written = profile(ctx, s.pprof, step.file)
		}
		if *step.into, err = w.phase(step.image, step.change); err != nil {
			return result, fmt.Errorf("%s: %w", step.name, err)
		}
		if err := written(); err != nil {
			return result, err
		}
		fmt.Fprintf(stderr, "%s: %s: %v, %d requests\n", r.name, step.name, step.into.done.Round(look), len(step.into.calls))
		result.doubled = append(result.doubled, w.pods.Counts().Doubled...)
		result.twice = append(result.twice, apilog.Missing(step.into.calls, w.nodes)...)
	}
	result.twice = append(result.twice, apilog.Twice(slices.Concat(result.install.calls, result.update.calls))...)
	usage, err := usageOf(w.process.PID)
	result.memory = usage.memory
	return result, err
}

// world is a cluster in which a controller waits for something to do.
type world struct {
	runner
	ctx     context.Context
	api     client.Client
	pods    *auditor.Auditor
	log     *apilog.Log
	process *controlplane.Process
	nodes   []string
}

func (s settings) prepare(cluster *controlplane.Cluster, r runner) (*world, error) {
	w := &world{runner: r, ctx: cluster.Context(), log: apilog.Open(cluster.AuditLog)}
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	if w.api, err = client.New(cluster.Config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if err := w.api.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	if err := cluster.AddNodes(w.ctx, s.nodes, nil); err != nil {
		return nil, err
	}
	var list corev1.NodeList
	if err := w.api.List(w.ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		w.nodes = append(w.nodes, list.Items[i].Name)
	}
	if err := cluster.RunKubelet(&kubelet.Agent{Start: s.podStart, Stop: s.podStart / 2, Scheduled: s.scheduler}); err != nil {
		return nil, err
	}
	if s.scheduler {
		if _, err := cluster.Scheduler("scheduler"); err != nil {
			return nil, err
		}
	}
	if w.pods, err = auditor.Watch(w.ctx, cluster.Config, namespace); err != nil {
		return nil, err
	}
	if w.process, err = r.start(cluster); err != nil {
		return nil, err
	}
	// A controller that is ready watches, and waits.
	var seen []apilog.Call
	err = w.rest(&seen, func() (bool, error) {
		for _, resource := range r.watches {
			if !slices.ContainsFunc(seen, func(c apilog.Call) bool { return c.Verb == "watch" && c.Resource == resource }) {
				return false, nil
			}
		}
		return true, nil
	})
	return w, err
}

// rest waits until something is so, and the controller sends nothing for a while, and collects what it sent. Watches that are
// begun again are no sign of work.
func (w *world) rest(calls *[]apilog.Call, ready func() (bool, error)) error {
	for last := time.Now(); ; {
		more, err := w.log.Next()
		if err != nil {
			return err
		}
		*calls = append(*calls, more...)
		ok, err := ready()
		if err != nil {
			return err
		}
		if !ok || slices.ContainsFunc(more, func(c apilog.Call) bool { return c.Verb != "watch" }) {
			last = time.Now()
		}
		if time.Since(last) > quiet {
			return nil
		}
		select {
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		case <-time.After(look):
		}
	}
}

// phase makes a change, and measures what follows.
func (w *world) phase(image string, change func(context.Context) error) (phase, error) {
	var p phase
	from, err := usageOf(w.process.PID)
	if err != nil {
		return p, err
	}
	w.pods.Begin()
	begin := time.Now()
	if err := change(w.ctx); err != nil {
		return p, err
	}
	at, err := w.pods.Await(w.ctx, image, len(w.nodes))
	if err != nil {
		return p, err
	}
	p.done = at.Sub(begin)
	err = w.rest(&p.calls, func() (bool, error) {
		if p.said == 0 {
			ok, err := says(w.ctx, w.api, w.set, len(w.nodes))
			if err != nil || !ok {
				return false, err
			}
			p.said = time.Since(begin)
		}
		return true, nil
	})
	if err != nil {
		return p, err
	}
	p.down = w.pods.Counts().Peak
	to, err := usageOf(w.process.PID)
	p.cpu = to.cpu - from.cpu
	return p, err
}

// usage of a process so far.
type usage struct {
	cpu    time.Duration
	memory int64 // the most so far, in bytes
}

func usageOf(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("it takes Linux to know what a process uses: %w", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	return parseUsage(string(stat), string(status))
}
