package simulate

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"
	"time"
)

// registry knows all pulls of images that are under way, and which node has which image. It knows nothing of pods.
//
// At each instant all pulls from the registry share its bandwidth as equally as the bandwidths of their nodes allow (max-min
// fairness): what slow nodes cannot use goes to the others. The pulls of one node have equal parts of its bandwidth. If the
// registry gives one of them less than its part, the rest of that part is not given to the others.
//
// A pull has up to three parts: it waits for its turn to ask, for the latency, and for its bytes. It ends at a whole
// millisecond, rounded up, so that pulls that end at about the same time end at one instant, and keeps its bandwidth until
// then. Less than a microsecond beyond a whole millisecond counts as a rounding error. Only a pull of no bytes, or one that
// nothing limits, takes no time.
type registry struct {
	model    Registry
	seed     random
	now      time.Duration
	nodes    map[string]*registryNode
	holders  map[zoneImage]int // nodes that have the image
	underway int
	ended    []pulled // and not reported yet
	flows    []flow   // not taken yet

	// The parts of a pull: each is in one of these, or in that of its class.
	waiting  registryHeap // to ask; by when they began to wait
	starting registryHeap // have asked; by when the first byte comes
	classes  []*registryClass
	stale    bool // the rates of the classes are of before the last change

	// The instant that slots for requests are counted from, and how many of them are taken.
	slotsFrom time.Duration
	slots     int

	fromRegistry, fromPeers int64 // bytes of pulls that are over
}

// pulled is the end of a pull.
type pulled struct {
	at          time.Duration
	node, image string
	failed      bool
}

// flow is what came for one pull that ended, in the time from its first byte to its last. peer: it came from nodes that have
// the image, not from the registry.
type flow struct {
	node, image string
	bytes       int64
	took        time.Duration
	peer        bool
	outcome     outcome
}

// outcome is how a pull ended.
type outcome uint8

const (
	came      outcome = iota
	failed            // at its end
	cameShort         // nobody waited for it any more
)

type registryNode struct {
	name, zone string
	bandwidth  uint64 // 0: no limit
	moving     uint64 // pulls that get bytes
	images     []registryImage
}

// registryImage is an image that a node has, or that was asked for.
type registryImage struct {
	name     string
	has      bool
	attempts int
	pull     *registryPull // nil: none is under way
}

type registryPull struct {
	node  *registryNode
	image string
	size  uint64
	draw  string        // key of what is drawn for it
	asked bool          // has had a slot for its request
	peer  bool          // gets its bytes from peers
	first time.Duration // when its first byte came

	// in is the heap that the pull is in, and place its place there. order is what it is ordered by: an instant, or for a pull
	// that gets bytes the count of its class at which it ends.
	in    *registryHeap
	place int
	order nanobytes
	class *registryClass // nil: it gets no bytes yet
}

type zoneImage struct{ zone, image string }

func newRegistry(r Registry, seed random) *registry {
	return &registry{
		model: r, seed: seed,
		nodes: map[string]*registryNode{}, holders: map[zoneImage]int{},
	}
}

// begin asks for an image on a node. bandwidth is that of the node in bytes per second; 0: Registry.NodeBandwidth. If the image
// is being pulled there already, that pull goes on. If it is there, a pull is reported that ends at once.
func (r *registry) begin(at time.Duration, node, zone, image string, bandwidth int64) {
	r.reach(at)
	n := r.node(node, zone)
	if bandwidth <= 0 {
		bandwidth = max(r.model.NodeBandwidth, 0)
	}
	if n.bandwidth != uint64(bandwidth) {
		r.settle()
		n.bandwidth = uint64(bandwidth)
		r.rejoin(n)
	}
	entry := n.image(image)
	if entry.pull != nil {
		return
	}
	if entry.has {
		r.ended = append(r.ended, pulled{at: r.now, node: node, image: image})
		return
	}
	entry.attempts++
	p := &registryPull{node: n, image: image, size: r.size(image)}
	if r.model.Latency.kind != unset || r.model.FailedPulls > 0 {
		p.draw = node + " " + image + " " + strconv.Itoa(entry.attempts)
	}
	entry.pull = p
	r.underway++
	r.ask(p)
}

// cancel ends a pull that nobody waits for any more. It is not reported, even if it ended at this instant.
func (r *registry) cancel(at time.Duration, node, image string) {
	r.reach(at)
	if n := r.nodes[node]; n != nil {
		for i := range n.images {
			if entry := &n.images[i]; entry.name == image && entry.pull != nil {
				r.abandon(entry)
			}
		}
	}
	r.ended = slices.DeleteFunc(r.ended, func(p pulled) bool { return p.node == node && p.image == image })
}

// forgetNode takes a node away, and with it its pulls and images.
func (r *registry) forgetNode(at time.Duration, node string) {
	r.reach(at)
	n := r.nodes[node]
	if n == nil {
		return
	}
	for i := range n.images {
		entry := &n.images[i]
		if entry.pull != nil {
			r.abandon(entry)
		}
		if entry.has {
			r.hold(n.zone, entry.name, -1)
		}
	}
	delete(r.nodes, node)
	r.ended = slices.DeleteFunc(r.ended, func(p pulled) bool { return p.node == node })
}

// has reports whether the node has the image.
func (r *registry) has(node, image string) bool {
	n := r.nodes[node]
	return n != nil && slices.ContainsFunc(n.images, func(e registryImage) bool { return e.has && e.name == image })
}

// put gives a node an image that it has from the beginning.
func (r *registry) put(node, zone, image string) {
	n := r.node(node, zone)
	entry := n.image(image)
	if entry.pull != nil {
		r.abandon(entry)
	}
	r.give(n, entry)
}

// next is when advance is to be called next, because a pull ends, may ask, or gets its first byte. False: never, unless another
// pull begins. The instant may have come already.
func (r *registry) next() (time.Duration, bool) {
	if len(r.ended) > 0 {
		return r.ended[0].at, true
	}
	t := r.upcoming()
	return t, t != never
}

// advance goes on to an instant and returns the pulls that ended until then and were not returned yet, by time, node and
// image. The slice is the caller's.
func (r *registry) advance(to time.Duration) []pulled {
	r.run(to)
	ended := r.ended
	r.ended = nil
	slices.SortFunc(ended, func(a, b pulled) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.node, b.node), strings.Compare(a.image, b.image))
	})
	return ended
}

// takeFlows returns what came for the pulls that ended and were not returned yet. The slice is the caller's.
func (r *registry) takeFlows() []flow {
	flows := r.flows
	r.flows = nil
	return flows
}

// bytes returns how many bytes were pulled so far, those of failed and abandoned pulls included. It looks at each pull that gets
// bytes.
func (r *registry) bytes() (fromRegistry, fromPeers int64) {
	fromRegistry, fromPeers = r.fromRegistry, r.fromPeers
	for _, c := range r.classes {
		done := c.at(r.now)
		for _, p := range c.pulls {
			*c.counter(&fromRegistry, &fromPeers) += p.got(done)
		}
	}
	return fromRegistry, fromPeers
}

// traffic is how many bytes per second flow after all that happened up to the last advance.
func (r *registry) traffic() (fromRegistry, fromPeers int64) {
	r.share()
	for _, c := range r.classes {
		*c.counter(&fromRegistry, &fromPeers) += c.traffic()
	}
	return fromRegistry, fromPeers
}

// pulling is how many pulls are under way, those that wait included.
func (r *registry) pulling() int { return r.underway }

func (r *registry) size(image string) uint64 {
	size, listed := r.model.Sizes[image]
	if !listed {
		size = r.model.Size
	}
	return uint64(max(size, 0))
}

// node finds or makes the node of that name, and notes that it is in that zone now.
func (r *registry) node(name, zone string) *registryNode {
	n := r.nodes[name]
	if n == nil {
		n = &registryNode{name: name, zone: zone, bandwidth: uint64(max(r.model.NodeBandwidth, 0))}
		r.nodes[name] = n
	}
	if n.zone != zone {
		for _, entry := range n.images {
			if entry.has {
				r.hold(n.zone, entry.name, -1)
				r.hold(zone, entry.name, 1)
			}
		}
		n.zone = zone
		r.release() // its own pulls have other peers now
	}
	return n
}

// image finds or makes the entry of an image. The pointer is good until the next call.
func (n *registryNode) image(name string) *registryImage {
	for i := range n.images {
		if n.images[i].name == name {
			return &n.images[i]
		}
	}
	n.images = append(n.images, registryImage{name: name})
	return &n.images[len(n.images)-1]
}

// give notes that a node has the image.
func (r *registry) give(n *registryNode, entry *registryImage) {
	if entry.has {
		return
	}
	entry.has = true
	r.hold(n.zone, entry.name, 1)
	if r.holders[zoneImage{n.zone, entry.name}] == 1 {
		r.release()
	}
}

func (r *registry) hold(zone, image string, more int) {
	r.holders[zoneImage{zone, image}] += more
}

// abandon ends a pull before its time.
func (r *registry) abandon(entry *registryImage) {
	p := entry.pull
	entry.pull = nil
	r.underway--
	if p.class != nil {
		r.settle()
		r.flows = append(r.flows, flow{p.node.name, p.image, p.got(p.class.count), r.now - p.first, p.peer, cameShort})
		r.halt(p)
		return
	}
	heap.Remove(p.in, p.place)
}
