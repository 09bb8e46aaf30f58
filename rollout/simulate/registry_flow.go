package simulate

import (
	"container/heap"
	"math"
	"time"
)

// never is later than anything that happens.
const never = time.Duration(math.MaxInt64)

// run makes everything happen that is due up to an instant. What is due at one instant happens in rounds: first the ends of
// pulls, so that a pull whose first byte comes then finds the image at its peers; then first bytes, then requests.
func (r *registry) run(to time.Duration) {
	for {
		t := r.upcoming()
		if t > to || t == never {
			break
		}
		r.now = max(r.now, t)
		r.finishDue()
		for len(r.starting) > 0 && r.starting[0].order.instant() <= r.now {
			r.firstByte(r.starting.take())
		}
		for len(r.waiting) > 0 && r.slot() <= r.now {
			r.takeSlot()
			p := r.waiting.take()
			p.asked = true
			r.start(p)
		}
	}
	r.now = max(r.now, to)
}

// reach goes to an instant, and leaves what is due at that instant to the next advance. So the order of calls at one instant
// does not matter.
func (r *registry) reach(at time.Duration) {
	r.run(at - 1)
	r.now = max(r.now, at)
}

// upcoming is when something happens next.
func (r *registry) upcoming() time.Duration {
	r.share()
	t := never
	for _, c := range r.classes {
		t = min(t, c.end())
	}
	if len(r.starting) > 0 {
		t = min(t, r.starting[0].order.instant())
	}
	if len(r.waiting) > 0 {
		t = min(t, r.slot())
	}
	return t
}

// ask has a pull wait for its turn, if it needs one.
func (r *registry) ask(p *registryPull) {
	if r.model.Requests > 0 && !r.peers(p) {
		r.waiting.add(p, instant(r.now))
		return
	}
	r.start(p)
}

// start has a pull wait for its latency.
func (r *registry) start(p *registryPull) {
	r.starting.add(p, instant(r.now+r.seed.durationOf(r.model.Latency, "pull latency", p.draw)))
}

// firstByte decides where a pull gets its bytes from. If the peers that it was to get them from are gone, it asks the registry
// after all.
func (r *registry) firstByte(p *registryPull) {
	peers := r.peers(p)
	if !peers && !p.asked && r.model.Requests > 0 {
		r.ask(p)
		return
	}
	p.peer, p.first = peers, r.now
	if p.size == 0 || p.node.bandwidth == 0 && (peers || r.model.Bandwidth <= 0) {
		r.count(peers, int64(p.size))
		r.finish(p)
		return
	}
	r.move(p, peers)
}

// finishDue ends the pulls that are due. The rates are still those that led up to this instant, which upcoming has computed.
func (r *registry) finishDue() {
	var due []*registryPull
	for _, c := range r.classes {
		for c.end() <= r.now {
			due = append(due, c.pulls.take())
		}
	}
	if due == nil {
		return
	}
	r.settle()
	for _, p := range due {
		r.count(p.class.peers, int64(p.size))
		p.class = nil
		p.node.moving--
	}
	for _, p := range due {
		r.rejoin(p.node)
		r.finish(p)
	}
}

// finish reports the end of a pull.
func (r *registry) finish(p *registryPull) {
	entry := p.node.image(p.image)
	entry.pull = nil
	r.underway--
	ended := pulled{at: r.now, node: p.node.name, image: p.image}
	end := came
	if ended.failed = r.seed.happens(r.model.FailedPulls, "pull fails", p.draw); ended.failed {
		end = failed
	} else {
		r.give(p.node, entry)
	}
	r.ended = append(r.ended, ended)
	r.flows = append(r.flows, flow{p.node.name, p.image, int64(p.size), r.now - p.first, p.peer, end})
}

// peers reports whether a node of the zone has the image to give.
func (r *registry) peers(p *registryPull) bool {
	return r.model.PeerToPeer && r.holders[zoneImage{p.node.zone, p.image}] > 0
}

// release starts the pulls that wait to ask the registry but no longer need to, because peers have the image now. It looks at
// all that wait. That is rare: it happens when an image comes to a zone.
func (r *registry) release() {
	if !r.model.PeerToPeer {
		return
	}
	var free []*registryPull
	for _, p := range r.waiting {
		if r.peers(p) {
			free = append(free, p)
		}
	}
	for _, p := range free {
		heap.Remove(&r.waiting, p.place)
		r.start(p)
	}
}

// slot is when the first pull that waits may ask. As long as pulls wait, slots are counted from one instant, so that rounding
// errors do not add up. After that they are counted from the next request.
func (r *registry) slot() time.Duration {
	return max(r.slotAfter(r.slots), r.waiting[0].order.instant())
}

func (r *registry) takeSlot() {
	if r.slotAfter(r.slots) < r.now {
		r.slotsFrom, r.slots = r.now, 0
	}
	r.slots++
}

func (r *registry) slotAfter(taken int) time.Duration {
	after := math.Round(float64(taken) * float64(time.Second) / r.model.Requests)
	if after >= float64(never-1-r.slotsFrom) {
		return never - 1
	}
	return r.slotsFrom + time.Duration(after)
}

// registryHeap has the pull with the least order on top. Pulls of equal order are ordered by node and image.
type registryHeap []*registryPull

func (h *registryHeap) add(p *registryPull, order nanobytes) {
	p.in, p.order = h, order
	heap.Push(h, p)
}

// take removes the first pull and returns it.
func (h *registryHeap) take() *registryPull {
	p := (*h)[0]
	heap.Remove(h, 0)
	return p
}

func (h registryHeap) Len() int { return len(h) }

func (h registryHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.order != b.order:
		return a.order.less(b.order)
	case a.node != b.node:
		return a.node.name < b.node.name
	default:
		return a.image < b.image
	}
}

func (h registryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *registryHeap) Push(x any) {
	p, _ := x.(*registryPull)
	p.place = len(*h)
	*h = append(*h, p)
}

func (h *registryHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}
