package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

// Explain prints why the plan does to a node what it does, and what is wrong with the node and its pods.
func (r *Result) Explain(out io.Writer, name string) error {
	node, err := r.findNode(name)
	if err != nil {
		return err
	}
	if node != name {
		fmt.Fprintf(out, "%s is taken for %s.\n", text.Cells(name, node)...)
	}
	answers := 0
	for i := range r.Plan.Decisions {
		if r.Plan.Decisions[i].Node == node {
			answers++
		}
	}
	// A node that is gone has one line for each of its pods. If there are more lines, names contain line breaks.
	explanation := strings.ReplaceAll(r.Plan.Explain(node), node, text.Printable(node))
	lines := strings.Split(explanation, "\n")
	if len(lines) != answers {
		lines = []string{explanation}
	}
	for _, line := range slices.Concat(lines, r.causes(node)) {
		fmt.Fprintln(out, text.Printable(line))
	}
	r.explainPods(out, node)
	return nil
}

// Warn prints what in the input makes the plan doubtful.
func (r *Result) Warn(out io.Writer) { r.warn(out) }

// Nodes lists the nodes that can be explained, by name.
func (r *Result) Nodes() []string {
	var list []string
	for i := range r.Plan.Decisions {
		list = append(list, r.Plan.Decisions[i].Node)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(node string) bool { return node == "" })
}

// findNode is the node of that name, or the only node whose host name that is: node-17 for node-17.eu.example.
func (r *Result) findNode(name string) (string, error) {
	nodes := r.Nodes()
	if slices.Contains(nodes, name) {
		return name, nil
	}
	var hosts []string
	for _, node := range nodes {
		if strings.HasPrefix(node, name+".") && name != "" {
			hosts = append(hosts, node)
		}
	}
	if len(hosts) == 1 {
		return hosts[0], nil
	}
	if len(hosts) == 0 {
		hosts = similar(name, nodes)
	}
	switch {
	case len(hosts) > 0:
		return "", fmt.Errorf("there is no node %q; did you mean %s?", name, orList(hosts))
	case len(nodes) == 0:
		return "", fmt.Errorf("there is no node %q: the plan has no node at all", name)
	default:
		return "", fmt.Errorf("there is no node %q among the %s: %s", name, text.Counted(len(nodes), "node"), text.Some(nodes))
	}
}

// orList joins names with commas and "or".
func orList(names []string) string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = text.Printable(names[i])
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// similar are the names that are most like the given one, three at most: a few letters differ, or one contains the other.
func similar(name string, all []string) []string {
	const farthest, most = 3, 3
	var list []string
	distances := make(map[string]int)
	for _, other := range all {
		distance := min(editDistance(name, other), editDistance(name, strings.SplitN(other, ".", 2)[0]))
		if len(name) >= 3 && strings.Contains(other, name) {
			distance = min(distance, farthest)
		}
		if distance <= min(farthest, len(name)/2) {
			distances[other] = distance
			list = append(list, other)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return list[:min(most, len(list))]
}

// editDistance is how many bytes must be changed, added or dropped to make one text of the other.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// causes are what is wrong with a node, and with its pods that are not ready, as far as their status tells.
func (r *Result) causes(name string) []string {
	var lines []string
	for _, node := range r.Snapshot.Nodes {
		if node.Name == name {
			lines = append(lines, r.nodeCauses(node)...)
		}
	}
	for _, pod := range r.Snapshot.Pods {
		if nodeOf(pod) == name {
			if cause := r.podCause(pod); cause != "" {
				lines = append(lines, fmt.Sprintf("  pod %s: %s", pod.Name, cause))
			}
		}
	}
	return lines
}

func (r *Result) nodeCauses(node *corev1.Node) []string {
	return slices.Concat(r.notReady(node), r.departing(node), r.lifecycle(node))
}

// lifecycle is what the conditions of a node's lifecycle say that do not make it departing (M8). Those of drains matter where a
// policy looks at them; a maintenance that is only planned stops nothing.
func (r *Result) lifecycle(node *corev1.Node) []string {
	options := r.Spec.Strategy.Policy.Outages
	var lines []string
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		var words string
		switch {
		case c.Status != corev1.ConditionTrue || options != nil && slices.Contains(options.Conditions, string(c.Type)):
			continue
		case c.Type == corev1.NodeMaintenancePlanned:
			words = "maintenance is planned, which stops nothing: condition "
		case options != nil && (c.Type == corev1.NodeDrainInProgress || c.Type == corev1.NodeDrained):
			words = "draining: condition "
		default:
			continue
		}
		sign := "  node " + words + string(c.Type)
		if !c.LastTransitionTime.IsZero() {
			sign += r.since(c.LastTransitionTime)
		}
		lines = append(lines, joined(sign, c.Reason, c.Message))
	}
	return lines
}

// departing are the signs that a node is departing (M8), where a policy looks at them.
func (r *Result) departing(node *corev1.Node) []string {
	options := r.Spec.Strategy.Policy.Outages
	if options == nil {
		return nil
	}
	taints, conditions := outage.Signs()
	taints, conditions = append(taints, options.Taints...), append(conditions, options.Conditions...)
	var lines []string
	add := func(sign string, since *metav1.Time, words ...string) {
		if !since.IsZero() {
			sign += r.since(*since)
		}
		lines = append(lines, joined(append([]string{"  node departing: " + sign}, words...)...))
	}
	if node.DeletionTimestamp != nil {
		add("it is marked for deletion", node.DeletionTimestamp)
	}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; slices.Contains(taints, t.Key) {
			add("taint "+t.Key, t.TimeAdded)
		}
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Status == corev1.ConditionTrue && slices.Contains(conditions, string(c.Type)) {
			add("condition "+string(c.Type), &c.LastTransitionTime, c.Reason, c.Message)
		}
	}
	return lines
}

// since says since when something is so, and how long that is.
func (r *Result) since(at metav1.Time) string {
	return fmt.Sprintf(" since %s (%s)", timestamp(at.Time), text.Duration(r.Snapshot.Now.Sub(at.Time)))
}

func (r *Result) notReady(node *corev1.Node) []string {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue {
			continue
		}
		line := "  node NotReady"
		if since := c.LastTransitionTime; !since.IsZero() {
			line += r.since(since)
		}
		return []string{joined(line, c.Reason, c.Message)}
	}
	return nil
}

// podCause is why a pod does not serve; empty for one that does, and where nothing says why.
func (r *Result) podCause(pod *corev1.Pod) string {
	cause, found := diagnosis.Of(pod, nil, r.Snapshot.Now)
	if !found || cause.Reason == diagnosis.NotReady && cause.Container == "" || cause.Reason == diagnosis.Terminating {
		return ""
	}
	words := cause.String()
	if !cause.Since.IsZero() {
		words += r.since(metav1.NewTime(cause.Since))
	}
	return words
}

// joined puts colons between the words that are not empty.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ": ")
}
