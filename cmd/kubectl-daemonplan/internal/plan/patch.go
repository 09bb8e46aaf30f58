package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/tolerations"
)

// podPatch is the part of the plan's patches that is printed.
type podPatch struct {
	Metadata struct {
		Labels      map[string]*string `json:"labels"`
		Annotations map[string]*string `json:"annotations"`
		Finalizers  []string           `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		InitContainers []patchedContainer           `json:"initContainers"`
		Containers     []patchedContainer           `json:"containers"`
		Resources      *corev1.ResourceRequirements `json:"resources"`
		Tolerations    []corev1.Toleration          `json:"tolerations"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type patchedContainer struct {
	Name      string                      `json:"name"`
	Image     string                      `json:"image"`
	Resources corev1.ResourceRequirements `json:"resources"`
}

// patchText describes what a patch changes, without the records that the library keeps in annotations. A patch that changes
// nothing else is printed as it is.
func patchText(data []byte) string {
	var patch podPatch
	if err := json.Unmarshal(data, &patch); err != nil {
		return string(data)
	}
	var words []string
	for _, condition := range patch.Status.Conditions {
		if condition.Status != "" {
			words = append(words, condition.Type+" "+condition.Status)
		}
	}
	if whole := patch.Spec.Resources; whole != nil {
		words = append(words, quantities(whole.Limits, "limit of the pod")...)
		words = append(words, quantities(whole.Requests, "request of the pod")...)
	}
	for _, toleration := range patch.Spec.Tolerations {
		words = append(words, "toleration of "+tolerations.Text(toleration))
	}
	for _, container := range slices.Concat(patch.Spec.InitContainers, patch.Spec.Containers) {
		if container.Image != "" {
			words = append(words, "image of "+container.Name+" "+container.Image)
		}
		words = append(words, quantities(container.Resources.Limits, "limit of "+container.Name)...)
		words = append(words, quantities(container.Resources.Requests, "request of "+container.Name)...)
	}
	words = append(words, pairs("label", patch.Metadata.Labels)...)
	words = append(words, pairs("annotation", patch.Metadata.Annotations)...)
	for _, finalizer := range patch.Metadata.Finalizers {
		words = append(words, "finalizer "+finalizer)
	}
	return cmp.Or(strings.Join(words, ", "), string(data))
}

func quantities(list corev1.ResourceList, of string) []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		words = append(words, fmt.Sprintf("%s %s %s", name, of, quantity.String()))
	}
	return words
}

// pairs are the labels or annotations that a patch sets, and those that it drops.
func pairs(kind string, values map[string]*string) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch {
		case key == inplace.StateKey || key == inplace.GraceKey || key == lifecycle.TimestampAnnotation:
		case value == nil:
			words = append(words, "no "+kind+" "+key)
		case key == appsv1.ControllerRevisionHashLabelKey:
			words = append(words, "revision "+*value)
		case key == lifecycle.StateLabel:
			words = append(words, "state "+*value)
		default:
			words = append(words, kind+" "+key+"="+*value)
		}
	}
	return words
}

// reportPatches prints the patches. Those of one pod are one entry.
func (r *Result) reportPatches(out io.Writer, reasons func(string, rollout.Reason) string) {
	if len(r.Plan.Patches) == 0 {
		return
	}
	verbs := make(map[string]rollout.Verb)
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		verbs[d.Node+"/"+d.Pod] = d.Verb
	}
	pods := groups(r.Plan.Patches)
	var nodeWidth, podWidth int
	for _, patches := range pods {
		nodeWidth = max(nodeWidth, utf8.RuneCountInString(text.Printable(patches[0].Node)))
		podWidth = max(podWidth, utf8.RuneCountInString(text.Printable(patches[0].Pod)))
	}
	fmt.Fprintf(out, "Patch %s (%s):\n", text.Counted(len(pods), "pod"), text.Agree(len(r.Plan.Patches), "patch", "patches"))
	verbOf := func(first *rollout.Patch) rollout.Verb {
		verb := verbs[first.Node+"/"+first.Pod]
		if verb != rollout.VerbPrepare && verb != rollout.VerbUpdate {
			return rollout.VerbPatch
		}
		return verb
	}
	rows := make([]row, len(pods))
	for i, patches := range pods {
		rows[i] = row{patches[0].Node, fmt.Sprintf("%s, %s", verbOf(&patches[0]), patches[0].Reason)}
	}
	if r.grouped(out, "pod", rows) {
		return
	}
	for _, patches := range pods {
		first := &patches[0]
		verb := verbOf(first)
		fmt.Fprintf(out, "  %-*s  %-*s  %s, %s\n", nodeWidth, text.Printable(first.Node), podWidth, text.Printable(first.Pod),
			verb, text.Printable(reasons(first.Node, first.Reason)))
		for i := range patches {
			fmt.Fprintf(out, "    %-6s  %s\n", text.Cells(cmp.Or(patches[i].Subresource, "pod"), patchText(patches[i].Data))...)
		}
	}
}

// groups splits the list of patches by pod.
func groups(patches []rollout.Patch) [][]rollout.Patch {
	var list [][]rollout.Patch
	for i := range patches {
		if i > 0 && patches[i].UID == patches[i-1].UID {
			last := &list[len(list)-1]
			*last = append(*last, patches[i])
			continue
		}
		list = append(list, patches[i:i+1:i+1])
	}
	return list
}
