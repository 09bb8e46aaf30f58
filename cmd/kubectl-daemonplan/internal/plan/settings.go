package plan

import (
	"fmt"

	"github.com/daemonplan/daemonplan/predownload"
)

// settings are what the manifest of an Advanced DaemonSet does not contain. OpenKruise has it in feature gates that are off by
// default, and the kubelets in their configuration.
type settings struct {
	resize      bool // InPlaceWorkloadVerticalScaling
	cgroupV1    bool
	preDownload bool // PreDownloadImageForDaemonSetUpdate
}

// These are the values that OpenKruise writes into the pull jobs of a set, unless annotations have others.
const (
	pullTimeoutSeconds = 300
	pullBackoffLimit   = 1
)

// apply changes the spec of the set. For a set of apps/v1 it returns an error, because the flags would have no effect, and a plan
// that is the same with and without them would be misleading.
func (s settings) apply(in *input, to *set) error {
	if s == (settings{}) {
		return nil
	}
	if to.group != groupKruise {
		return fmt.Errorf("%s: %s has no use for -resize, -cgroup-v1 and -pre-download: they are for %s",
			in.origins[to], printable(to.fullName()), resourceOf(groupKruise))
	}
	to.Spec.Strategy.InPlace.Resize = s.resize
	to.Spec.Strategy.InPlace.CgroupV1 = s.cgroupV1
	if s.preDownload && to.Spec.PreDownload == nil {
		to.Spec.PreDownload = &predownload.Options{
			TimeoutSeconds: pullTimeoutSeconds, BackoffLimit: new(int32(pullBackoffLimit)),
		}
	}
	return nil
}
