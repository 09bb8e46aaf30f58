package canary_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// judger is anything that judges canaries: Judge, a planted bug.
type judger func(canary.Options, canary.Input) canary.Judgement

// event is something that happens in a story.
type event uint8

const (
	becomesAvailable event = iota
	becomesUnavailable
	allWell
	restarts
	cannotStartNow
	isCreated
	crashes
	replaced
	podFails
	isEvicted
	joinsOrLeaves
	commanded
	commandsTakenBack
	haltedOrNot
	marksSeen
	recordLost
	newTemplate
)

// happening is an event at a node, after some time.
type happening struct {
	After time.Duration
	Event event
	// Node it happens at, and which of several things it is.
	Node, Which int
}

// story is a canary with all that happens to it.
type story struct {
	Options    canary.Options
	Happenings []happening
}

// anyStory has short durations and few nodes, so that much of it happens at borders.
func anyStory() *rapid.Generator[story] {
	span := rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Minute})
	maybe := rapid.Custom(func(t *rapid.T) *time.Duration {
		if d := span.Draw(t, "span"); rapid.Bool().Draw(t, "set") {
			return &d
		}
		return nil
	})
	steps := rapid.SampledFrom([]time.Duration{0, 1, 20 * time.Second, time.Minute, time.Minute, 2 * time.Minute, 3 * time.Minute})
	// Some events are rare, lest no canary ends.
	kinds := []event{
		becomesAvailable, becomesAvailable, becomesUnavailable, allWell, allWell, allWell, allWell, restarts, restarts, cannotStartNow,
		isCreated, crashes, replaced, podFails, isEvicted, joinsOrLeaves, commanded, commanded, commandsTakenBack, haltedOrNot, haltedOrNot,
		marksSeen, marksSeen, recordLost, newTemplate,
	}
	return rapid.Custom(func(t *rapid.T) story {
		var s story
		o := &s.Options
		o.Duration, o.NoRestartsDuration = new(span.Draw(t, "duration")), new(span.Draw(t, "noRestartsDuration"))
		if rapid.IntRange(0, 7).Draw(t, "mode") == 0 {
			o.Mode, o.Duration, o.NoRestartsDuration = canary.Manual, nil, nil
		}
		o.AutoPause.Disabled = rapid.Bool().Draw(t, "autoPause off")
		o.AutoPause.MaxRestarts = new(rapid.Int32Range(0, 2).Draw(t, "autoPause.maxRestarts"))
		o.AutoPause.MaxSlowStartDuration = maybe.Draw(t, "maxSlowStartDuration")
		o.AutoFail.Disabled = rapid.Bool().Draw(t, "autoFail off")
		o.AutoFail.MaxRestarts = new(rapid.Int32Range(1, 3).Draw(t, "autoFail.maxRestarts"))
		o.AutoFail.MaxRestartsDuration = maybe.Draw(t, "maxRestartsDuration")
		if rapid.IntRange(0, 3).Draw(t, "timeout set") == 0 {
			o.AutoFail.CanaryTimeout = minutes(7)
		}
		for range rapid.IntRange(1, 25).Draw(t, "happenings") {
			s.Happenings = append(s.Happenings, happening{
				After: steps.Draw(t, "after"), Event: rapid.SampledFrom(kinds).Draw(t, "event"),
				Node: rapid.IntRange(0, 2).Draw(t, "node"), Which: rapid.IntRange(0, 19).Draw(t, "which"),
			})
		}
		return s
	})
}

// world is what a story has come to.
type world struct {
	o     canary.Options
	in    canary.Input
	nodes [3]*canary.Node // nil: no canary node
	pods  int             // made so far
	// pending are the annotations that were to be set and removed, and are not yet.
	pending canary.Judgement
	// template counts the revisions.
	template int
	// lost reports whether the record was lost in this step.
	lost bool
}

func newWorld(s story) *world {
	w := &world{o: s.Options, in: canary.Input{Now: noon(), Wanted: 3}}
	for i := range 2 {
		w.nodes[i] = &canary.Node{Name: string(rune('a' + i))}
	}
	w.begin()
	return w
}

// begin changes the template: no node has a pod of it.
func (w *world) begin() {
	w.template++
	w.in.Revision = fmt.Sprintf("hash-%d", w.template)
	w.in.Name, w.in.Annotations, w.pending = "agent-"+w.in.Revision, nil, canary.Judgement{}
	for _, n := range w.nodes {
		if n != nil {
			n.Available, n.Pods = false, nil
		}
	}
}

// pod is that of a node, made if there is none.
func (w *world) pod(n *canary.Node) *corev1.Pod {
	if len(n.Pods) == 0 {
		w.pods++
		pod := podOf(fmt.Sprintf("pod-%d", w.pods), created(w.in.Now), started(w.in.Now))
		pod.UID = types.UID(pod.Name)
		n.Pods = []*corev1.Pod{pod}
	}
	return n.Pods[0]
}

// happens changes the world.
func (w *world) happens(h happening) {
	w.in.Now = w.in.Now.Add(h.After)
	w.lost = false
	if n := w.nodes[h.Node]; n != nil {
		w.happensTo(n, h)
	}
	switch h.Event {
	case allWell:
		for _, n := range w.nodes {
			if n != nil {
				w.pod(n).Status.ContainerStatuses[0].State = corev1.ContainerState{}
				n.Available, n.Pods = true, n.Pods[:1]
			}
		}
	case joinsOrLeaves:
		if w.nodes[h.Node] != nil {
			w.nodes[h.Node] = nil
		} else {
			w.nodes[h.Node] = &canary.Node{Name: string(rune('a' + h.Node))}
		}
	case commanded:
		value := []string{w.in.Revision, w.in.Name, canary.Any, "other"}[h.Which%4]
		c := &w.o.Commands
		*[]*string{&c.Pause, &c.Unpause, &c.Unpause, &c.Validate, &c.Fail, &c.Retry}[h.Which%6] = value
		if h.Which%6 == 5 {
			c.Retry += fmt.Sprintf("/%d", h.Which)
		}
	case commandsTakenBack:
		w.o.Commands = canary.Commands{}
	case haltedOrNot:
		w.in.Halted = !w.in.Halted
	case marksSeen:
		w.in.Annotations = maps.Clone(w.in.Annotations)
		if w.in.Annotations == nil {
			w.in.Annotations = make(map[string]string)
		}
		maps.Copy(w.in.Annotations, w.pending.Set)
		for _, key := range w.pending.Remove {
			delete(w.in.Annotations, key)
		}
		w.pending = canary.Judgement{}
	case recordLost:
		w.in.Record, w.lost = canary.Record{}, true
	case newTemplate:
		w.begin()
	}
	w.in.Nodes = nil
	for _, n := range w.nodes {
		if n != nil {
			c := canary.Node{Name: n.Name, Available: n.Available}
			for _, pod := range n.Pods {
				c.Pods = append(c.Pods, pod.DeepCopy())
			}
			w.in.Nodes = append(w.in.Nodes, c)
		}
	}
}

// happensTo changes one node.
func (w *world) happensTo(n *canary.Node, h happening) {
	switch h.Event {
	case becomesAvailable:
		w.pod(n)
		n.Available = true
	case becomesUnavailable:
		n.Available = false
	case restarts:
		pod := w.pod(n)
		at := w.in.Now.Add([]time.Duration{0, -time.Second, time.Minute}[h.Which%3])
		restarted("agent", pod.Status.ContainerStatuses[0].RestartCount+1, at, "Error")(pod)
	case cannotStartNow, isCreated, crashes:
		waits("agent", map[event]string{
			cannotStartNow: "ErrImagePull", isCreated: "ContainerCreating", crashes: "CrashLoopBackOff",
		}[h.Event])(w.pod(n))
		n.Available = false
	case replaced:
		n.Pods, n.Available = nil, false
		w.pod(n)
	case podFails:
		w.pod(n).Status.Phase = corev1.PodFailed
		n.Available = false
	case isEvicted:
		pod := w.pod(n).DeepCopy()
		pod.Name += "-evicted"
		pod.UID = types.UID(pod.Name)
		terminating(pod)
		disrupted(corev1.ConditionTrue)(pod)
		n.Pods = append(n.Pods, pod)
	}
}

// moment is one judgement of a story.
type moment struct {
	o    canary.Options
	in   canary.Input
	lost bool
	j    canary.Judgement
}

func (m moment) obeysRetry() bool {
	_, retries := m.j.Set[history.RetriedAnnotation]
	return retries
}

// awaitsRetry reports whether the revision has failed and the next judgement will obey a retry that was given before.
func (m moment) awaitsRetry() bool {
	retry := m.o.Commands.Retry
	target, _, _ := strings.Cut(retry, "/")
	return m.j.Phase == canary.Failed && retry != "" && m.named(target) && m.in.Annotations[history.RetriedAnnotation] != retry
}

// tell lets a story happen, and has it judged after each step.
func tell(judge judger, s story) []moment {
	w := newWorld(s)
	var moments []moment
	for _, h := range s.Happenings {
		w.happens(h)
		m := moment{o: w.o, in: w.in, lost: w.lost, j: judge(w.o, w.in)}
		moments = append(moments, m)
		w.in.Record = m.j.Record
		if len(m.j.Set)+len(m.j.Remove) > 0 {
			w.pending = m.j
		}
	}
	return moments
}

// names of the canary nodes of a moment.
func (m moment) names() []string {
	var names []string
	for _, n := range m.in.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// allAvailable reports whether there are canary nodes and every one has an available pod.
func (m moment) allAvailable() bool {
	return len(m.in.Nodes) > 0 && !slices.ContainsFunc(m.in.Nodes, func(n canary.Node) bool { return !n.Available })
}
