package judge

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

// Cluster is what there is at an instant.
type Cluster struct {
	Nodes     []*corev1.Node
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
}

// Finding is something that no run may show.
type Finding struct {
	// Rule that was broken.
	Rule Rule
	// At is when, by the clock of the cluster.
	At time.Time
	// Node and Pod that it is about; empty: none.
	Node, Pod string
	// Text says what was seen.
	Text string
}

// String is the finding in one line.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: at %s", f.Rule, f.At.UTC().Format("15:04:05.000"))
	if f.Node != "" {
		text += ", node " + f.Node
	}
	if f.Pod != "" {
		text += ", pod " + f.Pod
	}
	return text + ": " + f.Text
}

// Judge watches one run. It is told of every look of the controller, of every request of it that took effect, of restarts
// of containers and of the end, in this order of time. The objects that it is given must not be written to later.
type Judge struct {
	findings []Finding
	now      time.Time
	cluster  Cluster
	pods     map[types.UID]*life
	reader   reader

	// view is what the controller saw when it last looked, and turn what it has done since.
	view *view
	turn *turn

	trials  trials
	begun   map[string]begin
	repeats repeats
	staging staging
	failing failing
}

// life is what is known of one pod.
type life struct {
	pod *corev1.Pod
	// hashes of all revisions that it has been at, the first one first.
	hashes []string
	// troubled: a container of it has waited for something that an automatic pause is for, or has restarted (C3).
	troubled bool
	// patches of it by the controller since the spec changed last.
	patches int
	// excused are those of them that restarts of other pods on the node may have brought about.
	excused int
}

// New returns a judge of a run that starts with the cluster as given.
func New(now time.Time, start Cluster) *Judge {
	j := &Judge{pods: map[types.UID]*life{}, begun: map[string]begin{}}
	j.trials = newTrials(start)
	j.failing.tries = map[[2]string]*try{}
	j.failing.blamable = map[string]bool{}
	j.repeats = newRepeats()
	j.See(now, start)
	return j
}

// Findings so far, in order.
func (j *Judge) Findings() []Finding { return j.findings }

// See tells the judge how the cluster is now.
func (j *Judge) See(now time.Time, cluster Cluster) {
	j.now, j.cluster = now, cluster
	for _, p := range cluster.Pods {
		of := j.pods[p.UID]
		if of == nil {
			of = &life{}
			j.pods[p.UID] = of
		}
		of.pod, of.troubled = p, of.troubled || troubled(p)
		if hash := hashOf(p); len(of.hashes) == 0 || of.hashes[len(of.hashes)-1] != hash {
			of.hashes = append(of.hashes, hash)
		}
	}
}

// Look begins a turn: the controller saw the snapshot, with the spec in force, and acts on it until it looks again.
func (j *Judge) Look(spec rollout.Spec, seen rollout.Snapshot) {
	spec = spec.Default()
	last := j.view
	j.view = j.reader.view(spec, &seen, j.mayHaveGivenUp())
	j.turn = newTurn()
	changed := last == nil || !sameSpec(&last.spec, &spec)
	j.forgetBegun(changed, last)
	j.repeats.look(j, changed)
	j.trials.look(j)
	j.staging.look(j)
	j.failing.look(j)
}

// mayHaveGivenUp is the hash of the update revision if the controller may have given it up at an earlier look; empty: it has not.
func (j *Judge) mayHaveGivenUp() string {
	if j.failing.gaveUp {
		return j.failing.update
	}
	return ""
}

// Created tells of a pod that the controller created.
func (j *Judge) Created(pod *corev1.Pod) {
	w := j.request(pod, creates)
	if w == nil {
		return
	}
	j.judgeDeparting(w, "created")
	j.judgeSecondPod(w)
	j.judgeSurge(w)
	j.judgeTrial(w)
	j.judgeGiven(w)
	j.judgeDowngrade(w)
	w.node.created = append(w.node.created, hashOf(pod))
	if other := w.node.serving(); other != nil {
		j.judgeBegin(w, other)
	}
}

// Deleted tells of a pod that the controller asked to delete, as it was then.
func (j *Judge) Deleted(pod *corev1.Pod) {
	w := j.request(pod, deletes)
	if w == nil {
		return
	}
	j.judgeDeparting(w, "deleted")
	if w.seen == nil {
		return
	}
	j.judgePreDelete(w)
	j.judgeHandsOff(w)
	j.judgeBackOff(w)
	j.judgeRecreate(w)
	j.judgeTaken(w, func(p *seenPod) { p.deleted = true })
}

// Patched tells of a pod that the controller patched.
func (j *Judge) Patched(before, after *corev1.Pod) {
	w := j.write(after)
	if w == nil {
		return
	}
	w.before = before
	j.judgePatches(w)
	j.judgeContents(w)
	if w.seen == nil {
		return
	}
	if s := state(after); s != preparingDelete && s != preparingUpdate && hashOf(before) == hashOf(after) {
		w.seen.prepared = false // it is taken back
	}
	if inPlace(before, after) && hashOf(before) != hashOf(after) {
		j.judgeUpdateHook(w)
		j.judgeSecondPod(w)
		j.judgeTrial(w)
		if !w.seen.prepared && !underWay(w.seen) {
			j.judgeGiven(w)
		}
		j.judgeInPlaceDowngrade(w)
	}
	if prepares(before, after) || inPlace(before, after) && hashOf(before) != hashOf(after) {
		j.judgeDeparting(w, "begun")
	}
	if prepares(before, after) {
		if !w.seen.prepared && state(after) != preparingDelete {
			j.judgeBurst(after, updates)
		}
	}
	if prepares(before, after) || inPlace(before, after) || marks(before, after) {
		j.judgeTaken(w, func(p *seenPod) { p.changed = true })
	}
}

// request judges what creates and deletes have in common, wherever their pods are.
func (j *Judge) request(pod *corev1.Pod, of kind) *write {
	if j.view != nil {
		j.judgeFrozen(pod, of)
		j.judgeBurst(pod, of)
	}
	return j.write(pod)
}

// write is a request of the controller that took effect.
type write struct {
	pod, before *corev1.Pod
	node        *seenNode // never nil
	seen        *seenPod  // nil: the controller had not seen the pod
}

// write finds out what the controller knew of a pod that it writes; nil: it never looked, or its node is none of the
// cluster's.
func (j *Judge) write(pod *corev1.Pod) *write {
	if j.view == nil {
		return nil
	}
	w := &write{pod: pod, node: j.view.nodes[target(pod)]}
	if w.node == nil {
		return nil
	}
	for _, p := range w.node.pods {
		if p.UID == pod.UID {
			w.seen = p
		}
	}
	return w
}

func (j *Judge) find(rule Rule, node string, pod *corev1.Pod, format string, args ...any) {
	f := Finding{Rule: rule, At: j.now, Node: node, Text: fmt.Sprintf(format, args...)}
	if pod != nil {
		f.Pod = pod.Name
	}
	j.findings = append(j.findings, f)
}

// Known is the pod as the judge was last told that it is; nil: it never was.
func (j *Judge) Known(uid types.UID) *corev1.Pod {
	if of := j.pods[uid]; of != nil {
		return of.pod
	}
	return nil
}

// Refused tells of a request of the controller that did not take effect, or whose answer was lost.
func (j *Judge) Refused() {
	if j.turn != nil {
		j.turn.refused = true
	}
}
