package integration_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/daemonplan/daemonplan/test/integration/controlplane"
)

// TestServerTakesUpdatesInPlace: an API server that runs takes what its code takes (I2), of 500 drawn updates, with nodes that declare
// what they can and nodes that do not. It has a cluster of its own, because nothing may run its pods.
func TestServerTakesUpdatesInPlace(t *testing.T) {
	if config == nil {
		t.Skip(controlplane.ErrNoBinaries)
	}
	t.Parallel()
	cluster, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	judge := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-v", "-run=^TestUpdates$", "./podupdates",
		"-args", "-n=500", "-kubeconfig="+cluster.Kubeconfig)
	judge.Dir = filepath.Join("..", "..", "internal", "differential")
	output, err := judge.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
}
