package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// Overview is a plan for a view that is drawn again and again: the lines of the report, and the numbers of which it draws bars
// and tables. All text is printable.
type Overview struct {
	// Set is the set with its resource and namespace.
	Set string
	// Revision is the revision that is rolled out: its number and name.
	Revision string
	// State is the state of the rollout, and how far it is.
	State string
	// Progress is whether the rollout goes on by itself.
	Progress Progress
	// OnTrial reports whether a canary is under way, so that most nodes wait for its end.
	OnTrial bool
	// Desired, Updated and Available are how many nodes are to run the pod, have one of the update revision, and have an
	// available one. Settled is how many have one that is both, and Left how many are to get there and may.
	Desired, Updated, Available, Settled, Left int
	// Budget is how many nodes may be unavailable, why, and how many are.
	Budget string
	// More are lines about the strategy, slow start, the canary, and what makes the plan doubtful.
	More []string
	// States are the states that nodes are in, and Zones how many nodes of each zone are.
	States []rollout.NodeState
	Zones  []Zone
	// Parts are the parts of the stages, in the order in which they are opened.
	Parts []string
	// Waits are the nodes that wait, grouped by what they wait for.
	Waits []string
	// Troubles are the nodes that are not available because something is wrong with them or with their pods.
	Troubles []Trouble
	// Wake is when the plan is to be made again even if nothing changes.
	Wake string
}

// Zone is how many nodes of a zone are in each state.
type Zone struct {
	// Name is the value of the label topology.kubernetes.io/zone; "-" for nodes without one, and for pods without a node.
	Name   string
	Nodes  int
	States map[rollout.NodeState]int
}

// Trouble is what is wrong with a node that is not available, in one line, as Explain says it.
type Trouble struct {
	Node, What string
	// Starting reports whether nothing is wrong but that its containers have not been created yet.
	Starting bool
}

// Progress says whether a rollout goes on by itself.
type Progress uint8

// These are the values of a Progress.
const (
	// GoesOn: nodes have yet to be updated, and will be.
	GoesOn Progress = iota
	// Complete: all nodes are updated that the spec does not hold.
	Complete
	// Stopped: it goes on only when somebody acts.
	Stopped
)

// progress is read off the condition Progressing. Endless is a rollout with surge whose new pods cannot be bound beside the old
// ones: it does not end by itself, though a controller says that it goes on.
func (r *Result) progress(endless bool) Progress {
	condition := meta.FindStatusCondition(r.Plan.Status.Conditions, status.ConditionProgressing)
	switch {
	case condition != nil && condition.Status == metav1.ConditionTrue && endless:
		return Stopped
	case condition == nil || condition.Status == metav1.ConditionTrue:
		return GoesOn
	case condition.Status == metav1.ConditionFalse && condition.Reason != status.OnDelete.String():
		return Complete
	default:
		return Stopped
	}
}

// Stopped is the negative answer that the rollout goes on only when somebody acts; nil: it goes on by itself, or is complete.
func (o *Overview) Stopped() error {
	if o.Progress != Stopped {
		return nil
	}
	return &exit.NegativeError{Reason: fmt.Sprintf("the rollout of %s goes on only when somebody acts: %s", o.Set, o.State)}
}

// Overview describes the plan as it looks now, which may be later than when it was made.
func (r *Result) Overview(now time.Time) Overview {
	seen := *r
	seen.Snapshot.Now = now
	return seen.overview()
}

func (r *Result) overview() Overview {
	s := r.Plan.Status
	_, endless := r.excluded()
	o := Overview{
		Set:      fmt.Sprintf("%s/%s in namespace %s", objects.ResourceOf(r.Set.Group), r.Set.Spec.Name, r.Set.Spec.Namespace),
		Revision: r.updateText(),
		State:    r.progressText(),
		Progress: r.progress(endless),
		OnTrial:  r.Plan.Status.State == status.Canary,
		Desired:  int(s.Desired), Updated: int(s.Updated), Available: int(s.Available),
		Budget: r.budgetText(),
		More:   slices.Concat(r.whose(), r.strategyLines(), r.paceLines(), r.failureLines(), r.canaryLines(), r.claimLines()),
		Parts:  r.partLines(),
		Waits:  r.waitLines(),
		Wake:   r.wakeText(),
	}
	if endless && o.Progress == Stopped {
		o.State += "; no new pod can be bound beside an outdated one"
	}
	o.More = append(o.More, r.warningLines()...)
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		if d.Facts.Has(status.Desired) && d.State == rollout.StateUpdated {
			o.Settled++
		}
	}
	o.Left = len(r.Left())
	o.States, o.Zones = r.zones()
	o.Troubles = r.troubles()
	for _, line := range []*string{&o.Set, &o.Revision, &o.State, &o.Budget, &o.Wake} {
		*line = text.Printable(*line)
	}
	for _, lines := range [][]string{o.More, o.Parts, o.Waits} {
		for i := range lines {
			lines[i] = text.Printable(lines[i])
		}
	}
	return o
}

// Left lists the nodes that are to get an available pod of the update revision, and may, in the order of their names.
func (r *Result) Left() []string {
	var nodes []string
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		held := d.Reason == rollout.ReasonHeld || d.Reason == rollout.ReasonPartitionedScaling
		if d.Facts.Has(status.Desired) && d.State != rollout.StateUpdated && !held {
			nodes = append(nodes, d.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// updateText is the number and the name of the update revision.
func (r *Result) updateText() string {
	for _, one := range r.revisions() {
		if one.Hash == r.Plan.Status.UpdateRevision {
			words := fmt.Sprintf("%d, %s", one.Number, one.Name)
			if one.Action == rollout.CreateRevision.String() {
				words += " (not created yet)"
			}
			return words
		}
	}
	return cmp.Or(r.Plan.Status.UpdateRevision, "<unknown>")
}

// shownStates are the states in the order in which a rollout passes through them, from its end to its beginning, and then those
// that have no part in it.
var shownStates = []rollout.NodeState{
	rollout.StateUpdated, rollout.StateStable, rollout.StateStarting, rollout.StateSurging, rollout.StateMissing,
	rollout.StateTerminating, rollout.StateBroken, rollout.StateOutdated, rollout.StateLeaving, rollout.StateKept,
	rollout.StateVanished, rollout.StateUnattributed, rollout.StateIneligible,
}

// zones counts the nodes by zone and state. Nodes without a zone come last.
func (r *Result) zones() ([]rollout.NodeState, []Zone) {
	const none = "-"
	zoneOf := make(map[string]string, len(r.Snapshot.Nodes))
	for _, node := range r.Snapshot.Nodes {
		zoneOf[node.Name] = node.Labels[corev1.LabelTopologyZone]
	}
	zones := make(map[string]*Zone)
	there := make(map[rollout.NodeState]bool)
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		name := cmp.Or(text.Printable(zoneOf[d.Node]), none)
		zone := zones[name]
		if zone == nil {
			zone = &Zone{Name: name, States: make(map[rollout.NodeState]int)}
			zones[name] = zone
		}
		zone.Nodes++
		zone.States[d.State]++
		there[d.State] = true
	}
	var list []Zone
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		if name != none {
			list = append(list, *zones[name])
		}
	}
	if zone := zones[none]; zone != nil {
		list = append(list, *zone)
	}
	return slices.DeleteFunc(slices.Clone(shownStates), func(s rollout.NodeState) bool { return !there[s] }), list
}

// troubles are the nodes that are not available, or hold a place of the budget already, with what is wrong with them. Those with
// pods that only start come last.
func (r *Result) troubles() []Trouble {
	found := make(map[string]*Trouble)
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		missing := d.Facts.Has(status.Desired) && !d.Facts.Has(status.Available)
		before := d.Verb == rollout.VerbNone || d.Verb == rollout.VerbWait || d.Verb == rollout.VerbHold
		if d.Node != "" && (missing || before && (d.Unavailable || d.Surging)) {
			found[d.Node] = &Trouble{Node: text.Printable(d.Node), Starting: true}
		}
	}
	causes := make(map[string][]string)
	for _, node := range r.Snapshot.Nodes {
		if trouble := found[node.Name]; trouble != nil {
			for _, cause := range r.nodeCauses(node) {
				causes[node.Name] = append(causes[node.Name], strings.Trim(cause, " ."))
				trouble.Starting = false
			}
		}
	}
	for _, pod := range r.Snapshot.Pods {
		name := nodeOf(pod)
		if trouble := found[name]; trouble != nil {
			if cause := r.podCause(pod); cause != "" {
				causes[name] = append(causes[name], cause)
			}
			trouble.Starting = trouble.Starting && starts(pod)
		}
	}
	var list []Trouble
	for name, trouble := range found {
		if len(causes[name]) > 0 {
			trouble.What = text.Printable(strings.Join(causes[name], "; "))
			list = append(list, *trouble)
		}
	}
	slices.SortFunc(list, func(a, b Trouble) int {
		if a.Starting != b.Starting {
			return map[bool]int{false: -1, true: 1}[a.Starting]
		}
		return cmp.Compare(a.Node, b.Node)
	})
	return list
}

// starts reports whether no container of a pod has run yet, and none waits for anything but to be created.
func starts(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending {
		return false
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			usual := waiting == nil || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing"
			if !usual || statuses[i].RestartCount > 0 {
				return false
			}
		}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return false
		}
	}
	return true
}
