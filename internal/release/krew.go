package main

import (
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/krew/pkg/constants"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// krew writes the manifest with which kubectl krew install installs the command.
func (r *release) krew(archives []archive) error {
	plugin := index.Plugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: constants.CurrentAPIVersion, Kind: constants.PluginKind},
		ObjectMeta: metav1.ObjectMeta{Name: "daemonplan"},
		Spec: index.PluginSpec{
			Version:          r.version,
			Homepage:         "https://" + libraryPath,
			ShortDescription: "Explain and simulate rollouts of DaemonSets",
			Description: `Tells for every node of a cluster what a DaemonSet would do next, and why: of
Kubernetes, of OpenKruise (Advanced DaemonSet) or of Datadog
(ExtendedDaemonSet). Shows what a change would restart, where and in what
order, and simulates rollouts in virtual time. It reads a live cluster or
what kubectl prints; commands that patch a set say so and ask first.
`,
		},
	}
	for _, a := range archives {
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, index.Platform{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"os": a.os, "arch": a.arch}},
			URI:      "https://" + libraryPath + "/releases/download/" + r.version + "/" + a.name,
			Sha256:   a.sha256,
			Files:    []index.FileOperation{{From: a.bin, To: "."}, {From: "LICENSE", To: "."}},
			Bin:      a.bin,
		})
	}
	data, err := yaml.Marshal(plugin)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.part, "daemonplan.yaml"), data, 0o644)
}
