package predownload

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"
)

// pass goes through the candidates once, for all images together.
type pass struct {
	now      time.Time
	settings settings
	images   []demand
	// underWay holds the pulls in flight. The value is true if the node was met as a candidate and needs the image.
	underWay map[place]bool
	failures map[place]Failure
}

// place is an image, by its ordinal, on a node.
type place struct {
	node  string
	image int
}

// demand is what the pass finds out about one image.
type demand struct {
	image    string
	wanted   wanted
	inFlight int32
	limit    int32
	// room is how many pulls may be asked for: limit - inFlight, not negative. Until limit is known there is no bound.
	room int
	// needed counts the candidates that need the image.
	needed int64
	// ready are the candidates that can be asked, in order.
	ready []turn
	// later are those that back off.
	later   []backingOff
	givenUp bool
}

type turn struct {
	candidate int // ordinal
	node      string
}

type backingOff struct {
	until time.Time
	ahead int // ready candidates before it
}

func newPass(in Input, settings settings, failures []Failure) pass {
	p := pass{now: in.Now, settings: settings}
	for _, image := range distinct(in.Images) {
		p.images = append(p.images, demand{image: image, wanted: want(image), room: math.MaxInt})
	}
	for _, request := range in.InFlight {
		for i := range p.images {
			at := place{request.Node, i}
			if _, again := p.underWay[at]; !again && p.images[i].wanted.names(request.Image) {
				put(&p.underWay, at, false)
				p.images[i].inFlight++
			}
		}
	}
	for _, f := range failures {
		for i := range p.images {
			if p.images[i].wanted.names(f.Image) {
				put(&p.failures, place{f.Node, i}, f)
			}
		}
	}
	if !settings.parallelism.Percent {
		for i := range p.images {
			p.images[i].allow(settings.parallelism.Value)
		}
	}
	return p
}

// walk reads candidates until no image has room. With a percentage it reads all, because the limit is known only then.
func (p *pass) walk(candidates iter.Seq[Candidate]) {
	ordinal := 0
	if candidates != nil && !p.full() {
		for candidate := range candidates {
			if candidate.Node != "" {
				p.meet(ordinal, &candidate)
			}
			if p.full() {
				break
			}
			ordinal++
		}
	}
	if !p.settings.parallelism.Percent {
		return
	}
	for i := range p.images {
		d := &p.images[i]
		// Pulls in flight on nodes that are no candidates any more count as needed, too (D2).
		total := d.needed + int64(d.inFlight) - p.met(i)
		d.allow(p.settings.parallelism.RoundUp(int32(min(total, math.MaxInt32))))
	}
}

func (p *pass) meet(ordinal int, candidate *Candidate) {
	for i := range p.images {
		d := &p.images[i]
		if d.full() || !candidate.needs(&d.wanted) {
			continue
		}
		d.needed++
		at := place{candidate.Node, i}
		if _, ok := p.underWay[at]; ok {
			p.underWay[at] = true
			continue
		}
		if f, ok := p.failures[at]; ok {
			if f.Count > p.settings.backoffLimit {
				d.givenUp = true
				continue
			}
			if until := f.Until(p.now); p.now.Before(until) {
				d.later = append(d.later, backingOff{until: until, ahead: len(d.ready)})
				continue
			}
		}
		d.ready = append(d.ready, turn{ordinal, candidate.Node})
	}
}

// met counts the pulls in flight of an image whose nodes are candidates that need it.
func (p *pass) met(image int) int64 {
	var count int64
	for at, met := range p.underWay {
		if at.image == image && met {
			count++
		}
	}
	return count
}

func (p *pass) full() bool {
	return !slices.ContainsFunc(p.images, func(d demand) bool { return !d.full() })
}

// pulls lists the pulls that are asked for, in the order of the candidates.
func (p *pass) pulls(secrets []string) []Pull {
	type chosen struct {
		turn
		image int
	}
	var all []chosen
	for i, d := range p.images {
		for _, t := range d.ready[:min(len(d.ready), d.room)] {
			// A node that comes twice is asked once.
			if _, ok := p.underWay[place{t.node, i}]; !ok {
				put(&p.underWay, place{t.node, i}, true)
				all = append(all, chosen{t, i})
			}
		}
	}
	slices.SortFunc(all, func(a, b chosen) int {
		return cmp.Or(cmp.Compare(a.candidate, b.candidate), cmp.Compare(a.image, b.image))
	})
	pulls := slices.Grow([]Pull(nil), len(all))
	for _, c := range all {
		pulls = append(pulls, Pull{
			Node: c.node, Image: p.images[c.image].image, Secrets: secrets,
			Timeout: p.settings.timeout, BackoffLimit: p.settings.backoffLimit,
		})
	}
	return pulls
}

// waits returns why there are no more pulls, and when the end of a back-off changes the pulls: only that of a candidate whose
// turn comes while there is room does.
func (p *pass) waits() (waits []ImageWait, wake time.Time) {
	for _, d := range p.images {
		for _, b := range d.later {
			if b.ahead < d.room && (wake.IsZero() || b.until.Before(wake)) {
				wake = b.until
			}
		}
		waits = append(waits, ImageWait{
			Image: d.image, Reason: d.reason(p.settings.parallelism.Percent),
			InFlight: d.inFlight, Limit: d.limit,
		})
	}
	return waits, wake
}

// blocked gives all images one reason for which no candidate was looked at.
func (p *pass) blocked(reason WaitReason) []ImageWait {
	var waits []ImageWait
	for _, d := range p.images {
		waits = append(waits, ImageWait{Image: d.image, Reason: reason, InFlight: d.inFlight})
	}
	return waits
}

func (d *demand) allow(limit int32) {
	d.limit = limit
	d.room = int(max(int64(limit)-int64(d.inFlight), 0))
}

func (d *demand) full() bool { return len(d.ready) >= d.room }

// reason returns why no more pulls are asked for. With an integer limit the pass stopped where the limit was reached, so that it
// does not know whether more nodes need the image.
func (d *demand) reason(percent bool) WaitReason {
	switch {
	case d.full() && (!percent || len(d.ready) > d.room || len(d.later) > 0):
		return ReasonParallelism
	case len(d.later) > 0:
		return ReasonBackOff
	case d.givenUp:
		return ReasonGivenUp
	default:
		return ReasonServed
	}
}

func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}
