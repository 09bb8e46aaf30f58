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

// fleetName is how messages call the embedded fleet.
const fleetName = "fleet.yaml"

// fleetTime is when the fleet was recorded.
func fleetTime() time.Time {
	return time.Date(2026, time.March, 2, 9, 15, 0, 0, time.UTC)
}
