// Command playground brings up a small cluster on this machine, and runs it until it is interrupted: for those who want to see
// the example controller at work, or with -rollout the command kubectl daemonplan. Nodes exist as objects only; what happens to
// pods is up to the kubelet of the integration tests. In the folder test/integration:
//
//	KUBEBUILDER_ASSETS=$(cd ../cluster && go run . kubectl) go run ./playground
//	KUBEBUILDER_ASSETS=$(cd ../cluster && go run . kubectl kube-controller-manager) go run ./playground -rollout
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(stderr)
	nodes := flags.Int("nodes", 20, "how `many` nodes")
	start := flags.Duration("pod-start", 2*time.Second, "how `long` containers take to be ready")
	rollout := flags.Bool("rollout", false, "run the DaemonSet controller of Kubernetes, and have it get stuck in a rollout")
	root := flags.String("root", filepath.Join("..", ".."), "`folder` of the library")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	case *nodes < 0 || *nodes > 9999:
		return fmt.Errorf("-nodes %d: want 0 to 9999", *nodes)
	case *rollout && *nodes < leastNodes:
		return fmt.Errorf("-nodes %d: want %d or more with -rollout", *nodes, leastNodes)
	case *start < 0:
		return fmt.Errorf("-pod-start %v: want no less than 0", *start)
	}
	folder, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	controller, command := filepath.Join(folder, "examples", "controller"), filepath.Join(folder, "cmd", "kubectl-daemonplan")
	log.SetLogger(logr.Discard())
	cluster, err := controlplane.Start(ctx, controlplane.Options{CRDs: []string{filepath.Join(controller, "config", "crd")}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if err := cluster.AddNodes(ctx, *nodes, inZone); err != nil {
		return err
	}
	agent := &kubelet.Agent{Start: *start, Stop: *start / 2, Behaves: kubelet.ByTag}
	if *rollout {
		agent.Behaves = (&fleet{}).behaves
	}
	if err := cluster.RunKubelet(agent); err != nil {
		return err
	}
	if *rollout {
		fmt.Fprintln(stderr, "A DaemonSet is installed, and updated until it gets stuck.")
		if err := getStuck(ctx, cluster, *nodes); err != nil {
			return err
		}
		fmt.Fprintf(stdout, rolloutGuide, *nodes, cluster.Kubeconfig, kubectl(), command)
	} else {
		fmt.Fprintf(stdout, guide, *nodes, cluster.Kubeconfig, kubectl(), controller)
	}
	<-cluster.Context().Done()
	if ctx.Err() == nil {
		return context.Cause(cluster.Context())
	}
	return nil
}

// inZone spreads nodes over three zones.
func inZone(i int) map[string]string {
	return map[string]string{"topology.kubernetes.io/zone": [...]string{"a", "b", "c"}[i%3]}
}

// kubectl says where there is one.
func kubectl() string {
	if path, err := controlplane.Binary("kubectl"); err == nil {
		return fmt.Sprintf("alias kubectl=%s", path)
	}
	if path, err := exec.LookPath("kubectl"); err == nil {
		return fmt.Sprintf("kubectl version    # %s", path)
	}
	return "# There is no kubectl: make playground COMPONENTS=kubectl builds one."
}

const guide = `A cluster of %d nodes runs. They exist as objects only: pods that are pinned to one, as daemon pods are, get ready
after a while, and those of an image with the tag "broken" crash. Interrupt it (Ctrl-C) to end it; nothing remains.

In another terminal:

  export KUBECONFIG=%s
  %s
  kubectl get nodes

The controller, in a third one with the same KUBECONFIG:

  cd %s
  go run . -leader-elect=false -metrics-bind-address=0 -health-probe-bind-address=0

Then give it something to do, and watch:

  kubectl apply -f - <<'END'
  apiVersion: daemonplan.io/v1alpha1
  kind: PlannedDaemonSet
  metadata: {name: agent}
  spec:
    selector: {matchLabels: {app: agent}}
    template:
      metadata: {labels: {app: agent}}
      spec:
        terminationGracePeriodSeconds: 1
        containers: [{name: agent, image: "registry.example/agent:v1"}]
    updateStrategy:
      maxUnavailable: 10%%
      canary: {replicas: 1, duration: 30s, noRestartsDuration: 30s, autoFail: {maxRestarts: 2}}
  END
  kubectl get planneddaemonset agent --watch
  image() {
    echo '[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/agent:'$1'"}]'
  }
  kubectl patch planneddaemonset agent --type json -p "$(image v2)"        # a canary first, then the others
  kubectl patch planneddaemonset agent --type json -p "$(image broken)"    # the canary fails, and its node goes back
  kubectl describe planneddaemonset agent
`
