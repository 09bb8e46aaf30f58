// Command minimal-controller runs the set of a ConfigMap of the cluster of your kubeconfig.
package main

import (
	"flag"
	"log"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/daemonplan/daemonplan/examples/minimal-controller/minimal"
)

func main() {
	namespace, name := flag.String("namespace", "default", "of the ConfigMap"), flag.String("name", "agent", "of the ConfigMap")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err == nil {
		err = minimal.Run(ctrl.SetupSignalHandler(), manager, *namespace, *name)
	}
	if err != nil {
		log.Fatal(err)
	}
}
