package main

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

const (
	mostImages = 3
	// fleet is a part that is all nodes.
	fleet = mostNodes
)

// past is what statements have to know of how a state came about. Each set holds pairs of a node and an image, or of a part and
// an image; what a configuration does not ask for stays empty, so that it makes no states.
type past struct {
	// came: a pod of the image was on the node.
	came set
	// hurt: a pod of the image was in trouble on the node, and has not served there since then for as long as a deadline;
	// overdue: it was so for as long as a deadline.
	hurt, overdue set
	// falls counts the times that containers ended on a node, by image.
	falls [mostNodes][mostImages]int8
	// done: the part was seen done at the image while it was its turn; soaked: and has soaked since.
	done, soaked set
}

// set of pairs of a place and an image, a bit for each.
type set uint16

func bit(place, image int) set          { return 1 << (place*mostImages + image) }
func (s set) has(place, image int) bool { return s&bit(place, image) != 0 }
func (s *set) add(place, image int)     { *s |= bit(place, image) }
func (s *set) remove(place, image int)  { *s &^= bit(place, image) }
func (s set) renamed(p *permutation) (to set) {
	for place, by := range p.of {
		for image := range mostImages {
			if s.has(place, image) {
				to.add(by, image)
			}
		}
	}
	return to
}

func (p *past) compare(other *past) int {
	return cmp.Or(cmp.Compare(p.came, other.came), cmp.Compare(p.hurt, other.hurt), cmp.Compare(p.overdue, other.overdue),
		slices.CompareFunc(p.falls[:], other.falls[:], func(a, b [mostImages]int8) int { return slices.Compare(a[:], b[:]) }),
		cmp.Compare(p.done, other.done), cmp.Compare(p.soaked, other.soaked))
}

// rename: nodes that are alike are in no parts.
func (p *past) rename(by *permutation) past {
	to := *p
	to.came, to.hurt, to.overdue = p.came.renamed(by), p.hurt.renamed(by), p.overdue.renamed(by)
	for place, other := range by.of {
		to.falls[other] = p.falls[place]
	}
	return to
}

// forgetParts forgets which parts are done.
func (p *past) forgetParts() {
	for part := range fleet {
		for image := range mostImages {
			p.done.remove(part, image)
			p.soaked.remove(part, image)
		}
	}
}

// imageOf is the image of a pod, by its number.
func (w *world) imageOf(p *corev1.Pod) int { return slices.Index(w.Images, p.Spec.Containers[0].Image) }

// placeOf is a node by its number.
func placeOf(n *corev1.Node) int { return int(n.Name[len(n.Name)-1] - '0') }

// partOf is the part of a node, by its number.
func (w *world) partOf(n *corev1.Node) int { return int(n.Labels[w.Ring][0] - '0') }

// remember writes down which image came where. What was begun while a part was open is finished.
func (w *world) remember(s *state) {
	if w.Ring == "" {
		return
	}
	for _, p := range w.podsOf(&s.view) {
		s.past.came.add(placeOf(w.nodeOf(s, p)), w.imageOf(p))
	}
}

// hurt writes down that a pod on the node was in trouble; fell: its containers ended.
func (w *world) hurt(s *state, node *corev1.Node, pod *corev1.Pod, fell bool) {
	if !w.Blame {
		return
	}
	place, image := placeOf(node), w.imageOf(pod)
	s.past.hurt.add(place, image)
	if fell && w.Specs[s.spec].Strategy.Policy.Failures.MaxRestarts != nil {
		s.past.falls[place][image]++
	}
}

// hurtOn writes down that the pods that are to run on a node are in trouble, because the node is down. So is the update that an
// old pod makes room for.
func (w *world) hurtOn(s *state, node *corev1.Node) {
	for _, p := range w.podsOn(s, node) {
		switch {
		case p.DeletionTimestamp != nil && w.Blame:
			s.past.hurt.add(placeOf(node), w.images[s.spec])
		case live(p):
			w.hurt(s, node, p, false)
		}
	}
}

// pass writes down what it means that so much time has passed.
func (w *world) pass(s *state, by time.Duration) {
	if w.Ring != "" && by >= w.Specs[s.spec].Strategy.Policy.Stages[0].Soak {
		s.past.soaked |= s.past.done
	}
	if !w.Blame || by < forever {
		return
	}
	for _, n := range w.nodesOf(s) {
		pods := w.podsOn(s, n)
		for image := range w.Images {
			place := placeOf(n)
			of := func(p *corev1.Pod) bool { return w.imageOf(p) == image && live(p) }
			switch {
			case slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return of(p) && serves(p) && !waitsForHook(p) }):
				s.past.hurt.remove(place, image)
			case s.past.hurt.has(place, image), up(n) && slices.ContainsFunc(pods, of):
				s.past.overdue.add(place, image)
			}
		}
	}
}

// see writes down what the controller sees in a state: that the fleet has the image, and which parts are done, each in its turn.
// While a trial decides, no part has its turn.
func (w *world) see(to, from *state, plan *rollout.Plan) {
	w.remember(to)
	image := w.images[to.spec]
	if w.lacking(from, image) == "" {
		to.past.done.add(fleet, image)
	}
	if w.Ring == "" || plan.Canary.Phase != canary.Idle {
		return
	}
	for part := range w.Nodes {
		some, behind := false, false
		for _, n := range w.nodesOf(from) {
			if w.partOf(n) != part {
				continue
			}
			pods := w.podsOn(from, n)
			switch {
			case w.settled(pods, image):
				some = true
			case up(n) && !tainted(n) && !departs(n) && !from.past.overdue.has(placeOf(n), image):
				behind = true
			}
		}
		if !some || behind {
			if w.hasPart(from, part) && !to.past.soaked.has(part, image) {
				return // those that follow are not in their turn
			}
			continue
		}
		to.past.done.add(part, image)
		if w.Specs[to.spec].Strategy.Policy.Stages[0].Soak == 0 {
			to.past.soaked.add(part, image)
		}
		if !to.past.soaked.has(part, image) {
			return
		}
	}
}

// settled reports whether one of the pods of a node serves at the image.
func (w *world) settled(pods []*corev1.Pod, image int) bool {
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return serves(p) && w.imageOf(p) == image })
}

func (w *world) hasPart(s *state, part int) bool {
	return slices.ContainsFunc(w.nodesOf(s), func(n *corev1.Node) bool { return w.partOf(n) == part })
}

// lacking names a node on which the image should serve, and does not: "" if there is none. Those that are held or left out need
// not have it.
func (w *world) lacking(s *state, image int) string {
	out := 0
	for _, n := range w.nodesOf(s) {
		if w.isUnselected(s, n) || tainted(n) || departs(n) || w.settled(w.podsOn(s, n), image) {
			continue
		}
		pods := w.podsOn(s, n)
		begun := s.past.overdue.has(placeOf(n), image) ||
			slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return w.imageOf(p) == image })
		if out++; !begun && slices.ContainsFunc(pods, serves) || out > w.Exempt {
			return n.Name
		}
	}
	return ""
}

// waitsForHook reports whether a hook's controller has yet to let the pod be in use.
func waitsForHook(p *corev1.Pod) bool {
	state := lifecycle.StateOf(p)
	return state == lifecycle.Updated || state == lifecycle.PreparingNormal
}
