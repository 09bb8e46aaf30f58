// Package policy looks at policies in manifests, without a cluster: whether they are valid, and what they say in words.
package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// found is a set of a file, or the mistake that keeps it from being one.
type found struct {
	place string
	set   *objects.Set
	bare  bool // the file is a policy without an object around it
	err   error
}

// read returns the sets of a file. A file that is a policy itself, without an object around it, counts as one of a DaemonSet.
func read(f *objects.Files, name string) ([]found, error) {
	file, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	if bare(file.Text) {
		return []found{readBare(file)}, nil
	}
	var list []found
	for object, err := range manifest.Objects(file.Text) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		if !objects.IsSet(object) {
			continue
		}
		in := objects.New()
		origin := fmt.Sprintf("%s: document %d", file.Name, object.Document)
		if object.Item > 0 {
			origin += fmt.Sprintf(", item %d", object.Item)
		}
		if err := in.AddObject(object, origin); err != nil {
			list = append(list, found{place: origin, err: err})
			continue
		}
		set := in.Sets[0]
		one := found{place: in.SetPlace(set), set: set}
		if _, err := rollout.New(set.Spec); err != nil {
			one.err = objects.Invalid(one.place, set.Spec, err)
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: there is no DaemonSet of apps/v1 or apps.kruise.io and no ExtendedDaemonSet in it, and it "+
			"is no policy itself: one has the keys stages, domains, failures or outages", file.Name)
	}
	return list, nil
}

// bare reports whether the text is a policy without an object around it.
func bare(content []byte) bool {
	var keys map[string]json.RawMessage
	if err := yaml.Unmarshal(content, &keys); err != nil || keys["kind"] != nil || keys["apiVersion"] != nil {
		return false
	}
	return slices.ContainsFunc(policyKeys, func(key string) bool {
		_, has := keys[key]
		return has
	})
}

// policyKeys are what a policy may have.
var policyKeys = []string{"outages", "domains", "stages", "approved", "expedite", "failures"}

// readBare reads a policy as that of a DaemonSet with a budget of one node.
func readBare(file objects.File) found {
	one := found{place: file.Name, bare: true}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{
			"name": "policy", "annotations": map[string]string{manifest.PolicyAnnotation: string(file.Text)},
		},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"app": "policy"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]string{"app": "policy"}},
				"spec":     map[string]any{"containers": []map[string]string{{"name": "policy", "image": "policy"}}},
			},
		},
	})
	if err != nil {
		one.err = err
		return one
	}
	decoded, err := manifest.Decode(object)
	if err == nil {
		if _, err = rollout.New(decoded.Spec); err != nil {
			err = manifest.FieldErrors(decoded.Spec, err).ToAggregate()
		}
	}
	one.set = &objects.Set{Set: decoded, Group: objects.GroupApps}
	if err != nil {
		var lines []error
		for _, mistake := range rollout.FieldErrors(err) {
			mistake.Field = strings.TrimPrefix(mistake.Field, "metadata.annotations["+manifest.PolicyAnnotation+"].")
			lines = append(lines, fmt.Errorf("%s: %w", file.Name, mistake))
		}
		one.err = errors.Join(lines...)
	}
	return one
}

// Lint prints what is wrong with the policies of the files, and with the sets that have them, a line each, and for each that is
// valid what it has. The error is an *exit.NegativeError if there is a mistake; any other one is that a file cannot be read.
func Lint(f *objects.Files, names []string, out io.Writer) error {
	wrong := 0
	for _, name := range names {
		list, err := read(f, name)
		if err != nil {
			return err
		}
		for _, one := range list {
			if one.err != nil {
				wrong++
				for line := range strings.Lines(one.err.Error()) {
					fmt.Fprintln(out, text.Printable(strings.TrimSuffix(line, "\n")))
				}
				continue
			}
			policy := one.set.Spec.Strategy.Policy
			fmt.Fprintf(out, "%s: valid: %s\n", text.Printable(one.place), contents(policy))
			for _, warning := range warnings(policy) {
				fmt.Fprintf(out, "%s: warning: %s\n", text.Printable(one.place), text.Printable(warning))
			}
		}
	}
	if wrong > 0 {
		return &exit.NegativeError{Reason: text.Agree(wrong, "manifest has", "manifests have") + " mistakes"}
	}
	return nil
}

// contents lists what a policy has.
func contents(policy rollout.Policy) string {
	var parts []string
	if n := len(policy.Stages); n > 0 {
		parts = append(parts, text.Counted(n, "stage"))
	}
	if n := len(policy.Domains); n > 0 {
		parts = append(parts, text.Counted(n, "domain"))
	}
	if policy.Failures != nil {
		parts = append(parts, "failures")
	}
	if policy.Outages != nil {
		parts = append(parts, "outages")
	}
	if policy.Expedite != "" {
		parts = append(parts, "expedite")
	}
	if n := len(policy.Approved); n > 0 {
		parts = append(parts, text.Counted(n, "approval"))
	}
	if len(parts) == 0 {
		return "it has no policy"
	}
	return strings.Join(parts, ", ")
}

// warnings are what is valid, and has no effect on any fleet or hardly the one that was meant.
func warnings(policy rollout.Policy) (lines []string) {
	var before []stage.Stage
	for _, s := range policy.Stages {
		for _, earlier := range before {
			why := ""
			switch {
			case all(earlier.Selector):
				why = "takes all that are left"
			case reflect.DeepEqual(earlier.Selector, s.Selector):
				why = "has the same selector"
			}
			if why != "" {
				lines = append(lines, fmt.Sprintf("stage %s has no node: stage %s before it %s", s.Name, earlier.Name, why))
				break
			}
		}
		before = append(before, s)
	}
	for _, a := range policy.Approved {
		if !slices.ContainsFunc(policy.Stages, func(s stage.Stage) bool { return s.Name == a.Stage && s.Approval }) {
			lines = append(lines, fmt.Sprintf("the approval of stage %s has no effect: that stage needs none", a.Stage))
		}
	}
	if policy.Expedite != "" && len(policy.Stages) == 0 {
		lines = append(lines, "expedite has no effect: there are no stages to pass")
	}
	if f := policy.Failures; f != nil && f.MaxRestarts == nil {
		lines = append(lines,
			"failures: a pod that crashes again and again, and is ready in between, is found by maxRestarts alone")
	}
	return lines
}

// all reports whether the selector selects every node.
func all(selector *metav1.LabelSelector) bool {
	return selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}
