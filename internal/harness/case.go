package harness

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Case is a spec and a snapshot to plan for.
type Case struct {
	Spec     rollout.Spec
	Snapshot rollout.Snapshot
}

// String writes the scenario as one line for each object, with what matters to a plan and nothing else. Instants are
// given as durations before now.
func (s Case) String() string {
	var b strings.Builder
	s.writeSpec(&b)
	names := map[string]string{}
	if hash := objects.Hash(s.Spec); hash != "" {
		names[hash] = hash + "(update)"
	}
	policy := s.Spec.Strategy.Policy
	w := writer{
		Builder: &b, now: s.Snapshot.Now, names: names, outages: policy.Outages != nil, failures: policy.Failures != nil,
	}
	for _, r := range s.Snapshot.Revisions {
		w.revision(r, s.Spec)
	}
	for _, n := range s.Snapshot.Nodes {
		w.node(n)
	}
	for _, p := range s.Snapshot.Pods {
		w.pod(p)
	}
	for _, f := range s.Snapshot.FailedPulls {
		fmt.Fprintf(&b, "failed pull: %s on %s, %d times, last -%v\n", f.Image, f.Node, f.Count, w.now.Sub(f.At))
	}
	w.inFlight(s.Snapshot.InFlight)
	w.memory(s.Snapshot.Memory)
	return b.String()
}

// GoString is String: it keeps what failing properties print readable.
func (s Case) GoString() string { return s.String() }

func (s Case) writeSpec(b *strings.Builder) {
	fmt.Fprintf(b, "spec %s", s.Spec.Name)
	strategy := s.Spec.Strategy
	if strategy.Type != "" {
		fmt.Fprintf(b, " %s", strategy.Type)
	}
	if q := strategy.MaxUnavailable; q != nil {
		fmt.Fprintf(b, " maxUnavailable=%s", q)
	}
	if q := strategy.MaxSurge; q != nil {
		fmt.Fprintf(b, " maxSurge=%s", q)
	}
	if q := s.Spec.Burst; q != nil {
		fmt.Fprintf(b, " burst=%s", q)
	}
	if q := strategy.Partition; q != nil {
		fmt.Fprintf(b, " partition=%s", q)
	}
	if selector := strategy.NodeSelector; selector != nil {
		fmt.Fprintf(b, " updates{%s}", metav1.FormatLabelSelector(selector))
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"paused", strategy.Paused}, {"frozen", strategy.Frozen}, {"hostNetwork", s.Spec.Template.Spec.HostNetwork},
		{"partitionedScaling", strategy.PartitionedScaling}, {"holdRevision", strategy.HoldRevision},
	} {
		if flag.set {
			fmt.Fprintf(b, " %s", flag.name)
		}
	}
	fmt.Fprintf(b, " minReadySeconds=%d", s.Spec.MinReadySeconds)
	if limit := s.Spec.RevisionHistoryLimit; limit != nil {
		fmt.Fprintf(b, " historyLimit=%d", *limit)
	}
	if generation := s.Spec.TemplateGeneration; generation != nil {
		fmt.Fprintf(b, " templateGeneration=%d", *generation)
	}
	s.writeKruise(b)
	s.writeCanary(b)
	s.writeStages(b)
	s.writeFailures(b)
	template := &s.Spec.Template.Spec
	if template.NodeName != "" {
		fmt.Fprintf(b, " nodeName=%s", template.NodeName)
	}
	if len(template.NodeSelector) > 0 {
		fmt.Fprintf(b, " nodeSelector=%v", template.NodeSelector)
	}
	if template.Affinity != nil {
		for _, term := range objects.RequiredAffinity(template.DeepCopy()).NodeSelectorTerms {
			fmt.Fprintf(b, " affinity{%v%v}", term.MatchExpressions, term.MatchFields)
		}
	}
	for _, t := range template.Tolerations {
		fmt.Fprintf(b, " tolerates{%s %s:%s}", t.Key, t.Operator, t.Effect)
	}
	b.WriteByte('\n')
}

// writer writes objects as lines.
type writer struct {
	*strings.Builder
	now   time.Time
	names map[string]string // of hashes
	// outages: the spec has a policy for them, so that it matters when something happened.
	outages bool
	// failures: the spec has a policy for them, so that it matters when a pod was started, and how often.
	failures bool
}

func (w writer) revision(r *appsv1.ControllerRevision, spec rollout.Spec) {
	if r == nil {
		w.WriteString("revision nil\n")
		return
	}
	hash := w.hash(r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey])
	fmt.Fprintf(w, "revision %s number=%d hash=%q", r.Name, r.Revision, hash)
	if objects.Holds(r, &spec.Template) {
		w.WriteString(" holds the template")
	} else if template, err := history.Template(r); err == nil && objects.UpdatesInPlace(&spec) {
		for _, o := range inplace.Compare(template, &spec.Template, spec.Strategy.InPlace).Obstacles {
			fmt.Fprintf(w, " obstacle{%s}", o)
		}
	}
	w.marks(r)
	w.WriteByte('\n')
}

func (w writer) node(n *corev1.Node) {
	if n == nil {
		w.WriteString("node nil\n")
		return
	}
	fmt.Fprintf(w, "node %s", n.Name)
	for _, key := range []string{ZoneLabel, RingLabel} {
		if value, ok := n.Labels[key]; ok {
			fmt.Fprintf(w, " %s=%s", key, value)
		}
	}
	for _, t := range n.Spec.Taints {
		fmt.Fprintf(w, " taint{%s=%s:%s}", t.Key, t.Value, t.Effect)
	}
	for _, image := range n.Status.Images {
		fmt.Fprintf(w, " has%v", image.Names)
	}
	w.outage(n)
	w.overrides(n)
	w.WriteByte('\n')
}

func (w writer) pod(p *corev1.Pod) {
	if p == nil {
		w.WriteString("pod nil\n")
		return
	}
	fmt.Fprintf(w, "pod %s", p.Name)
	node, ok := placement.TargetNode(p)
	switch {
	case !ok:
		w.WriteString(" on no node")
	case p.Spec.NodeName != "":
		fmt.Fprintf(w, " on %s", node)
	default:
		fmt.Fprintf(w, " pinned to %s", node)
	}
	if hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; labelled {
		fmt.Fprintf(w, " hash=%q", w.hash(hash))
	}
	if generation, labelled := p.Labels[rollout.TemplateGenerationLabel]; labelled {
		fmt.Fprintf(w, " generation=%s", generation)
	}
	fmt.Fprintf(w, " created -%v %s", w.now.Sub(p.CreationTimestamp.Time), p.Status.Phase)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == lifecycle.InPlaceUpdateReady || c.Type == lifecycle.PodReady {
			fmt.Fprintf(w, " %s=%s", c.Type, c.Status)
			if c.LastTransitionTime.IsZero() {
				w.WriteString(" since ever")
			} else {
				fmt.Fprintf(w, " since -%v", w.now.Sub(c.LastTransitionTime.Time))
			}
			if c.Message != "" {
				fmt.Fprintf(w, " %s", c.Message)
			}
		}
	}
	if p.DeletionTimestamp != nil {
		w.WriteString(" terminating")
	}
	w.start(p)
	w.failing(p)
	w.kruise(p)
	w.trial(p)
	w.WriteByte('\n')
}

func (w writer) inFlight(f rollout.InFlight) {
	for _, create := range f.Creates {
		fmt.Fprintf(w, "in flight: create on %s hash=%q\n", create.Node, w.hash(create.Revision))
	}
	for _, uid := range f.Deletes {
		fmt.Fprintf(w, "in flight: delete %s\n", uid)
	}
	for _, uid := range f.Patches {
		fmt.Fprintf(w, "in flight: patch %s\n", uid)
	}
	for _, pull := range f.Pulls {
		fmt.Fprintf(w, "in flight: pull %s on %s\n", pull.Image, pull.Node)
	}
	for _, name := range f.Revisions {
		fmt.Fprintf(w, "in flight: revision %s\n", name)
	}
}

func (w writer) memory(m rollout.Memory) {
	if m.Version == 0 {
		return
	}
	fmt.Fprintf(w, "memory version=%d", m.Version)
	fmt.Fprintf(w, " rollout=%q completed=%v", w.hash(m.Rollout.Revision), m.Rollout.Completed)
	if m.CollisionCount != nil {
		fmt.Fprintf(w, " collisionCount=%d", *m.CollisionCount)
	}
	for _, b := range m.Backoffs {
		fmt.Fprintf(w, " backoff{%s %q %v since -%v", b.Node, w.hash(b.Revision), b.Delay, w.now.Sub(b.Since))
		w.series(b)
		w.WriteByte('}')
	}
	if m.Rollout.GaveUp != "" {
		fmt.Fprintf(w, " gave up: %q", m.Rollout.GaveUp)
	}
	w.frontier(m.Rollout)
	w.record(m)
	w.WriteByte('\n')
}

func (w writer) hash(hash string) string {
	if name, ok := w.names[hash]; ok {
		return name
	}
	return hash
}

// Kruise reports whether the spec has anything that a DaemonSet has not.
func Kruise(spec *rollout.Spec) bool {
	hooks := spec.Lifecycle
	return objects.UpdatesInPlace(spec) || spec.PreDownload != nil || hooks.PreDelete != nil || hooks.InPlaceUpdate != nil ||
		hooks.PreNormal != nil || spec.Strategy.Partition != nil || spec.Strategy.NodeSelector != nil
}

// Canarying reports whether the spec has anything of what ExtendedDaemonSet adds.
func Canarying(spec *rollout.Spec) bool {
	return spec.Strategy.Canary != nil || spec.Strategy.SlowStart != nil || spec.Strategy.MaxUnschedulable != nil ||
		len(spec.Overrides) > 0
}
