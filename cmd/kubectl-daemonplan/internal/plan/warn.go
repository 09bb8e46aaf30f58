package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// warnings list what in the input makes a plan look harmless, or like a first installation, although it is neither: pods that
// were not read, or that the set cannot recognise as its own.
func (r *Result) warnings() []string {
	lines := append(slices.Clone(r.Input.Warnings), r.takeoverWarnings()...)
	for _, warning := range placement.Warnings(&r.Spec.Template, field.NewPath("spec", "template")) {
		lines = append(lines, fmt.Sprintf("The API server takes it, but the term matches no node: %v.", warning))
	}
	excluded, _ := r.excluded()
	lines = slices.Concat(lines, r.idlePolicy(), excluded)
	if len(r.Input.Pods) == 0 {
		return append(lines, "There is no Pod in the input.")
	}
	if line := objects.Unrevised(&r.Snapshot); line != "" {
		lines = append(lines, line)
	}
	n, one := r.foreign()
	if n == 0 {
		return lines
	}
	line := text.Agree(n, "pod matches the selector but belongs", "pods match the selector but belong") + " to another controller"
	of := metav1.GetControllerOfNoCopy(one)
	group, _, _ := strings.Cut(of.APIVersion, "/")
	switch sameName := of.Kind == "DaemonSet" && of.Name == r.Set.Spec.Name; {
	case sameName && group != r.Set.Group && (group == objects.GroupApps || group == objects.GroupKruise):
		// A manifest with another apiVersion makes a second set, and the first set remains.
		line += fmt.Sprintf(", as %s does to the %s of this name", one.Name, objects.ResourceOf(group))
	case sameName:
		line += fmt.Sprintf(", as %s does to a DaemonSet of this name with uid %s", one.Name, of.UID)
	default:
		line += fmt.Sprintf(", as %s does to %s %s", one.Name, of.Kind, of.Name)
	}
	if r.Set.Spec.UID == "" {
		kind := strings.TrimPrefix(objects.KindOf(r.Set.Group), objects.GroupKruise+" ")
		return append(lines, line+"; the "+kind+" in the input has no uid.")
	}
	return append(lines, line+".")
}

// excluded lists the revisions whose pods keep new ones off their nodes: with maxSurge these wait for what never comes. Endless
// reports whether nodes of an outdated revision are among them, so that the update does not end.
func (r *Result) excluded() (lines []string, endless bool) {
	planner, err := rollout.New(r.Spec)
	if err != nil {
		return nil, false // there is no plan either
	}
	for _, from := range r.revisions() {
		if from.Pods == 0 {
			continue
		}
		template, err := history.Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: from.data}})
		if err != nil {
			continue // what cannot be read is said elsewhere
		}
		if excluded := planner.Exclusions(template, r.Input.Claims); len(excluded) > 0 {
			end := "The update of its nodes does not end."
			if from.Hash == r.Plan.Status.UpdateRevision {
				end = "An update that leaves that as it is will not end."
			} else {
				endless = true
			}
			lines = append(lines, fmt.Sprintf("With maxSurge no new pod can be bound beside one of revision %d (%s): %s (%s). %s",
				from.Number, from.Name, excluded[0], excluded[0].Path, end))
		}
	}
	return lines, endless
}

// foreign counts the pods that would belong to the set if they had no other controller, and returns the first of them.
func (r *Result) foreign() (n int, first *corev1.Pod) {
	selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
	if err != nil { // rollout.New accepted the selector
		return 0, nil
	}
	for _, pod := range r.Input.Pods {
		of := metav1.GetControllerOfNoCopy(pod)
		if of == nil || of.UID == r.Set.Spec.UID && of.UID != "" || r.succeeds(of.UID) || pod.Namespace != r.Set.Spec.Namespace ||
			!selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if n++; first == nil || pod.Name < first.Name {
			first = pod
		}
	}
	return n, first
}

// warn prints the warnings.
func (r *Result) warn(out io.Writer) {
	tell(out, r.warningLines())
}

// warningLines are the warnings as the text output has them.
func (r *Result) warningLines() []string {
	var lines []string
	for _, line := range r.warnings() {
		lines = append(lines, "Warning: "+line)
	}
	return lines
}
