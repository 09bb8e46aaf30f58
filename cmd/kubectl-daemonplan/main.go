// Command kubectl-daemonplan tells what a DaemonSet would do next on every node of a cluster, and why, and how a rollout would go.
package main

import (
	"os"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/simulation"
)

func main() {
	os.Exit(simulation.Main(os.Args[1:]))
}
