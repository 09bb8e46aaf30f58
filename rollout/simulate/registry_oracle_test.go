package simulate

import (
	"math/big"
	"slices"
	"strconv"
	"time"
)

// naiveRegistry is a simple form of the same model. It computes with exact fractions, and at each instant it checks each pull.
type naiveRegistry struct {
	model Registry
	seed  random
	now   *big.Rat // nanoseconds
	pulls []*naivePull
	has   map[string]map[string]bool // by node and image
	zones map[string]string
	speed map[string]int64
	tries map[string]int
	slot  *big.Rat // the instant from which the next request may be made
	ends  []pulled
	told  int         // how many ends the engine was told, so that they cannot be undone
	total [2]*big.Rat // bytes, from the registry and from peers
	// unclear: an end was so near to the boundary of two ticks that the rounding of the real registry decides.
	unclear bool
}

type naivePull struct {
	node, image string
	since       *big.Rat // when its present phase began
	phase       int      // 0: it waits to ask, 1: it waits for the first byte, 2: it gets bytes
	asked       bool
	peers       bool
	failed      bool
	latency     time.Duration
	left        *big.Rat // bytes
	rate        *big.Rat // bytes per nanosecond
}

func newNaiveRegistry(model Registry, seed random) *naiveRegistry {
	return &naiveRegistry{
		model: model, seed: seed, now: new(big.Rat), slot: new(big.Rat),
		has: map[string]map[string]bool{}, zones: map[string]string{}, speed: map[string]int64{}, tries: map[string]int{},
		total: [2]*big.Rat{new(big.Rat), new(big.Rat)},
	}
}

func naiveWhole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func naiveUp(r *big.Rat, unit time.Duration) *big.Rat {
	n := new(big.Rat).Quo(r, naiveWhole(int64(unit)))
	whole := new(big.Int).Div(n.Num(), n.Denom())
	if !n.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), naiveWhole(int64(unit)))
}

func (o *naiveRegistry) place(node, zone string) {
	o.zones[node] = zone
	if o.has[node] == nil {
		o.has[node] = map[string]bool{}
	}
}

func (o *naiveRegistry) peer(p *naivePull) bool {
	for node, images := range o.has {
		if o.model.PeerToPeer && node != p.node && images[p.image] && o.zones[node] == o.zones[p.node] {
			return true
		}
	}
	return false
}

func (o *naiveRegistry) drop(doomed func(*naivePull) bool) {
	o.pulls = slices.DeleteFunc(o.pulls, func(p *naivePull) bool {
		if !doomed(p) {
			return false
		}
		if p.phase == 2 {
			got := new(big.Rat).Sub(naiveWhole(o.size(p.image)), p.left)
			source := 0
			if p.peers {
				source = 1
			}
			if p.left.Sign() < 0 {
				got = naiveWhole(o.size(p.image))
			}
			o.total[source].Add(o.total[source], got)
		}
		return true
	})
}

func (o *naiveRegistry) size(image string) int64 {
	if size, ok := o.model.Sizes[image]; ok {
		return size
	}
	return o.model.Size
}

func (o *naiveRegistry) call(c registryCall) {
	defer o.skipQueue()
	at := naiveWhole(int64(c.at))
	switch c.call {
	case "put":
		o.place(c.node, c.zone)
		o.drop(func(p *naivePull) bool { return p.node == c.node && p.image == c.image })
		o.has[c.node][c.image] = true
	case "cancel":
		o.drop(func(p *naivePull) bool { return p.node == c.node && p.image == c.image })
		o.takeBack(func(p pulled) bool { return p.node == c.node && p.image == c.image })
	case "forget":
		o.drop(func(p *naivePull) bool { return p.node == c.node })
		o.takeBack(func(p pulled) bool { return p.node == c.node })
		delete(o.has, c.node)
		delete(o.zones, c.node)
		delete(o.speed, c.node)
		for key := range o.tries {
			if len(key) > len(c.node) && key[:len(c.node)+1] == c.node+" " {
				delete(o.tries, key)
			}
		}
	case "begin":
		o.place(c.node, c.zone)
		o.speed[c.node] = c.bandwidth
		if c.bandwidth == 0 {
			o.speed[c.node] = o.model.NodeBandwidth
		}
		for _, p := range o.pulls {
			if p.node == c.node && p.image == c.image {
				return
			}
		}
		if o.has[c.node][c.image] {
			o.ends = append(o.ends, pulled{c.at, c.node, c.image, false})
			return
		}
		key := c.node + " " + c.image
		o.tries[key]++
		key += " " + strconv.Itoa(o.tries[key])
		p := &naivePull{
			node: c.node, image: c.image, since: at, left: naiveWhole(o.size(c.image)),
			latency: o.seed.durationOf(o.model.Latency, "pull latency", key),
			failed:  o.seed.fraction("pull fails", key) < o.model.FailedPulls,
		}
		o.pulls = append(o.pulls, p)
	}
}

func (o *naiveRegistry) takeBack(ends func(pulled) bool) {
	o.ends = append(o.ends[:o.told:o.told], slices.DeleteFunc(slices.Clone(o.ends[o.told:]), ends)...)
}

// skipQueue moves pulls on that need not wait for a turn to ask.
func (o *naiveRegistry) skipQueue() {
	for _, p := range o.pulls {
		if p.phase == 0 && (o.model.Requests <= 0 || o.peer(p)) {
			p.phase, p.since = 1, o.now
		}
	}
}

// rates raises the rates of all pulls in equal steps. A pull that has reached the limit of its node stops rising.
func (o *naiveRegistry) rates() {
	second := naiveWhole(int64(time.Second))
	moving := map[string]int64{}
	for _, p := range o.pulls {
		if p.phase == 2 {
			moving[p.node]++
		}
	}
	var rising []*naivePull
	limit := func(p *naivePull) *big.Rat {
		if o.speed[p.node] == 0 {
			return nil
		}
		return new(big.Rat).Quo(big.NewRat(o.speed[p.node], moving[p.node]), second)
	}
	for _, p := range o.pulls {
		if p.phase != 2 {
			continue
		}
		p.rate = limit(p)
		if !p.peers && o.model.Bandwidth > 0 {
			p.rate = new(big.Rat)
			rising = append(rising, p)
		}
	}
	left := new(big.Rat).Quo(naiveWhole(o.model.Bandwidth), second)
	for len(rising) > 0 && left.Sign() > 0 {
		step := new(big.Rat).Quo(left, naiveWhole(int64(len(rising))))
		for _, p := range rising {
			if most := limit(p); most != nil {
				if room := new(big.Rat).Sub(most, p.rate); room.Cmp(step) < 0 {
					step = room
				}
			}
		}
		for _, p := range rising {
			p.rate.Add(p.rate, step)
			left.Sub(left, step)
		}
		rising = slices.DeleteFunc(rising, func(p *naivePull) bool {
			most := limit(p)
			return most != nil && p.rate.Cmp(most) == 0
		})
	}
}

// end is when a pull ends with the present rates; nil: not yet known.
func (o *naiveRegistry) end(p *naivePull) *big.Rat {
	if p.phase != 2 {
		return nil
	}
	if p.rate == nil || p.left.Sign() <= 0 && o.size(p.image) == 0 {
		return o.now // no limit applies to it
	}
	t := new(big.Rat).Set(o.now)
	if p.left.Sign() > 0 {
		e := new(big.Rat).Add(o.now, new(big.Rat).Quo(p.left, p.rate))
		e.Sub(e, naiveWhole(int64(pullSlack)))
		if e.Cmp(t) > 0 {
			t = e
		}
		near, _ := new(big.Rat).Sub(naiveUp(e, pullTick), e).Float64()
		if near < 20 || near > float64(pullTick)-20 {
			o.unclear = true
		}
	}
	return naiveUp(t, pullTick)
}

// next is the next instant at which something happens; nil: there is none.
func (o *naiveRegistry) next() *big.Rat {
	var first *big.Rat
	consider := func(t *big.Rat) {
		if t != nil && (first == nil || t.Cmp(first) < 0) {
			first = t
		}
	}
	o.rates()
	for _, p := range o.pulls {
		switch p.phase {
		case 0:
			consider(o.slot)
			if o.slot.Cmp(p.since) < 0 {
				first = p.since
			}
		case 1:
			consider(new(big.Rat).Add(p.since, naiveWhole(int64(p.latency))))
		case 2:
			consider(o.end(p))
		}
	}
	if first != nil && first.Cmp(o.now) < 0 {
		return o.now
	}
	return first
}

// run lets everything happen up to an instant; nil: everything.
func (o *naiveRegistry) run(to *big.Rat) {
	for {
		t := o.next()
		if t == nil || to != nil && t.Cmp(to) > 0 {
			break
		}
		o.flow(t)
		o.endAll()
		o.skipQueue()
		o.firstBytes()
		o.skipQueue()
		o.request()
	}
	if to != nil {
		o.flow(to)
	}
}

func (o *naiveRegistry) flow(to *big.Rat) {
	o.rates()
	for _, p := range o.pulls {
		if p.phase == 2 && p.rate != nil {
			p.left.Sub(p.left, new(big.Rat).Mul(p.rate, new(big.Rat).Sub(to, o.now)))
		}
	}
	o.now = to
}

func (o *naiveRegistry) endAll() {
	o.rates()
	var over []*naivePull
	for _, p := range o.pulls {
		if t := o.end(p); t != nil && t.Cmp(o.now) <= 0 {
			over = append(over, p)
		}
	}
	for _, p := range over {
		o.finish(p)
	}
}

func (o *naiveRegistry) finish(p *naivePull) {
	p.left = new(big.Rat)
	o.drop(func(q *naivePull) bool { return q == p })
	if !p.failed {
		o.has[p.node][p.image] = true
	}
	at, _ := naiveUp(o.now, 1).Float64()
	o.ends = append(o.ends, pulled{time.Duration(at), p.node, p.image, p.failed})
}

func (o *naiveRegistry) firstBytes() {
	ready := slices.Clone(o.pulls)
	slices.SortStableFunc(ready, func(a, b *naivePull) int {
		if a.before(b) {
			return -1
		}
		if b.before(a) {
			return 1
		}
		return 0
	})
	for _, p := range ready {
		if p.phase != 1 || new(big.Rat).Add(p.since, naiveWhole(int64(p.latency))).Cmp(o.now) > 0 {
			continue
		}
		p.peers = o.peer(p)
		if !p.peers && !p.asked && o.model.Requests > 0 {
			p.phase, p.since = 0, o.now
			continue
		}
		p.phase = 2
		if o.size(p.image) == 0 || o.speed[p.node] == 0 && (p.peers || o.model.Bandwidth == 0) {
			o.finish(p)
		}
	}
}

// request gives a slot to the pull that has waited longest. Slots are whole nanoseconds here, so the rate of requests must divide
// a second.
func (o *naiveRegistry) request() {
	var first *naivePull
	for _, p := range o.pulls {
		if p.phase == 0 && (first == nil || p.before(first)) {
			first = p
		}
	}
	if first == nil || o.slot.Cmp(o.now) > 0 {
		return
	}
	first.phase, first.asked, first.since = 1, true, o.now
	o.slot = new(big.Rat).Add(o.now, naiveWhole(int64(float64(time.Second)/o.model.Requests)))
}

// before orders pulls that wait: by when the wait began, or when it ends, then by node and image.
func (p *naivePull) before(q *naivePull) bool {
	if p.phase == 1 && q.phase == 1 {
		a := new(big.Rat).Add(p.since, naiveWhole(int64(p.latency)))
		b := new(big.Rat).Add(q.since, naiveWhole(int64(q.latency)))
		if c := a.Cmp(b); c != 0 {
			return c < 0
		}
	} else if c := p.since.Cmp(q.since); c != 0 {
		return c < 0
	}
	if p.node != q.node {
		return p.node < q.node
	}
	return p.image < q.image
}
