package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr/funcr"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// The cluster that all tests share; each has a namespace and nodes of its own. Nil: there are no binaries to run it.
var config *rest.Config

var scheme = runtime.NewScheme()

// behaviors are of the pods of some namespaces: a func(*corev1.Pod) kubelet.Behavior by namespace. Those of all others behave by
// their tag.
var behaviors sync.Map

func behaves(pod *corev1.Pod) kubelet.Behavior {
	if behavior, ok := behaviors.Load(pod.Namespace); ok {
		return behavior.(func(*corev1.Pod) kubelet.Behavior)(pod)
	}
	return kubelet.ByTag(pod)
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// Errors are part of most tests here; they are what one wants to see when one fails, and nothing else is.
	log.SetLogger(funcr.New(func(prefix, args string) {
		if !strings.HasPrefix(args, `"level"`) {
			fmt.Fprintln(os.Stderr, prefix, args)
		}
	}, funcr.Options{}))
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return 1, err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run(), nil
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "examples", "controller", "config", "crd")}, ErrorIfCRDPathMissing: true,
	}
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	if config, err = environment.Start(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	config.QPS, config.Burst = -1, -1
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	manager, err := ctrl.NewManager(rest.CopyConfig(config), ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return 1, err
	}
	agent := &kubelet.Agent{Client: manager.GetClient(), Start: 100 * time.Millisecond, Stop: 50 * time.Millisecond, Behaves: behaves}
	if err := agent.SetupWithManager(manager); err != nil {
		return 1, err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	code = m.Run()
	stop()
	if restarted != nil {
		_ = restarted.Process.Kill()
		_ = restarted.Wait()
	}
	return code, <-stopped
}
