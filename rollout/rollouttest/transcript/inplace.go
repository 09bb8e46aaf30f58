package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/tolerations"
)

// diff says of each revision that outdated pods carry whether they can be updated in place, and if not, all reasons.
func (s *stage) diff(*arguments) error {
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	var lines []string
	for _, diff := range plan.Diffs {
		from := fmt.Sprintf("%s to %s: ", s.revision(diff.From), s.revision(diff.To))
		if diff.Update.InPlace() {
			lines = append(lines, from+"in place: "+strings.Join(changes(diff.Update), ", "))
		}
		for _, obstacle := range diff.Update.Obstacles {
			lines = append(lines, from+"recreate: "+obstacle.String())
		}
	}
	slices.Sort(lines)
	s.out = append(s.out, lines...)
	return nil
}

// changes lists what an update changes.
func changes(u *inplace.Update) []string {
	var list []string
	for _, c := range u.Images {
		list = append(list, fmt.Sprintf("image of %s %s to %s", c.Container, c.Old, c.New))
	}
	for _, c := range u.Resources {
		kind := "request"
		if c.Limit {
			kind = "limit"
		}
		of, old := c.Container, c.Old.String()
		if of == "" {
			of = "the pod"
		}
		if c.Added {
			old = "none"
		}
		list = append(list, fmt.Sprintf("%s of %s of %s %s to %s", c.Resource, kind, of, old, c.New.String()))
	}
	for _, t := range u.Tolerations {
		list = append(list, "toleration of "+tolerations.Text(t))
	}
	for _, c := range u.Labels {
		list = append(list, "label "+c.Key)
	}
	for _, c := range u.Annotations {
		list = append(list, "annotation "+c.Key)
	}
	for _, c := range u.Env {
		list = append(list, fmt.Sprintf("environment variable %s of %s", c.Variable, c.Container))
	}
	return list
}

// pods shows the pods as they are now: those of all nodes, in the order of their names.
func (s *stage) pods(*arguments) error {
	rows := [][]string{{"NAME", "NODE", "REVISION", "STATUS", "HOOKS", "IMAGE", "RUNS", "RESTARTS", "WAITS FOR"}}
	pods := s.cluster.Snapshot().Pods
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range pods {
		node, _ := placement.TargetNode(p)
		var images, runs []string
		restarts := int32(0)
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			images = append(images, c.Image+amountsOf(&c.Resources))
			for _, status := range p.Status.ContainerStatuses {
				if status.Name == c.Name {
					runs = append(runs, status.Image+amountsOf(status.Resources))
					restarts += status.RestartCount
				}
			}
		}
		rows = append(rows, []string{
			p.Name, node, s.revision(p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]), podStatus(p),
			orNone(s.hookState(p)), strings.Join(images, ", "), runsAs(runs, images),
			strconv.Itoa(int(restarts)), orNone(waitsFor(p)),
		})
	}
	s.table(rows...)
	return nil
}

// runsAs is what the containers of a pod run, where that is not what they should.
func runsAs(runs, images []string) string {
	if slices.Equal(runs, images) {
		return "same"
	}
	return orNone(strings.Join(runs, ", "))
}

// amountsOf is what a container may use, in parentheses.
func amountsOf(r *corev1.ResourceRequirements) string {
	if r == nil || len(r.Limits)+len(r.Requests) == 0 {
		return ""
	}
	var list []string
	for _, kind := range []struct {
		name    string
		amounts corev1.ResourceList
	}{{"requests", r.Requests}, {"limits", r.Limits}} {
		var amounts []string
		for name, quantity := range kind.amounts {
			amounts = append(amounts, fmt.Sprintf("%s %s", name, quantity.String()))
		}
		slices.Sort(amounts)
		if len(amounts) > 0 {
			list = append(list, kind.name+" "+strings.Join(amounts, ", "))
		}
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// podStatus is the status in a word, with the readiness gates that are closed.
func podStatus(p *corev1.Pod) string {
	switch {
	case p.DeletionTimestamp != nil:
		return "Terminating"
	case p.Status.Phase != corev1.PodRunning:
		return string(p.Status.Phase)
	case lifecycle.Ready(p):
		return "Ready"
	}
	var closed []string
	for _, c := range p.Status.Conditions {
		gate := corev1.PodReadinessGate{ConditionType: c.Type}
		if c.Status != corev1.ConditionTrue && slices.Contains(p.Spec.ReadinessGates, gate) {
			closed = append(closed, string(c.Type))
		}
	}
	if len(closed) > 0 {
		return "NotReady (" + strings.Join(closed, ", ") + ")"
	}
	return "NotReady"
}

// hookState is the state of the pod's hooks, and what is waited for.
func (s *stage) hookState(p *corev1.Pod) string {
	state := lifecycle.StateOf(p)
	waits := map[lifecycle.State]lifecycle.HookWait{
		lifecycle.PreparingDelete: lifecycle.WaitPreDelete, lifecycle.PreparingUpdate: lifecycle.WaitInPlaceUpdate,
		lifecycle.Updated: lifecycle.WaitUpdated, lifecycle.PreparingNormal: lifecycle.WaitPreNormal,
	}
	var handlers []string
	for _, h := range s.cluster.Spec().Lifecycle.Pending(p, waits[state]) {
		handlers = append(handlers, h.String())
	}
	if len(handlers) == 0 {
		return string(state)
	}
	return fmt.Sprintf("%s (%s)", state, strings.Join(handlers, ", "))
}

func waitsFor(p *corev1.Pod) string {
	var list []string
	for _, wait := range inplace.Completed(p).Waits {
		list = append(list, wait.String())
	}
	return strings.Join(list, "; ")
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// patches: patches POD…. Shows the patches of the pods that the planner would send now, as YAML. Nothing is executed.
func (s *stage) patches(a *arguments) error {
	if len(*a) == 0 {
		return errors.New("which pod is not said")
	}
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	for name := a.next(); name != ""; name = a.next() {
		found := false
		for _, patch := range plan.Patches {
			if patch.Pod != name && patch.Node != name {
				continue
			}
			found = true
			s.revision(patch.Revision) // it gets a name
			text, err := yaml.JSONToYAML(patch.Data)
			if err != nil {
				return err
			}
			s.printf("%s, %s of %s:", patch.Type, orPod(patch.Subresource), patch.Pod)
			for line := range strings.Lines(s.named(string(text))) {
				s.printf("  %s", strings.TrimSuffix(line, "\n"))
			}
		}
		if !found {
			return errors.New("there is no patch of such a pod")
		}
	}
	return nil
}

func orPod(subresource string) string {
	if subresource == "" {
		return "pod"
	}
	return subresource
}

// patchLine says what is done to one pod by its patches, which follow one another.
func (s *stage) patchLine(plan rollout.Plan, patches []rollout.Patch) string {
	first := &patches[0]
	verb, to := "patch", ""
	for i := range plan.Decisions {
		if d := &plan.Decisions[i]; d.Node == first.Node && d.Pod == first.Pod {
			switch d.Verb {
			case rollout.VerbPrepare:
				verb = "prepare"
			case rollout.VerbUpdate:
				verb, to = "update", " in place to "+s.revision(first.Revision)
			default: // all others patch
			}
		}
	}
	var parts []string
	for i := range patches {
		parts = append(parts, patchParts(&patches[i])...)
	}
	what := ""
	if len(parts) > 0 {
		what = ": " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s %s on %s%s%s (%s)", verb, first.Pod, first.Node, to, what, first.Reason)
}

// patchParts names what a patch changes. What goes without saying is left out: the revision label, the state of an
// in-place update, and the condition Ready, which follows a readiness gate.
func patchParts(patch *rollout.Patch) []string {
	var data corev1.Pod
	if err := json.Unmarshal(patch.Data, &data); err != nil {
		return []string{"unreadable"}
	}
	var parts []string
	for _, c := range data.Status.Conditions {
		if c.Type == corev1.PodReady {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s", c.Type, c.Status))
	}
	if whole := data.Spec.Resources; whole != nil {
		parts = append(parts, "the pod gets"+amountsOf(whole))
	}
	for _, c := range slices.Concat(data.Spec.InitContainers, data.Spec.Containers) {
		if c.Image != "" {
			parts = append(parts, fmt.Sprintf("%s runs %s", c.Name, c.Image))
		}
		if amounts := amountsOf(&c.Resources); amounts != "" {
			parts = append(parts, fmt.Sprintf("%s gets%s", c.Name, amounts))
		}
	}
	if n := len(data.Spec.Tolerations); n > 0 {
		parts = append(parts, "toleration of "+tolerations.Text(data.Spec.Tolerations[n-1])) // those of the pod come first
	}
	if state := lifecycle.StateOf(&data); state != "" {
		parts = append(parts, "state "+string(state))
	}
	var metadata []string
	for key := range data.Labels {
		if key == rollout.CanaryLabel {
			parts = append(parts, canaryLabelled(data.Labels[key]))
			continue
		}
		if key != lifecycle.StateLabel && key != appsv1.DefaultDaemonSetUniqueLabelKey {
			metadata = append(metadata, "label "+key)
		}
	}
	for key := range data.Annotations {
		if key != lifecycle.TimestampAnnotation && key != inplace.StateKey && key != inplace.GraceKey {
			metadata = append(metadata, "annotation "+key)
		}
	}
	slices.Sort(metadata)
	return append(parts, metadata...)
}
