package cli

import (
	_ "embed"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

// fleetFile has the form of what "kubectl get nodes,pods,controllerrevisions,ds -o yaml" prints, for a fleet of 62 nodes in the
// middle of a rollout. It is made up, and written by the tests.
//
//go:embed fleet.yaml
var fleetFile []byte

// kruiseFile has the form of what "kubectl get nodes,pods,controllerrevisions,daemonsets.apps.kruise.io -o yaml" prints, for 16
// nodes in the middle of a rollout in place. It is made up, and written by the tests.
//
//go:embed kruise.yaml
var kruiseFile []byte

// edsFile has the form of what "kubectl get nodes,pods,controllerrevisions,extendeddaemonsets -o yaml" prints, for the demo of
// ExtendedDaemonSet on three nodes while its canary runs. It is made up, and written by the tests.
//
//go:embed eds.yaml
var edsFile []byte

// These are the names of the embedded fleets in messages.
const (
	fleetName  = "fleet.yaml"
	kruiseName = "kruise.yaml"
	edsName    = "eds.yaml"
)

// These are the values of --example.
const (
	exampleKubernetes = "kubernetes"
	exampleKruise     = "kruise"
	exampleEDS        = "eds"
)

var examples = [...]string{exampleKubernetes, exampleKruise, exampleEDS}

// fleetTime is when the fleets were recorded.
func fleetTime() time.Time {
	return time.Date(2026, time.March, 2, 9, 15, 0, 0, time.UTC)
}

// addExample reads an embedded fleet.
func addExample(in *objects.Input, name string) error {
	switch name {
	case exampleKruise:
		return in.Add(objects.File{Name: kruiseName, Text: kruiseFile})
	case exampleEDS:
		return in.Add(objects.File{Name: edsName, Text: edsFile})
	default:
		return in.Add(objects.File{Name: fleetName, Text: fleetFile})
	}
}
