package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Explain prints in words what the policies of a file do to a rollout. The error says what is wrong with them, or that the file
// cannot be read.
func Explain(f *objects.Files, name string, out io.Writer) error {
	list, err := read(f, name)
	if err != nil {
		return err
	}
	for i, one := range list {
		if one.err != nil {
			return one.err
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s\n", text.Printable(one.place))
		if !one.bare {
			fmt.Fprintln(out, budget(one.set.Spec.Default().Strategy))
		}
		for _, line := range inWords(one.set.Spec.Default()) {
			fmt.Fprintln(out, text.Printable(line))
		}
	}
	return nil
}

// budget says how many nodes may be updated at once.
func budget(strategy rollout.Strategy) string {
	if surge := quantity(strategy.MaxSurge); surge != "0" && surge != "0%" {
		return "Nodes are updated within maxSurge " + surge + "."
	}
	return "Nodes are updated within maxUnavailable " + quantity(strategy.MaxUnavailable) + "."
}

// inWords says what the policy of a spec with defaults does.
func inWords(spec rollout.Spec) []string {
	if spec.Strategy.Type == rollout.OnDelete {
		return []string{"The strategy is OnDelete: pods are replaced when somebody deletes them, and no policy takes effect."}
	}
	policy := spec.Strategy.Policy
	lines := stagesInWords(policy)
	for _, d := range policy.Domains {
		lines = append(lines, domainInWords(d))
	}
	if policy.Failures != nil {
		lines = append(lines, failuresInWords(policy.Failures.Default())...)
	}
	if policy.Outages != nil {
		lines = append(lines, outagesInWords(policy.Outages.Default())...)
	}
	if len(lines) == 0 {
		lines = []string{"It has no policy."}
	}
	return lines
}

// quantity is a number or a percentage; nil: 0.
func quantity(q *intstr.IntOrString) string {
	if q == nil {
		return "0"
	}
	return q.String()
}

func nodes(q *intstr.IntOrString) string {
	if q != nil && q.Type == intstr.Int && q.IntVal == 1 {
		return "1 node"
	}
	if q != nil && q.Type == intstr.String {
		return q.StrVal + " of the nodes"
	}
	return quantity(q) + " nodes"
}

// selected are the nodes that a selector selects; nil and empty: all.
func selected(selector *metav1.LabelSelector, everything string) string {
	if all(selector) {
		return everything
	}
	return "nodes with " + metav1.FormatLabelSelector(selector)
}

func stagesInWords(policy rollout.Policy) (lines []string) {
	if len(policy.Stages) == 0 {
		return nil
	}
	lines = append(lines, "A new revision comes to the fleet in this order, each part when the one before it is done:")
	for i, s := range policy.Stages {
		lines = append(lines, fmt.Sprintf("  %d. %s: %s", i+1, s.Name, stageInWords(s, i)))
	}
	if !slices.ContainsFunc(policy.Stages, func(s stage.Stage) bool { return all(s.Selector) }) {
		lines = append(lines, fmt.Sprintf("  %d. The nodes that no stage has selected.", len(policy.Stages)+1))
	}
	if policy.Expedite != "" {
		lines = append(lines, "Revision "+policy.Expedite+" passes the stages: all parts are open to it at once.")
	}
	for _, a := range policy.Approved {
		part := "stage " + a.Stage
		if a.Value != "" {
			part += " for " + a.Value
		}
		lines = append(lines, fmt.Sprintf("Approved: %s for revision %s.", part, a.Revision))
	}
	return lines
}

func stageInWords(s stage.Stage, before int) string {
	everything := "all nodes"
	if before > 0 {
		everything = "all nodes that are left"
	}
	words := selected(s.Selector, everything)
	if s.Key != "" {
		words += ", one value of " + s.Key + " after the other"
	}
	if s.Approval {
		words += "; it waits for an approval"
		if s.Key != "" {
			words += " of each value"
		}
	}
	done := "all are updated and available"
	if tolerance := quantity(s.Tolerance); tolerance != "0" && tolerance != "0%" {
		done = "all but " + tolerance + " are updated and available"
	}
	words += "; done when " + done
	if s.Soak > 0 {
		words += "; then it soaks for " + text.Duration(s.Soak)
	}
	return words + "."
}

func domainInWords(d domain.Domain) string {
	of := "Of " + selected(d.Selector, "all nodes")
	if d.Key == "" {
		return fmt.Sprintf("%s, at most %s may be disturbed at once.", of, nodes(d.Max))
	}
	var bounds []string
	if d.Max != nil {
		bounds = append(bounds, fmt.Sprintf("at most %s of one %s", nodes(d.Max), d.Key))
	}
	if d.AtOnce > 0 {
		bounds = append(bounds, fmt.Sprintf("nodes of at most %s of %s", text.Counted(int(d.AtOnce), "value"), d.Key))
	}
	return fmt.Sprintf("%s, %s may be disturbed at once.", of, strings.Join(bounds, ", and "))
}

func failuresInWords(o failure.Options) []string {
	fails := "A node has failed when its new pod is not available for " + text.Duration(o.Deadline)
	if o.MaxRestarts != nil {
		fails += ", or has restarted more than " + text.Counted(int(*o.MaxRestarts), "time")
	}
	then := "no further node is updated until somebody acts"
	if o.Action == failure.Rollback {
		then = "the revision is given up, and all nodes go back by themselves"
	}
	limit := nodes(o.MaxFailed) + " have failed"
	if o.MaxFailed != nil && o.MaxFailed.Type == intstr.String {
		limit = o.MaxFailed.StrVal + " of the nodes that are open to the revision have failed"
	}
	lines := []string{fails + ".", fmt.Sprintf("When more than %s, %s.", limit, then)}
	if q := quantity(o.Quarantine); q != "0" && q != "0%" {
		lines = append(lines, fmt.Sprintf("Failed nodes do not use up the budget, up to %s.", nodes(o.Quarantine)))
	}
	return lines
}

func outagesInWords(o outage.Options) []string {
	var lines []string
	if quantity(o.MaxExempt) != "0" && quantity(o.MaxExempt) != "0%" {
		which := "Nodes that were down before their update"
		if o.ProvenAfter > 0 {
			which += ", or whose new pod had run for " + text.Duration(o.ProvenAfter) + " when they went down,"
		}
		lines = append(lines, fmt.Sprintf("%s do not use up the budget, up to %s.", which, nodes(o.MaxExempt)))
	}
	if o.Touch {
		return append(lines, "Nodes that are on their way out are repaired and updated like any other.")
	}
	signs := slices.Concat(o.Taints, o.Conditions)
	line := "Nodes that are on their way out are left alone"
	if len(signs) > 0 {
		line += "; these are signs of it, too: " + strings.Join(signs, ", ")
	}
	return append(lines, line+".")
}
