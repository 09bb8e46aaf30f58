package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr/funcr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimeconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// atOnce is how many nodes are made at a time.
const atOnce = 16

// AddNodes makes so many nodes, node-0000 and so on, that are ready. Labels are those of the node with that number; nil: none.
func (c *Cluster) AddNodes(ctx context.Context, count int, labels func(i int) map[string]string) error {
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range count {
		group.Go(func() error {
			node := kubelet.Node(fmt.Sprintf("node-%04d", i), nil)
			if labels != nil {
				node.Labels = labels(i)
			}
			if err := api.Create(ctx, node); err != nil {
				return fmt.Errorf("node %s: %w", node.Name, err)
			}
			if err := kubelet.MakeReady(ctx, api, node); err != nil {
				return fmt.Errorf("node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// RunKubelet has the agent run the pods of all nodes, and returns when it sees them. It logs to kubelet.log.
func (c *Cluster) RunKubelet(agent *kubelet.Agent) error {
	log, err := os.Create(filepath.Join(c.Folder, "kubelet.log"))
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(rest.CopyConfig(c.Config), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: runtimeconfig.Controller{SkipNameValidation: new(true)},
		Logger: funcr.New(func(prefix, args string) { fmt.Fprintln(log, prefix, args) }, funcr.Options{}),
	})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	agent.Client = manager.GetClient()
	if err := agent.SetupWithManager(manager); err != nil {
		return errors.Join(err, log.Close())
	}
	c.running.Go(func() {
		err := manager.Start(c.context)
		_ = log.Close()
		if c.context.Err() == nil {
			c.cancel(fmt.Errorf("the kubelet ended: %w", err))
		}
	})
	if !manager.GetCache().WaitForCacheSync(c.context) {
		return fmt.Errorf("the kubelet sees no pods: %w", context.Cause(c.context))
	}
	return nil
}
