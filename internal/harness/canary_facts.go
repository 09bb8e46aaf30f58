package harness

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// canaryFacts is what the objects of a snapshot say about a canary, in as many words as the rules: neither the plan nor
// package canary is asked.
type canaryFacts struct {
	spec     rollout.Spec
	options  canary.Options
	snapshot rollout.Snapshot
	// update are the hashes of revisions that hold the template, name and mark those of the newest of them.
	update         map[string]bool
	name           string
	promoted       bool
	failed, retry  string // values of annotations
	marked         bool   // any other revision is
	first          bool   // there is no other revision
	nodes          map[string]*corev1.Node
	run, candidate map[string]bool
	// keep are nodes that the selectors match and that may only keep a pod.
	keep  map[string]bool
	on    map[string][]*corev1.Pod
	owner map[types.UID]string // the node of a pod
}

func factsOf(spec rollout.Spec, s rollout.Snapshot) (*canaryFacts, error) {
	f := &canaryFacts{
		spec: spec.Default(), snapshot: s, update: map[string]bool{}, first: true,
		nodes: map[string]*corev1.Node{}, run: map[string]bool{}, candidate: map[string]bool{},
		keep: map[string]bool{},
		on:   map[string][]*corev1.Pod{}, owner: map[types.UID]string{},
	}
	if o := spec.Strategy.Canary; o != nil {
		f.options = o.Default()
	}
	if hash := objects.Hash(spec); hash != "" {
		f.update[hash] = true
		f.name = f.spec.Name + "-" + hash
	}
	f.readRevisions()
	matcher, err := placement.Compile(&f.spec.Template)
	if err != nil {
		return nil, err
	}
	selectors := make([]labels.Selector, 2)
	for i, s := range [...]*metav1.LabelSelector{f.spec.Strategy.NodeSelector, f.options.NodeSelector} {
		selectors[i] = labels.Everything()
		if s == nil {
			continue
		}
		if selectors[i], err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil, err
		}
	}
	for _, n := range s.Nodes {
		f.nodes[n.Name] = n
		outcome := matcher.Evaluate(n).Outcome
		selected := selectors[0].Matches(labels.Set(n.Labels)) && selectors[1].Matches(labels.Set(n.Labels)) &&
			canRun(n, &f.spec.Template.Spec)
		f.run[n.Name] = outcome == placement.Run
		f.candidate[n.Name] = f.run[n.Name] && selected
		f.keep[n.Name] = outcome == placement.Keep && selected
	}
	for _, p := range s.Pods {
		if node, ok := placement.TargetNode(p); ok {
			f.on[node] = append(f.on[node], p)
			f.owner[p.UID] = node
		}
	}
	return f, nil
}

// mayBeBroken reports whether a node that may only keep a pod has one of the revision that is not Ready: a canary node is not
// replaced then, as the revision may have broken it.
func (f *canaryFacts) mayBeBroken(node string) bool {
	return f.keep[node] && slices.ContainsFunc(f.on[node], func(p *corev1.Pod) bool {
		return alive(p) && p.Spec.NodeName == node && f.update[objects.RevisionOf(p)] &&
			(!lifecycle.Available(p, f.spec.MinReadySeconds, f.snapshot.Now) || isDown(f.nodes[node]))
	})
}

func isDown(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	}) || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
}

// readRevisions goes through the history from its end.
func (f *canaryFacts) readRevisions() {
	list := slices.Clone(f.snapshot.Revisions)
	slices.SortFunc(list, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range slices.Backward(list) {
		if !objects.Holds(r, &f.spec.Template) {
			f.first = false
			f.marked = f.marked || history.Promoted(r)
			continue
		}
		if hash := history.HashOf(r); !f.update[hash] || r.Name == f.name {
			f.update[hash] = true
			f.failed = cmp.Or(f.failed, r.Annotations[history.FailedAnnotation])
			f.retry = r.Annotations[history.RetriedAnnotation]
			f.promoted = f.promoted || history.Promoted(r)
		}
	}
}

// needsTrial is C6, with as much doubt as there is: a revision that may be the stable one need not be tried. So it is where no
// other was promoted or is carried, and more nodes have it than a canary would.
func (f *canaryFacts) needsTrial() bool {
	if f.spec.Strategy.Canary == nil || f.promoted || f.first {
		return false
	}
	updated := 0
	for node := range f.nodes {
		if slices.ContainsFunc(f.on[node], func(p *corev1.Pod) bool { return alive(p) && f.update[objects.RevisionOf(p)] }) {
			updated++
		}
	}
	return f.marked || slices.ContainsFunc(f.snapshot.Revisions, func(r *appsv1.ControllerRevision) bool {
		_, failed := r.Annotations[history.FailedAnnotation]
		if failed || objects.Holds(r, &f.spec.Template) || f.update[history.HashOf(r)] {
			return false
		}
		_, err := history.Template(r)
		return err == nil && updated <= f.wanted() || slices.ContainsFunc(f.snapshot.Pods, func(p *corev1.Pod) bool {
			return alive(p) && objects.RevisionOf(p) == history.HashOf(r)
		})
	})
}

func alive(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && !lifecycle.Terminal(p) }

// wanted is the number of canary nodes (C1): rounded up, no less than one, and below 100% not all of several.
func (f *canaryFacts) wanted() int {
	desired := 0
	for _, run := range f.run {
		if run {
			desired++
		}
	}
	most := desired
	quantity := f.options.Replicas
	n, err := intstr.GetScaledValueFromIntOrPercent(quantity, desired, true)
	if err != nil {
		return 1
	}
	if quantity.Type == intstr.String && quantity.StrVal != "100%" {
		most = desired - 1
	}
	return max(1, min(n, most))
}

// candidates is how many nodes may be canary nodes, if these are: a node that may be broken only goes on being one (C1).
func (f *canaryFacts) candidates(nodes []string) int {
	n := 0
	for _, ok := range f.candidate {
		if ok {
			n++
		}
	}
	for _, node := range nodes {
		if f.mayBeBroken(node) {
			n++
		}
	}
	return n
}

// holdsUpdate reports whether the node has a live pod of the update revision that nobody has asked to delete, or is about to
// get one.
func (f *canaryFacts) holdsUpdate(node string) bool {
	return slices.ContainsFunc(f.snapshot.InFlight.Creates, func(c rollout.InFlightCreate) bool {
		return c.Node == node && (f.update[c.Revision] || c.Revision == "")
	}) || slices.ContainsFunc(f.on[node], func(p *corev1.Pod) bool {
		return alive(p) && !slices.Contains(f.snapshot.InFlight.Deletes, p.UID) && f.update[objects.RevisionOf(p)]
	})
}

// full reports whether each of the nodes holds an available pod of the update revision (C2).
func (f *canaryFacts) full(nodes []string) bool {
	for _, node := range nodes {
		if !slices.ContainsFunc(f.on[node], func(p *corev1.Pod) bool {
			return alive(p) && f.update[objects.RevisionOf(p)] && lifecycle.Available(p, f.spec.MinReadySeconds, f.snapshot.Now)
		}) {
			return false
		}
	}
	return len(nodes) > 0
}

// restarted is when a live canary pod last restarted; zero: never.
func (f *canaryFacts) restarted(nodes []string) time.Time {
	var last time.Time
	for _, node := range nodes {
		for _, p := range f.on[node] {
			if !alive(p) || !f.update[objects.RevisionOf(p)] {
				continue
			}
			for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
				if ended := status.LastTerminationState.Terminated; ended != nil && ended.FinishedAt.After(last) {
					last = ended.FinishedAt.Time
				}
			}
		}
	}
	return last
}

// serves reports whether the pod is the only live one of its node, a run node, is Ready, has the resources that it should
// have, and is of the given revision: then nothing but an update is a reason to delete it.
func (f *canaryFacts) serves(uid types.UID, stable string) bool {
	node := f.owner[uid]
	live := slices.DeleteFunc(slices.Clone(f.on[node]), func(p *corev1.Pod) bool { return !alive(p) })
	if !f.run[node] || len(live) != 1 || live[0].UID != uid || len(f.on[node]) != 1 {
		return false
	}
	p := live[0]
	if objects.RevisionOf(p) != stable || stable == "" || !lifecycle.Ready(p) {
		return false
	}
	at := slices.IndexFunc(f.snapshot.Revisions, func(r *appsv1.ControllerRevision) bool { return history.HashOf(r) == stable })
	if at < 0 {
		return false
	}
	template, err := history.Template(f.snapshot.Revisions[at])
	if err != nil {
		return false
	}
	by := objects.Effect(&f.spec, template, f.nodes[node])
	return len(by.Malformed) > 0 || p.Annotations[placement.DigestAnnotation] == by.Digest
}

// becomes is the revision that a patch brings a pod to; empty if it does not say.
func becomes(patch *rollout.Patch) string {
	var data struct {
		Metadata struct {
			Labels map[string]any `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal(patch.Data, &data) != nil {
		return ""
	}
	hash, _ := data.Metadata.Labels[appsv1.DefaultDaemonSetUniqueLabelKey].(string)
	return hash
}

// commanded reports whether a command names the update revision (C5).
func (f *canaryFacts) commanded(command string) bool {
	return command == canary.Any || f.update[command] || command != "" && command == f.name
}
