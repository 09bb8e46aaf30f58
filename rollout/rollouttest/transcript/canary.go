package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// canaryState is how the trial stands, in two words; empty if the set has no canary.
func (s *stage) canaryState(plan rollout.Plan) string {
	if s.cluster.Spec().Strategy.Canary == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s)", plan.Canary.Phase, plan.Canary.Reason)
}

// canary shows the trial with all that is known of it, and the marks on the revisions. Nothing is executed.
func (s *stage) canary(*arguments) error {
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	s.trial(plan)
	if message := plan.Canary.Message(); plan.Canary.Phase != canary.Idle {
		s.printf("  %s", message)
	}
	return s.marks(nil)
}

// trial says in one line which revision is tried where, and until when; of a trial that is over only how it ended.
func (s *stage) trial(plan rollout.Plan) {
	c := plan.Canary
	line := fmt.Sprintf("canary %s: %s (%s", s.revision(c.Revision), c.Phase, c.Reason)
	if c.Detail != "" {
		line += ", " + c.Detail
	}
	line += ")"
	if c.Pod != "" {
		line += fmt.Sprintf(" by %s on %s", c.Pod, c.Node)
	}
	if !c.At.IsZero() && c.At.Before(s.cluster.Now()) {
		line += " since " + clock(c.At)
	}
	if c.Phase == canary.Running || c.Phase == canary.Paused {
		line += fmt.Sprintf("; %d of %d nodes", len(c.Nodes), c.Wanted)
		if len(c.Nodes) > 0 {
			line += ": " + strings.Join(c.Nodes, ", ")
		}
	}
	if !c.Until.IsZero() {
		line += fmt.Sprintf("; until %s (in %s)", clock(c.Until), c.Until.Sub(s.cluster.Now()))
	}
	if c.Phase != canary.Idle {
		line += "; stable " + s.revision(c.Stable)
	}
	s.printf("%s", line)
	for _, stale := range c.Stale {
		s.printf("stale command: %s", s.named(stale))
	}
}

// marks shows the revisions with their verdicts, in the order of their numbers.
func (s *stage) marks(*arguments) error {
	revisions := s.cluster.Snapshot().Revisions
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, r := range revisions {
		s.printf("%s is number %d%s", s.revision(history.HashOf(r)), r.Revision, s.verdicts(r.Annotations, nil))
	}
	return nil
}

// verdicts says which marks are there, or are set and removed.
func (s *stage) verdicts(set map[string]string, remove []string) string {
	var parts []string
	for _, mark := range []struct{ key, name string }{
		{history.CompletedAnnotation, "completed"},
		{history.PromotedAnnotation, "promoted"}, {history.FailedAnnotation, "failed"},
		{history.FailedMessageAnnotation, "message"}, {history.RetriedAnnotation, "retried"},
	} {
		if value, ok := set[mark.key]; ok {
			parts = append(parts, fmt.Sprintf("%s %q", mark.name, s.named(value)))
		} else if slices.Contains(remove, mark.key) {
			parts = append(parts, "not "+mark.name+" any more")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// fleet: fleet [12 [name=n] [zones=a,b,c] [label=k=v,…] [taint=k=v:Effect,…]]. With a number that many nodes join, called n001
// and so on, spread over the zones in turn (label topology.kubernetes.io/zone). Without one it shows the pods of every
// node, those of others than the set too.
func (s *stage) fleet(a *arguments) error {
	if len(*a) > 0 {
		return s.join(a)
	}
	rows := [][]string{{"NODE", "POD", "REVISION", "STATUS", "RESTARTS", "NOTES"}}
	for _, node := range s.cluster.Snapshot().Nodes {
		pods := s.cluster.PodsOn(node.Name)
		if len(pods) == 0 {
			rows = append(rows, []string{node.Name, "-", "-", "-", "-", "-"})
		}
		for _, p := range pods {
			restarts := 0
			for i := range p.Status.ContainerStatuses {
				restarts += int(p.Status.ContainerStatuses[i].RestartCount)
			}
			rows = append(rows, []string{
				node.Name, p.Name, s.revisionOf(p), podStatus(p), strconv.Itoa(restarts), orNone(strings.Join(s.notes(p), ", ")),
			})
		}
	}
	s.table(rows...)
	return nil
}

// revisionOf is the revision of a pod, of whatever set it is.
func (s *stage) revisionOf(p *corev1.Pod) string {
	return s.revision(p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey])
}

// notes is what is out of the ordinary about a pod.
func (s *stage) notes(p *corev1.Pod) []string {
	var notes []string
	if p.Labels[rollout.CanaryLabel] != "" {
		notes = append(notes, "canary")
	}
	for i := range p.Status.ContainerStatuses {
		if waiting := p.Status.ContainerStatuses[i].State.Waiting; waiting != nil {
			notes = append(notes, waiting.Reason)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			notes = append(notes, c.Reason)
		}
	}
	if p.Status.Reason != "" {
		notes = append(notes, p.Status.Reason)
	}
	if p.Annotations[placement.DigestAnnotation] != "" {
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			notes = append(notes, c.Name+amountsOf(&c.Resources))
		}
	}
	switch owner := metav1.GetControllerOf(p); {
	case owner == nil:
		notes = append(notes, "orphan")
	case owner.UID != s.cluster.Spec().UID:
		notes = append(notes, "of "+owner.Kind+" "+owner.Name)
	}
	return notes
}

// ramp: ramp 10m [every=1m]. Is run, for that long or until everything rests, with one line for each minute: what was
// created, replaced or updated in it, how many nodes slow start let be under way at its end, and how many were.
func (s *stage) ramp(a *arguments) error {
	limit, err := lasting(a.next())
	if err != nil {
		return err
	}
	every, err := lasting(cmp.Or(a.named("every"), "1m"))
	if err != nil {
		return err
	}
	rows := [][]string{{"MINUTE", "UPDATED", "AVAILABLE", "LIMIT", "MOST UNDER WAY", "DELETED", "CREATED", "STATE"}}
	if every != time.Minute {
		rows[0][0] = "AFTER"
	}
	began := s.cluster.Now()
	var limits, most, deletes, creates int
	for step := 1; s.cluster.Now().Sub(began) < limit; step++ {
		limits, most, deletes, creates = 0, 0, 0, 0
		last, err := s.runOn(every, func(p planned) {
			limits = max(limits, int(p.plan.Budget.SlowStart))
			most = max(most, s.underWay(p.plan))
			deletes += len(p.plan.Deletes)
			creates += len(p.plan.Creates)
		})
		if err != nil {
			return err
		}
		after := strconv.Itoa(step)
		if every != time.Minute {
			after = s.cluster.Now().Sub(began).String()
		}
		rows = append(rows, []string{
			after, strconv.Itoa(int(last.Status.Updated)), strconv.Itoa(int(last.Status.Available)), strconv.Itoa(limits),
			strconv.Itoa(most), strconv.Itoa(deletes), strconv.Itoa(creates),
			fmt.Sprintf("%s (%s)", last.Status.State, last.Status.Reason),
		})
		if last.Empty() && last.NextWake.IsZero() && s.cluster.Next().IsZero() {
			break
		}
	}
	s.table(rows...)
	return nil
}

// underWay is how many nodes are under way after the plan (B7): those that were, and those that it begins with. A node
// whose old pod it deletes counts as one of them until its new pod is available.
func (s *stage) underWay(plan rollout.Plan) int {
	return int(plan.Budget.UnderWay) + len(plan.Deletes) + len(plan.Creates)
}

// forget loses the memory of the last plan.
func (s *stage) forget(*arguments) error {
	s.cluster.LoseMemory()
	return nil
}

// command: command [pause=r2] [unpause=r2] [validate=r2] [fail=r2] [retry=r2/1]. The commands that stand in the spec from now
// on, in the place of those before.
func (s *stage) command(a *arguments) error {
	spec := s.cluster.Spec()
	if spec.Strategy.Canary == nil {
		return errors.New("the set has no canary")
	}
	options := spec.Strategy.Canary.DeepCopy()
	options.Commands = canary.Commands{
		Pause: s.hashed(a.named("pause")), Unpause: s.hashed(a.named("unpause")), Validate: s.hashed(a.named("validate")),
		Fail: s.hashed(a.named("fail")), Retry: s.hashed(a.named("retry")),
	}
	spec.Strategy.Canary = &options
	spec.Generation++
	return s.cluster.SetSpec(spec)
}

// hashed puts the hash of a revision in the place of its name at the beginning.
func (s *stage) hashed(text string) string {
	name, rest, _ := strings.Cut(text, "/")
	for hash, known := range s.hashes {
		if known == name {
			name = hash
		}
	}
	if rest != "" {
		return name + "/" + rest
	}
	return name
}

// kubectl: kubectl eds canary pause, and so on: what the plugin of ExtendedDaemonSet can be asked for. The patch is shown,
// and the object of the set is patched.
func (s *stage) kubectl(a *arguments) error {
	if a.next() != "eds" {
		return errors.New("only the plugin eds is known")
	}
	var words []string
	for word := a.next(); word != ""; word = a.next() {
		words = append(words, word)
	}
	verb, err := command.Parse(strings.Join(words, " "))
	if err != nil {
		return err
	}
	view, err := s.view()
	if err != nil {
		return err
	}
	patch, err := verb.Patch(view)
	if err != nil {
		s.printf("refused: %s", s.named(err.Error()))
		return nil
	}
	s.printf("%s", s.named(string(patch.Data)))
	return s.patchManifest(patch.Apply)
}

// view is the set as kubectl and its plugin see it.
func (s *stage) view() (command.View, error) {
	snapshot := s.cluster.Snapshot()
	claims, err := rollout.Claim(s.cluster.Spec(), snapshot.Pods)
	if err != nil {
		return command.View{}, err
	}
	snapshot.Pods = claims.Pods
	plan, err := s.cluster.Plan(snapshot)
	return command.View{Spec: s.cluster.Spec(), Snapshot: snapshot, Plan: plan, Created: s.began}, err
}

// edsRow is what kubectl get eds prints, and kubectl get ers.
func (s *stage) edsRow(plan rollout.Plan) {
	snapshot := s.cluster.Snapshot()
	if claims, err := rollout.Claim(s.cluster.Spec(), snapshot.Pods); err == nil {
		snapshot.Pods = claims.Pods
	}
	row := command.Get(command.View{Spec: s.cluster.Spec(), Snapshot: snapshot, Plan: plan, Created: s.began})
	s.revision(plan.Status.UpdateRevision) // it gets a name
	cells := row.Cells()
	for i := range cells {
		cells[i] = s.named(cells[i])
	}
	s.table(row.Header(), cells)
}

// canaryLabelled says what a patch does with the canary label; null takes it off.
func canaryLabelled(value string) string {
	if value == "" {
		return "canary label off"
	}
	return "canary label " + value
}
