package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/daemonplan/daemonplan/rollout"
)

func (s *stage) printf(format string, values ...any) {
	s.out = append(s.out, fmt.Sprintf(format, values...))
}

// table prints rows of cells as kubectl lays them out.
func (s *stage) table(rows ...[]string) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 6, 4, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	s.out = append(s.out, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")...)
}

// printed takes what was printed since the last call.
func (s *stage) printed() []string {
	out := s.out
	s.out = nil
	return out
}

// step plans once, shows the plan and executes it.
func (s *stage) step(*arguments) error {
	plan, claims, err := s.plan()
	if err != nil {
		return err
	}
	s.row(plan)
	for _, p := range claims.Adopt {
		s.printf("adopt %s", p.Name)
	}
	for _, p := range claims.Release {
		s.printf("release %s", p.Name)
	}
	if actions := s.actions(plan); len(actions) > 0 {
		s.out = append(s.out, actions...)
	} else {
		s.printf("nothing to do")
	}
	s.rest(plan)
	if err := s.execute(plan, claims); err != nil {
		return err
	}
	// The plan was told; what it asked for need not be told again.
	s.told = len(s.cluster.Events())
	return nil
}

// status shows what kubectl and the planner say of the set now. Nothing is executed.
func (s *stage) status(*arguments) error {
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	s.row(plan)
	s.rest(plan)
	return nil
}

// explain: explain NODE…. Says in words what would be done there.
func (s *stage) explain(a *arguments) error {
	if len(*a) == 0 {
		return errors.New("which node is not said")
	}
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	for node := a.next(); node != ""; node = a.next() {
		s.out = append(s.out, strings.Split(plan.Explain(node), "\n")...)
	}
	return nil
}

// row is what kubectl get ds prints, or kubectl get eds.
func (s *stage) row(plan rollout.Plan) {
	if s.cluster.Spec().Kind == "ExtendedDaemonSet" {
		s.edsRow(plan)
		return
	}
	spec, age := s.cluster.Spec(), s.cluster.Now().Sub(s.began)
	s.table(
		slices.Concat([]string{"NAME"}, counterNames, []string{"NODE SELECTOR", "AGE"}),
		slices.Concat([]string{spec.Name}, counters(plan),
			[]string{labels.FormatLabels(spec.Template.Spec.NodeSelector), duration.HumanDuration(age)}),
	)
}

var counterNames = []string{"DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE"}

func counters(plan rollout.Plan) []string {
	c := plan.Status
	var cells []string
	for _, n := range []int32{c.Desired, c.Current, c.Ready, c.Updated, c.Available} {
		cells = append(cells, strconv.Itoa(int(n)))
	}
	return cells
}

// rest says what waits and why, when the planner would look again, and the state in one word (S2).
func (s *stage) rest(plan rollout.Plan) {
	if s.cluster.Spec().Strategy.Canary != nil {
		s.trial(plan)
	}
	if s.staged() {
		s.printf("parts: %s", partsState(plan))
		s.staleApprovals(plan)
	}
	for _, conflict := range plan.OverrideConflicts {
		s.printf("overrides of %s conflict on %s (%d in all): %s wins over %s", conflict.Container, conflict.Node,
			conflict.Nodes, conflict.Winner, conflict.Loser)
	}
	for _, malformed := range plan.MalformedOverrides {
		s.printf("malformed override of %s on %s: %s", malformed.Container, malformed.Node, malformed.Problem)
	}
	for _, wait := range plan.Waits() {
		s.printf("%s", wait)
	}
	wake := "none"
	if at := plan.NextWake; !at.IsZero() {
		wake = fmt.Sprintf("%s (in %s)", clock(at), at.Sub(s.cluster.Now()))
	}
	summary := fmt.Sprintf("now %s, next wake %s; %s (%s)", clock(s.cluster.Now()), wake, plan.Status.State, plan.Status.Reason)
	if n := plan.Status.Misscheduled; n > 0 {
		summary += fmt.Sprintf(", misscheduled %d", n)
	}
	s.printf("%s", summary)
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

// actions lists those of the plan in the order of execution, each with its reason.
func (s *stage) actions(plan rollout.Plan) []string {
	var lines []string
	for i := range plan.Revisions {
		action := &plan.Revisions[i]
		hash := action.Name[strings.LastIndex(action.Name, "-")+1:]
		line := fmt.Sprintf("%s revision %s", action.Verb, s.revision(hash))
		if action.Verb == rollout.CreateRevision || action.Verb == rollout.RenumberRevision {
			line += fmt.Sprintf(" as number %d", action.Number)
		}
		if action.Object != nil {
			line += s.verdicts(action.Object.Annotations, nil)
		}
		line += s.verdicts(action.Annotations, action.RemoveAnnotations)
		lines = append(lines, line)
	}
	for rest := plan.Patches; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].UID == rest[0].UID {
			n++
		}
		lines = append(lines, s.patchLine(plan, rest[:n]))
		rest = rest[n:]
	}
	for i := range plan.Pulls {
		lines = append(lines, fmt.Sprintf("pull %s on %s", plan.Pulls[i].Image, plan.Pulls[i].Node))
	}
	for i := range plan.Deletes {
		action := &plan.Deletes[i]
		lines = append(lines,
			fmt.Sprintf("delete %s at %s on %s (%s)", action.Pod, s.revision(action.Revision), action.Node, action.Reason))
	}
	for i := range plan.Creates {
		create := &plan.Creates[i]
		var line strings.Builder
		fmt.Fprintf(&line, "create on %s at %s (%s)", create.Node, s.revision(create.Revision), create.Reason)
		if create.Canary {
			line.WriteString(" as a canary")
		}
		for i := range create.Resources {
			fmt.Fprintf(&line, ", %s gets%s", create.Resources[i].Container, amountsOf(&create.Resources[i].Resources))
		}
		lines = append(lines, line.String())
	}
	return lines
}

// revision names a revision. Hashes differ between versions of k8s.io/api (R1), so they cannot be written down.
func (s *stage) revision(hash string) string {
	if hash == "" {
		return "no revision"
	}
	if s.hashes[hash] == "" {
		s.hashes[hash] = "r" + strconv.Itoa(len(s.hashes)+1)
	}
	return s.hashes[hash]
}

// tellEvents prints what happened by itself since the last time.
func (s *stage) tellEvents() {
	events := s.cluster.Events()
	for _, event := range events[s.told:] {
		s.printf("%s", event)
	}
	s.told = len(events)
}
