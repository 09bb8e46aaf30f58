// Package controlplane runs a small cluster on this machine: etcd and kube-apiserver, nodes that exist as objects only, and a
// kubelet for all of them; if asked the kube-scheduler and the DaemonSet controller of kube-controller-manager.
//
// The binaries are those of the folder that KUBEBUILDER_ASSETS names; `make cluster` builds them. etcd does not wait for the
// disk, as envtest has it. Nothing outlives the context that a cluster was started with.
package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Options of a cluster.
type Options struct {
	// CRDs are folders of definitions to install. Default: none.
	CRDs []string
	// Audit lists the users whose requests the API server logs, in the file [Cluster.AuditLog]: metadata of each, and the body
	// of those that create pods. Default: none, and no log.
	Audit []string
}

// Cluster that runs until its context ends.
type Cluster struct {
	// Config is the administrator's, and Kubeconfig the file that says the same. No client-side limit applies.
	Config     *rest.Config
	Kubeconfig string
	// Folder holds kubeconfigs and logs. It goes with the cluster.
	Folder string
	// AuditLog is the path of the audit log.
	AuditLog string

	environment *envtest.Environment
	context     context.Context
	cancel      context.CancelCauseFunc
	running     sync.WaitGroup // what talks to the API server, and ends before it does
	stopped     chan struct{}
	stopError   error
}

// ErrNoBinaries says that KUBEBUILDER_ASSETS is not set.
var ErrNoBinaries = errors.New("KUBEBUILDER_ASSETS does not say where etcd and kube-apiserver are: " +
	"run make cluster, which builds them, and set it to what that prints")

var errStopped = errors.New("the cluster was stopped")

// Start brings up etcd and kube-apiserver, and returns when they answer.
func Start(ctx context.Context, options Options) (_ *Cluster, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, ErrNoBinaries
	}
	for _, folder := range options.CRDs {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("folder of definitions: %w", err)
		}
	}
	c := &Cluster{stopped: make(chan struct{})}
	if c.Folder, err = os.MkdirTemp("", "daemonplan-cluster-"); err != nil {
		return nil, err
	}
	// Whatever the environment says, this is a cluster of its own: nobody's real one gets hundreds of nodes.
	c.environment = &envtest.Environment{
		CRDDirectoryPaths: options.CRDs, ErrorIfCRDPathMissing: true, UseExistingCluster: new(false),
	}
	if len(options.Audit) > 0 {
		if err := c.audit(options.Audit); err != nil {
			return nil, errors.Join(err, os.RemoveAll(c.Folder))
		}
	}
	if c.Config, err = c.environment.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd and kube-apiserver: %w", err), c.environment.Stop(), os.RemoveAll(c.Folder))
	}
	c.Config.QPS, c.Config.Burst = -1, -1
	c.context, c.cancel = context.WithCancelCause(ctx)
	go c.stopInTheEnd()
	if c.Kubeconfig, err = c.write("admin", c.environment.KubeConfig); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Context ends when the cluster does: with the context that it was started with, with Stop, or because something that runs in it
// ended by itself. [context.Cause] says why.
func (c *Cluster) Context() context.Context { return c.context }

// Stop ends all that runs in the cluster, and then the cluster, and waits for that.
func (c *Cluster) Stop() error {
	c.cancel(errStopped)
	<-c.stopped
	return c.stopError
}

func (c *Cluster) stopInTheEnd() {
	<-c.context.Done()
	c.running.Wait()
	c.stopError = errors.Join(c.environment.Stop(), os.RemoveAll(c.Folder))
	close(c.stopped)
}

// User makes a user who may do everything, and returns the path of a kubeconfig. The audit log tells users apart by name.
func (c *Cluster) User(name string) (kubeconfig string, err error) {
	user, err := c.environment.AddUser(envtest.User{Name: name, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return "", fmt.Errorf("user %s: %w", name, err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		return "", fmt.Errorf("user %s: %w", name, err)
	}
	return c.write(name, text)
}

func (c *Cluster) write(name string, kubeconfig []byte) (string, error) {
	path := filepath.Join(c.Folder, name+".kubeconfig")
	return path, os.WriteFile(path, kubeconfig, 0o600)
}

// audit has the API server log what these users do.
func (c *Cluster) audit(users []string) error {
	pods := []map[string]any{{"group": "", "resources": []string{"pods"}}}
	policy, err := json.Marshal(map[string]any{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": []string{"RequestReceived"},
		"rules": []map[string]any{
			// The name of a pod is made by the server: which node a pod is for stands in the body only.
			{"level": "Request", "users": users, "verbs": []string{"create"}, "resources": pods},
			{"level": "Metadata", "users": users},
			{"level": "None"},
		},
	})
	if err != nil {
		return err
	}
	path := filepath.Join(c.Folder, "audit-policy.json")
	if err := os.WriteFile(path, policy, 0o600); err != nil {
		return err
	}
	c.AuditLog = filepath.Join(c.Folder, "audit.log")
	// A request is answered after it was logged, and the log is never split.
	c.environment.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", path).
		Set("audit-log-path", c.AuditLog).Set("audit-log-mode", "blocking").Set("audit-log-maxsize", "100000")
	return nil
}

// Binary is the path of a component that `make cluster` can build.
func Binary(name string) (string, error) {
	path := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s in the folder that KUBEBUILDER_ASSETS names: make cluster COMPONENTS=%s builds it",
			name, name)
	}
	return path, err
}

// DaemonSetController runs kube-controller-manager with its DaemonSet controller only, as that user. More arguments come after
// the others, and so prevail.
func (c *Cluster) DaemonSetController(user string, arguments ...string) (*Process, error) {
	return c.Component("kube-controller-manager", user, slices.Concat([]string{
		"--controllers=daemonset-controller", "--use-service-account-credentials=false",
		"--leader-elect=false", "--secure-port=0",
	}, arguments)...)
}

// Scheduler runs kube-scheduler, as that user. The [kubelet.Agent] is to leave the binding to it.
func (c *Cluster) Scheduler(user string, arguments ...string) (*Process, error) {
	return c.Component("kube-scheduler", user, slices.Concat([]string{"--leader-elect=false", "--secure-port=0"}, arguments)...)
}

// Component runs a binary that `make cluster` has built, as that user.
func (c *Cluster) Component(name, user string, arguments ...string) (*Process, error) {
	binary, err := Binary(name)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.User(user)
	if err != nil {
		return nil, err
	}
	return c.Run(name, binary, append([]string{"--kubeconfig=" + kubeconfig}, arguments...)...)
}
