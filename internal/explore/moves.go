package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// move leads from a state to another.
type move struct {
	to   state
	name string
	fair bool
	// plan is the plan of which the move carries something out; nil: the move is not the controller's.
	plan *rollout.Plan
}

// admit is what the API server adds to a new pod in a slot of its node.
func admit(pod *corev1.Pod, node string, slot int) {
	name := podName(node, slot)
	apiserver.Admit(pod, name, types.UID(name), now)
	pod.GenerateName, pod.ResourceVersion = "", version
}

// version is that of all pods, for patches that are good for one version alone: which one it is says the number of the object.
const version = "1"

// bind binds the pod to its node, whose kubelet notices it, unless it is down.
func bind(pod *corev1.Pod, node *corev1.Node) {
	kubelet.Bind(pod, node.Name, now)
	if up(node) {
		kubelet.Notice(pod, now)
	}
}

func start(pod *corev1.Pod) {
	notice(pod)
	kubelet.StartContainers(pod, nil, nil, now)
	kubelet.Ready(pod, now)
}

// notice has the kubelet notice a pod that was bound while it was down.
func notice(pod *corev1.Pod) {
	if pod.Status.StartTime == nil {
		kubelet.Notice(pod, now)
	}
}

func fail(pod *corev1.Pod) {
	notice(pod)
	kubelet.Fail(pod, now)
}

func startBroken(pod *corev1.Pod) {
	notice(pod)
	kubelet.StartContainers(pod, nil, nil, now)
	pod.Status.Phase = corev1.PodRunning
	unready(pod)
}

func unready(pod *corev1.Pod) {
	kubelet.SetContainerReady(pod, pod.Spec.Containers[0].Name, false)
	kubelet.Unready(pod, now)
}

// changed returns the pod as a kubelet, a scheduler or a hook's controller leaves it.
func (w *world) changed(pod id, what string, change func(*corev1.Pod)) id {
	key := podMove{pod, what}
	if to, ok := w.moved[key]; ok {
		return to
	}
	copied := w.pods.at(pod).DeepCopy()
	change(copied)
	to := w.pods.put(copied)
	w.moved[key] = to
	return to
}

// worldMoves lists what may happen in a state without the controller.
func (w *world) worldMoves(s *state) []move {
	var moves []move
	add := func(name string, fair bool, to state) { moves = append(moves, move{to: to, name: name, fair: fair}) }
	spend := func(kind trouble) (state, bool) {
		to := *s
		to.troubles[kind]--
		return to, s.troubles[kind] > 0
	}
	if s.behind {
		to := *s
		to.behind, to.seen, to.inFlight = false, 0, 0
		add("the watch catches up", true, to)
	}
	for _, pod := range s.pods {
		if pod != nothing {
			moves = append(moves, w.podMoves(s, pod)...)
		}
	}
	for i, node := range s.nodes[:w.Nodes] {
		if s.behind { // of new trouble the controller cannot know
			break
		}
		for _, m := range w.nodeMoves(i) {
			after, ok := w.edited(node, m)
			if !ok {
				continue
			}
			to, may := *s, true
			if !m.back {
				to, may = spend(m.trouble)
			}
			if may {
				to.nodes[i] = after
				if m.trouble == nodeDown && !m.back {
					w.hurtOn(&to, w.nodes.at(after))
				}
				w.loseReadiness(&to)
				add(m.name+" "+nodeName(i), false, to)
			}
		}
	}
	for _, c := range w.Changes {
		if c.from != int(s.spec) {
			continue
		}
		to, may := *s, true
		if !c.fair {
			to, may = spend(userChanges)
		}
		if may {
			to.spec = int8(c.to)
			if w.images[c.from] != w.images[c.to] {
				to.past.forgetParts() // of an earlier attempt nothing counts
			}
			add(c.name, c.fair, to)
		}
	}
	if to, may := spend(memoryLost); may && !s.behind {
		if to.memory = w.memories.put(&rollout.Memory{}); to.memory != s.memory {
			add("forget", false, to)
		}
	}
	return moves
}

// ticks lists how time may pass. It does so when nobody has anything to do; else somebody is late, which is trouble.
func (w *world) ticks(s *state, busy bool) []move {
	var moves []move
	if s.behind {
		return nil
	}
	for _, by := range w.Ticks {
		to := w.tick(s, by)
		switch {
		case to == *s:
		case !busy:
			moves = append(moves, move{to: to, name: "tick " + by.String(), fair: true})
		case s.troubles[late] > 0:
			to.troubles[late]--
			moves = append(moves, move{to: to, name: "tick " + by.String()})
		}
	}
	return moves
}

// loseReadiness makes pods not Ready whose nodes are down.
func (w *world) loseReadiness(s *state) {
	for i, number := range s.pods {
		if number == nothing {
			continue
		}
		pod := w.pods.at(number)
		if pod.Spec.NodeName != "" && !up(w.nodeOf(s, pod)) && lifecycle.Ready(pod) {
			s.pods[i] = w.changed(number, "node down", func(p *corev1.Pod) { kubelet.Unready(p, now) })
		}
	}
	order(s.pods[:])
}

// nodeOf returns the node that the pod is on or pinned to.
func (w *world) nodeOf(s *state, pod *corev1.Pod) *corev1.Node {
	name, _ := placement.TargetNode(pod)
	for _, i := range s.nodes[:w.Nodes] {
		if node := w.nodes.at(i); node.Name == name {
			return node
		}
	}
	return nil
}

// podMoves lists what may happen to a pod.
func (w *world) podMoves(s *state, number id) []move {
	var moves []move
	pod := w.pods.at(number)
	node := w.nodeOf(s, pod)
	to := func(what string, fair bool, change func(*corev1.Pod)) {
		next := *s
		replace(next.pods[:], number, w.changed(number, what, change))
		moves = append(moves, move{to: next, name: what + " " + pod.Name, fair: fair})
	}
	trouble := func(kind trouble, what string, change func(*corev1.Pod)) {
		if s.troubles[kind] > 0 && !s.behind {
			to(what, false, change)
			next := &moves[len(moves)-1].to
			next.troubles[kind]--
			if kind != podDeleted {
				w.hurt(next, node, pod, kind != podUnready)
			}
		}
	}
	if asked, _ := kubelet.Asked(pod, w.Specs[s.spec].Lifecycle); asked {
		to("hook", true, func(p *corev1.Pod) { kubelet.SeeTo(p, w.Specs[s.spec].Lifecycle, now) })
	}
	broken := w.Broken != "" && pod.Spec.Containers[0].Image == w.Broken || pod.Annotations[breaksKey] != ""
	if pod.DeletionTimestamp == nil && s.troubles[podDeleted] > 0 {
		if marked := apiserver.Delete(pod, now); marked != nil {
			trouble(podDeleted, "pod delete", func(p *corev1.Pod) { *p = *marked.DeepCopy() })
		}
	}
	switch kubeletUp := up(node); {
	case pod.Spec.NodeName == "":
		if fits(pod, node) {
			what := "bind"
			if !up(node) {
				what = "bind to a node that is down"
			}
			to(what, true, func(p *corev1.Pod) { bind(p, node) })
		}
	case !kubeletUp:
	case pod.DeletionTimestamp != nil:
		if len(pod.Finalizers) == 0 {
			next := *s
			replace(next.pods[:], number, nothing)
			moves = append(moves, move{to: next, name: "gone " + pod.Name, fair: true})
		}
	case lifecycle.Terminal(pod):
	case broken:
		if pod.Status.Phase == corev1.PodPending || lifecycle.Ready(pod) || outdatedContainer(pod) {
			to("start and is not ready", true, startBroken)
			w.hurt(&moves[len(moves)-1].to, node, pod, false)
		}
		trouble(podFails, "fail", fail)
	case pod.Status.Phase == corev1.PodPending:
		to("ready", true, start)
		trouble(podFails, "fail", fail)
	case outdatedContainer(pod):
		to("restart", true, func(p *corev1.Pod) { kubelet.RestartContainer(p, 0, nil, now) })
	default:
		w.runningMoves(pod, to, trouble)
	}
	return moves
}

// runningMoves are those of a pod whose containers run what they should.
func (w *world) runningMoves(
	pod *corev1.Pod, to func(string, bool, func(*corev1.Pod)), trouble func(trouble, string, func(*corev1.Pod)),
) {
	trouble(podFails, "fail", fail)
	ready, open := lifecycle.Ready(pod), kubelet.GatesOpen(pod)
	switch {
	case ready && !open:
		to("unready by a gate", true, func(p *corev1.Pod) { kubelet.Unready(p, now) })
	case ready:
		trouble(podUnready, "unready", unready)
		trouble(podBreaks, "break", func(p *corev1.Pod) {
			kit.PodAnnotation(breaksKey, "on")(p)
			unready(p)
		})
		trouble(podCrashes, "crash", func(p *corev1.Pod) { kubelet.Crash(p, 0, 1, "Error", now) })
		trouble(podEvicted, "evict", func(p *corev1.Pod) { kubelet.Evict(p, now) })
	case !kubelet.ContainersReady(pod) && open:
		to("ready", true, start)
	case !kubelet.ContainersReady(pod):
		to("started", true, func(p *corev1.Pod) { kubelet.StartContainers(p, nil, nil, now) })
	case open:
		to("ready", true, func(p *corev1.Pod) { kubelet.Ready(p, now) })
	}
}

// outdatedContainer reports whether the kubelet has yet to restart the pod's container with another image.
func outdatedContainer(pod *corev1.Pod) bool {
	container := &pod.Spec.Containers[0]
	status := kubelet.StatusOf(pod, container.Name)
	return status != nil && status.ImageID != "" && status.ImageID != kubelet.ImageID(container.Image)
}

func up(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func fits(pod *corev1.Pod, node *corev1.Node) bool {
	matcher, err := placement.Compile(&corev1.PodTemplateSpec{Spec: pod.Spec})
	return err == nil && matcher.Evaluate(node).Outcome == placement.Run
}

// nodeMove is trouble with a node, or its end, which may come at any time and need not.
type nodeMove struct {
	name    string
	trouble trouble
	back    bool
	change  func(*corev1.Node) (*corev1.Node, bool)
}

// breaksKey is on pods that will never be Ready again.
const breaksKey = "example.com/breaks"

const taintKey = "example.com/no"

// nodeMoves lists what may happen to a node.
func (w *world) nodeMoves(i int) []nodeMove {
	if w.Troubles[nodeRelabelled] == 0 {
		return troubleOfNodes
	}
	own := w.Labels[i][w.Ring]
	move := func(name string, back bool, from, to string) nodeMove {
		return nodeMove{name, nodeRelabelled, back, func(n *corev1.Node) (*corev1.Node, bool) {
			return edited(n, n.Labels[w.Ring] == from, kit.Label(w.Ring, to))
		}}
	}
	other := map[string]string{"0": "1", "1": "0"}[own]
	there, back := move("label "+w.Ring+"="+other, false, own, other), move("label "+w.Ring+"="+own, true, other, own)
	return append(slices.Clip(troubleOfNodes), there, back)
}

var troubleOfNodes = []nodeMove{
	{"taint", nodeTainted, false, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, !tainted(n), kit.Taint(taintKey, "", corev1.TaintEffectNoExecute))
	}},
	{"untaint", nodeTainted, true, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, tainted(n), func(n *corev1.Node) { n.Spec.Taints = nil })
	}},
	{"down", nodeDown, false, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, up(n), objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, now))
	}},
	{"up", nodeDown, true, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, !up(n), objects.NodeCondition(corev1.NodeReady, corev1.ConditionTrue, now))
	}},
	{"depart", nodeDeparts, false, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, !departs(n), objects.NodeCondition(corev1.NodeMaintenanceInProgress, corev1.ConditionTrue, now))
	}},
	{"return", nodeDeparts, true, func(n *corev1.Node) (*corev1.Node, bool) {
		return edited(n, departs(n), func(n *corev1.Node) {
			n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeMaintenanceInProgress
			})
		})
	}},
}

// edited returns the node after a move, and whether it can be moved like that.
func (w *world) edited(node id, m nodeMove) (id, bool) {
	key := nodeEdit{node, m.name}
	if after, ok := w.edits[key]; ok {
		return after, after != nothing
	}
	after := id(nothing)
	if changed, ok := m.change(w.nodes.at(node)); ok {
		after = w.nodes.put(changed)
	}
	w.edits[key] = after
	return after, after != nothing
}

func edited(n *corev1.Node, may bool, change func(*corev1.Node)) (*corev1.Node, bool) {
	if !may {
		return nil, false
	}
	n = n.DeepCopy()
	change(n)
	return n, true
}

func tainted(n *corev1.Node) bool { return len(n.Spec.Taints) > 0 }

func departs(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeMaintenanceInProgress && c.Status == corev1.ConditionTrue
	})
}

// tick lets time pass: everything gets older.
func (w *world) tick(s *state, by time.Duration) state {
	to := *s
	for i, node := range s.nodes[:w.Nodes] {
		to.nodes[i] = w.nodes.after(node, &w.clock, by)
	}
	for i, pod := range s.pods {
		if pod != nothing {
			to.pods[i] = w.pods.after(pod, &w.clock, by)
		}
	}
	order(to.pods[:])
	for i, revision := range s.revisions {
		if revision != nothing {
			to.revisions[i] = w.revisions.after(revision, &w.clock, by)
		}
	}
	order(to.revisions[:])
	to.memory = w.memories.after(s.memory, &w.clock, by)
	w.pass(&to, by)
	return to
}
