package main

import (
	_ "embed"
	"time"
)

// fleetFile is what "kubectl get nodes,pods,controllerrevisions,ds -o yaml" printed for a fleet of 62 nodes in the
// middle of a rollout. It is made up; the tests write it.
//
//go:embed fleet.yaml
var fleetFile []byte

// kruiseFile is what "kubectl get nodes,pods,controllerrevisions,daemonsets.apps.kruise.io -o yaml" printed for 16 nodes
// in the middle of a rollout in place. It is made up; the tests write it.
//
//go:embed kruise.yaml
var kruiseFile []byte

// edsFile is what "kubectl get nodes,pods,controllerrevisions,extendeddaemonsets -o yaml" printed for the demo of
// ExtendedDaemonSet, three nodes, while its canary ran. It is made up; the tests write it.
//
//go:embed eds.yaml
var edsFile []byte

// How messages call the embedded fleets.
const (
	fleetName  = "fleet.yaml"
	kruiseName = "kruise.yaml"
	edsName    = "eds.yaml"
)

// The values of -example.
const (
	exampleKubernetes = "kubernetes"
	exampleKruise     = "kruise"
	exampleEDS        = "eds"
)

// fleetTime is when the fleets were recorded.
func fleetTime() time.Time {
	return time.Date(2026, time.March, 2, 9, 15, 0, 0, time.UTC)
}

// addExample reads an embedded fleet.
func (in *input) addExample(name string) error {
	switch name {
	case exampleKruise:
		return in.add(kruiseName, kruiseFile)
	case exampleEDS:
		return in.add(edsName, edsFile)
	default:
		return in.add(fleetName, fleetFile)
	}
}
