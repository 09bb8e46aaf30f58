package simulate

import (
	"cmp"
	"container/heap"
	"math"
	"math/bits"
	"slices"
	"time"
)

// registryClass is the pulls that go at one rate, because their nodes limit them alike. The class counts the bytes that a pull
// would have got that was there from the beginning. A pull ends when that count has grown by the size of the image since the pull
// began. So a change of one pull costs nothing for the others.
type registryClass struct {
	limit ratio // of each pull
	peers bool  // bytes come from peers, not from the registry
	pulls registryHeap

	count nanobytes     // bytes by the instant since
	since time.Duration // when rates or pulls last changed
	rate  ratio         // from then on
}

// ratio is a ratio of whole numbers, of which the second is not 0. It gives bytes per second exactly.
type ratio struct{ over, under uint64 }

const (
	// The instants at which pulls end.
	pullTick = time.Millisecond
	// What counts as a rounding error when the time to a tick is rounded up. The count of a class loses less than a billionth
	// of a byte at each change.
	pullSlack = time.Microsecond
)

// move makes a pull begin to get bytes.
func (r *registry) move(p *registryPull, peers bool) {
	r.settle()
	p.node.moving++
	r.enter(p, peers, nanobytesOf(p.size))
	r.rejoin(p.node)
}

// halt makes a pull stop getting bytes before all have come. The classes must be settled.
func (r *registry) halt(p *registryPull) {
	r.count(p.class.peers, p.got(p.class.count))
	heap.Remove(p.in, p.place)
	p.node.moving--
	r.rejoin(p.node)
}

// rejoin puts the pulls of a node into the class that they belong to, now that the limit has changed.
func (r *registry) rejoin(n *registryNode) {
	for i := range n.images {
		p := n.images[i].pull
		if p == nil || p.class == nil || p.class.limit.compare(n.limit()) == 0 {
			continue
		}
		heap.Remove(p.in, p.place)
		r.enter(p, p.class.peers, p.order.minus(p.class.count))
	}
}

// enter puts a pull that still has to get rest bytes into the class of its node's limit.
func (r *registry) enter(p *registryPull, peers bool, rest nanobytes) {
	c := &registryClass{limit: p.node.limit(), peers: peers, since: r.now}
	i, found := slices.BinarySearchFunc(r.classes, c, compareClasses)
	if !found {
		r.classes = slices.Insert(r.classes, i, c)
	}
	p.class = r.classes[i]
	p.class.pulls.add(p, p.class.count.plus(rest))
}

// settle brings the counts of all classes up to this instant, from which on their rates change.
func (r *registry) settle() {
	if r.stale {
		return
	}
	for _, c := range r.classes {
		c.count, c.since = c.at(r.now), r.now
	}
	r.stale = true
}

// share computes the rates by water-filling. It goes through the classes from the lowest limit on. A class gets its limit if all
// pulls that are left could have as much. Otherwise all that are left get equal parts of what is left.
func (r *registry) share() {
	if !r.stale {
		return
	}
	r.stale = false
	r.classes = slices.DeleteFunc(r.classes, func(c *registryClass) bool { return len(c.pulls) == 0 })
	left := ratio{uint64(max(r.model.Bandwidth, 0)), 0}
	limited := left.over > 0
	for _, c := range r.classes {
		if !c.peers {
			left.under += uint64(len(c.pulls))
		}
	}
	for _, c := range r.classes {
		switch {
		case c.peers || !limited:
			c.rate = c.limit
		case c.limit.compare(left) <= 0:
			c.rate = c.limit
			pulls := uint64(len(c.pulls))
			left.over -= min(c.rate.times(pulls), left.over)
			left.under -= pulls
		default:
			c.rate = ratio{max(left.over, 1), left.under}
		}
	}
}

// count adds bytes of a pull that is over.
func (r *registry) count(peers bool, bytes int64) {
	if peers {
		r.fromPeers += bytes
		return
	}
	r.fromRegistry += bytes
}

func compareClasses(a, b *registryClass) int {
	if a.peers != b.peers {
		if a.peers {
			return 1
		}
		return -1
	}
	return a.limit.compare(b.limit)
}

// limit is that of each pull of the node that gets bytes. No limit is the largest number that there is.
func (n *registryNode) limit() ratio {
	if n.bandwidth == 0 {
		return ratio{math.MaxInt64, 1}
	}
	return ratio{n.bandwidth, n.moving}
}

func (c *registryClass) at(t time.Duration) nanobytes {
	return c.count.plus(c.rate.during(t - c.since))
}

// end is when the first pull ends, with the rates as they are.
func (c *registryClass) end() time.Duration {
	if len(c.pulls) == 0 {
		return never
	}
	takes := c.rate.timeFor(c.pulls[0].order.minus(c.count))
	if takes > never-c.since-pullTick {
		return never
	}
	t := c.since + max(takes-pullSlack, 0)
	return t + (pullTick-t%pullTick)%pullTick
}

func (c *registryClass) traffic() int64 {
	return int64(min(c.rate.times(uint64(len(c.pulls))), math.MaxInt64))
}

func (c *registryClass) counter(registry, peers *int64) *int64 {
	if c.peers {
		return peers
	}
	return registry
}

// got is how many whole bytes a pull has when the count of its class is that far.
func (p *registryPull) got(count nanobytes) int64 {
	return int64(p.size - p.order.minus(count).bytesUp())
}

func (a ratio) compare(b ratio) int {
	aHigh, aLow := bits.Mul64(a.over, b.under)
	bHigh, bLow := bits.Mul64(b.over, a.under)
	return cmp.Or(cmp.Compare(aHigh, bHigh), cmp.Compare(aLow, bLow))
}

// times is the whole number next to n times the ratio, at most the largest there is.
func (a ratio) times(n uint64) uint64 {
	high, low := bits.Mul64(a.over, n)
	low, carry := bits.Add64(low, a.under/2, 0)
	if high += carry; high >= a.under {
		return math.MaxUint64
	}
	whole, _ := bits.Div64(high, low, a.under)
	return whole
}

// during is what flows in that time, rounded down. Bytes per second times nanoseconds are billionths of a byte.
func (a ratio) during(d time.Duration) nanobytes {
	high, low := bits.Mul64(a.over, uint64(d))
	whole, rest := high/a.under, high%a.under
	low, _ = bits.Div64(rest, low, a.under)
	return nanobytes{whole, low}
}

// timeFor is how long it takes until so much has flowed, rounded up.
func (a ratio) timeFor(n nanobytes) time.Duration {
	carry, low := bits.Mul64(n.low, a.under)
	beyond, high := bits.Mul64(n.high, a.under)
	high, over := bits.Add64(high, carry, 0)
	if beyond+over > 0 || high >= a.over {
		return never
	}
	whole, rest := bits.Div64(high, low, a.over)
	if whole >= math.MaxInt64 {
		return never
	}
	if rest > 0 {
		whole++
	}
	return time.Duration(whole)
}

// nanobytes are billionths of a byte, in 128 bits. With whole numbers the sums are the same on every machine, and no count
// overflows within the 292 years that a Duration can hold.
type nanobytes struct{ high, low uint64 }

// instant as what pulls are ordered by.
func instant(t time.Duration) nanobytes { return nanobytes{0, uint64(t)} }

func (n nanobytes) instant() time.Duration { return time.Duration(n.low) }

func nanobytesOf(bytes uint64) nanobytes {
	high, low := bits.Mul64(bytes, 1e9)
	return nanobytes{high, low}
}

func (n nanobytes) plus(m nanobytes) nanobytes {
	low, carry := bits.Add64(n.low, m.low, 0)
	high, _ := bits.Add64(n.high, m.high, carry)
	return nanobytes{high, low}
}

// minus is the difference, or 0 if m is greater.
func (n nanobytes) minus(m nanobytes) nanobytes {
	if n.less(m) {
		return nanobytes{}
	}
	low, borrow := bits.Sub64(n.low, m.low, 0)
	high, _ := bits.Sub64(n.high, m.high, borrow)
	return nanobytes{high, low}
}

func (n nanobytes) less(m nanobytes) bool {
	return n.high < m.high || n.high == m.high && n.low < m.low
}

// bytesUp is whole bytes, rounded up.
func (n nanobytes) bytesUp() uint64 {
	whole, rest := bits.Div64(n.high, n.low, 1e9)
	if rest > 0 {
		whole++
	}
	return whole
}
