package plan

import (
	"fmt"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"

	"github.com/daemonplan/daemonplan/predownload"
)

// Settings are what the manifest of an Advanced DaemonSet does not contain. OpenKruise has it in feature gates that are off by
// default, and the kubelets in their configuration.
type Settings struct {
	Resize      bool // InPlaceWorkloadVerticalScaling
	CgroupV1    bool
	PreDownload bool // PreDownloadImageForDaemonSetUpdate
	// Controller is whose plan it is.
	Controller controllers.Name
}

// These are the values that OpenKruise writes into the pull jobs of a set, unless annotations have others.
const (
	pullTimeoutSeconds = 300
	pullBackoffLimit   = 1
)

// Apply changes the spec of the set. For a set of apps/v1 it returns an error, because the flags would have no effect, and a plan
// that is the same with and without them would be misleading.
func (s Settings) Apply(in *objects.Input, to *objects.Set) error {
	if err := s.Controller.Runs(to); err != nil {
		return err
	}
	if s.Controller = ""; s == (Settings{}) {
		return nil
	}
	if to.Group != objects.GroupKruise {
		return fmt.Errorf("%s has no use for --resize, --cgroup-v1 and --pre-download: they are for %s",
			in.SetPlace(to), objects.ResourceOf(objects.GroupKruise))
	}
	to.Spec.Strategy.InPlace.Resize = s.Resize
	to.Spec.Strategy.InPlace.CgroupV1 = s.CgroupV1
	if s.PreDownload && to.Spec.PreDownload == nil {
		to.Spec.PreDownload = &predownload.Options{
			TimeoutSeconds: pullTimeoutSeconds, BackoffLimit: new(int32(pullBackoffLimit)),
		}
	}
	return nil
}
