package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// podWait is a pod that waits for a hook, or whose in-place update is not complete.
type podWait struct {
	Node string `json:"node"`
	Pod  string `json:"pod"`
	// State is the state of the pod for the hooks; empty if the set has none.
	State string `json:"state,omitempty"`
	// Hook is the hook that is waited for: preDelete, inPlaceUpdate or preNormal; empty for an update that is not complete.
	Hook string `json:"hook,omitempty"`
	// TakeOff lists the labels and finalizers that must come off the pod, and PutOn those that must be put on it. The controller
	// of the hook does that.
	TakeOff []string `json:"takeOff,omitempty"`
	PutOn   []string `json:"putOn,omitempty"`
	// Waits lists what an update that is not complete waits for.
	Waits []string `json:"waits,omitempty"`
}

// hookWaits lists the pods that wait for a hook now, before any action of the plan. A pod that the plan takes back no longer
// waits.
func (r *Result) hookWaits() []podWait {
	takenBack := make(map[types.UID]bool)
	for i := range r.Plan.Patches {
		if patch := &r.Plan.Patches[i]; patch.Reason == rollout.ReasonTakenBack {
			takenBack[patch.UID] = true
		}
	}
	var list []podWait
	for _, pod := range r.Snapshot.Pods {
		state := lifecycle.StateOf(pod)
		wait := waitOf(state)
		pending := r.Spec.Lifecycle.Pending(pod, wait)
		if len(pending) == 0 || takenBack[pod.UID] || pod.DeletionTimestamp != nil {
			continue
		}
		one := podWait{Node: nodeOf(pod), Pod: pod.Name, State: string(state), Hook: hookOf(wait)}
		handlers := &one.TakeOff
		if wait == lifecycle.WaitUpdated || wait == lifecycle.WaitPreNormal {
			handlers = &one.PutOn
		}
		for _, handler := range pending {
			*handlers = append(*handlers, handler.String())
		}
		list = append(list, one)
	}
	return byNode(list)
}

// waitOf is the hook that a pod in this state may wait for.
func waitOf(state lifecycle.State) lifecycle.HookWait {
	switch state {
	case lifecycle.PreparingDelete:
		return lifecycle.WaitPreDelete
	case lifecycle.PreparingUpdate:
		return lifecycle.WaitInPlaceUpdate
	case lifecycle.Updated:
		return lifecycle.WaitUpdated
	case lifecycle.PreparingNormal:
		return lifecycle.WaitPreNormal
	default:
		return lifecycle.NotWaiting
	}
}

// hookOf is the name of the hook's field in the manifest.
func hookOf(wait lifecycle.HookWait) string {
	if wait == lifecycle.WaitUpdated {
		wait = lifecycle.WaitInPlaceUpdate // the same hook, the second time
	}
	return wait.String()
}

// updating lists the pods whose in-place update is not complete.
func (r *Result) updating() []podWait {
	var list []podWait
	for _, pod := range r.Snapshot.Pods {
		if pod.DeletionTimestamp != nil || lifecycle.Terminal(pod) {
			continue
		}
		waits := inplace.Completed(pod).Waits
		if len(waits) == 0 {
			continue
		}
		one := podWait{Node: nodeOf(pod), Pod: pod.Name, State: string(lifecycle.StateOf(pod))}
		for _, wait := range waits {
			one.Waits = append(one.Waits, wait.String())
		}
		list = append(list, one)
	}
	return byNode(list)
}

func nodeOf(pod *corev1.Pod) string {
	node, _ := placement.TargetNode(pod)
	return node
}

func byNode(list []podWait) []podWait {
	slices.SortFunc(list, func(a, b podWait) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod))
	})
	return list
}

// reportPods prints what pods wait for.
func (r *Result) reportPods(out io.Writer) {
	if list := r.updating(); len(list) > 0 {
		fmt.Fprintf(out, "\n%s under way:\n", text.Counted(len(list), "in-place update"))
		r.reportPodWaits(out, list)
	}
	if list := r.hookWaits(); len(list) > 0 {
		fmt.Fprintf(out, "\n%s for a hook:\n", text.Agree(len(list), "pod waits", "pods wait"))
		r.reportPodWaits(out, list)
	}
}

// explainPods adds to the explanation of a node what its pods wait for.
func (r *Result) explainPods(out io.Writer, node string) {
	for _, w := range append(r.updating(), r.hookWaits()...) {
		if w.Node == node {
			fmt.Fprintf(out, "  pod %s waits: %s\n", text.Cells(w.Pod, w.what())...)
		}
	}
}

// what is what the pod waits for.
func (w podWait) what() string {
	switch {
	case len(w.PutOn) > 0:
		return w.Hook + ": put on " + strings.Join(w.PutOn, ", ")
	case len(w.TakeOff) > 0:
		return w.Hook + ": take off " + strings.Join(w.TakeOff, ", ")
	default:
		return strings.Join(w.Waits, ", ")
	}
}

func (r *Result) reportPodWaits(out io.Writer, list []podWait) {
	rows := make([]row, len(list))
	for i, w := range list {
		rows[i] = row{w.Node, w.what()}
	}
	if r.grouped(out, "pod", rows) {
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, w := range list {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", text.Cells(cmp.Or(w.Node, "<none>"), w.Pod, cmp.Or(w.State, "-"), w.what())...)
	}
	_ = table.Flush() // it writes to memory
}
