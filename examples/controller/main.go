// Command controller runs PlannedDaemonSets on a cluster. It is a controller to start from. The library does everything that is
// hard. This program is the part around it that talks to the API server.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/examples/controller/controller"
	"github.com/daemonplan/daemonplan/predownload"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func run() error {
	metrics := flag.String("metrics-bind-address", ":8080", "`address` of the metrics; 0: none")
	probes := flag.String("health-probe-bind-address", ":8081", "`address` of /healthz and /readyz")
	elect := flag.Bool("leader-elect", true, "work only while leading: needed with more than one replica")
	pprof := flag.String("pprof-bind-address", "0", "`address` of the profiles of package net/http/pprof; 0: none")
	verify := flag.Bool("verify", true, "have a verify.Verifier agree with each plan before it is executed")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *probes, PprofBindAddress: *pprof,
		Cache:          cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		LeaderElection: *elect, LeaderElectionID: "daemonplan.io", LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	has := func(kind schema.GroupVersionKind) (bool, error) {
		_, err := manager.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	}
	pullJobs, err := has(predownload.PullJobKind())
	if err != nil {
		return err
	}
	planned, err := has(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	if err != nil {
		return err
	}
	kinds := []controller.Kind{controller.Annotated{}}
	if planned {
		kinds = append(kinds, controller.Planned{})
	} else {
		ctrl.Log.Info("there is no CRD of PlannedDaemonSets: only annotated DaemonSets are rolled out until the next start")
	}
	for _, kind := range kinds {
		reconciler := &controller.Reconciler{
			Client: manager.GetClient(), Cache: manager.GetCache(), Live: manager.GetAPIReader(), Clock: clock.RealClock{},
			Events: manager.GetEventRecorder("daemonplan.io/controller"), Kind: kind, Verify: *verify, ImagePullJobs: pullJobs,
		}
		if err := reconciler.SetupWithManager(manager); err != nil {
			return err
		}
	}
	err = errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("ping", healthz.Ping))
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
