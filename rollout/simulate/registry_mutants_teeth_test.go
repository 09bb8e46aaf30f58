//go:build teeth

package simulate

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// These are registries with one bug each, which the comparison with the naive registry must find.

func mutantOfModel(change func(*Registry)) func(Registry, random) registryDriver {
	return func(model Registry, seed random) registryDriver {
		change(&model)
		return newRegistry(model, seed)
	}
}

type deafRegistry struct{ *registry }

func (deafRegistry) cancel(time.Duration, string, string) {}

type restartingRegistry struct{ *registry }

func (r restartingRegistry) begin(at time.Duration, node, zone, image string, bandwidth int64) {
	r.cancel(at, node, image)
	r.registry.begin(at, node, zone, image, bandwidth)
}

type hauntedRegistry struct{ *registry }

func (r hauntedRegistry) forgetNode(at time.Duration, node string) {
	n := r.nodes[node]
	r.registry.forgetNode(at, node)
	if n == nil {
		return
	}
	for _, entry := range n.images {
		if entry.has {
			r.hold(n.zone, entry.name, 1)
		}
	}
}

type stingyRegistry struct{ *registry }

func (r stingyRegistry) cancel(at time.Duration, node, image string) {
	r.advance(at - 1)
	registry, peers := r.fromRegistry, r.fromPeers
	r.registry.cancel(at, node, image)
	r.fromRegistry, r.fromPeers = registry, peers
}

type selfishRegistry struct{ *registry }

const selfish = "/"

func (r selfishRegistry) begin(at time.Duration, node, zone, image string, bandwidth int64) {
	r.registry.begin(at, node+selfish+image, zone, image, bandwidth)
}

func (r selfishRegistry) cancel(at time.Duration, node, image string) {
	r.registry.cancel(at, node+selfish+image, image)
}

func (r selfishRegistry) put(node, zone, image string) {
	r.registry.put(node+selfish+image, zone, image)
}

func (r selfishRegistry) forgetNode(at time.Duration, node string) {
	for name := range r.nodes {
		if strings.HasPrefix(name, node+selfish) {
			r.registry.forgetNode(at, name)
		}
	}
}

func (r selfishRegistry) advance(to time.Duration) []pulled {
	ends := r.registry.advance(to)
	for i := range ends {
		ends[i].node, _, _ = strings.Cut(ends[i].node, selfish)
	}
	return ends
}

type worldwideRegistry struct{ *registry }

func (r worldwideRegistry) begin(at time.Duration, node, _, image string, bandwidth int64) {
	r.registry.begin(at, node, "", image, bandwidth)
}

func (r worldwideRegistry) put(node, _, image string) { r.registry.put(node, "", image) }

type punctualRegistry struct{ *registry }

func (r punctualRegistry) advance(to time.Duration) []pulled {
	for _, c := range r.classes {
		for _, p := range c.pulls {
			p.order = p.order.minus(nanobytesOf(p.size / 100)) // the registry never waits for the last hundredth
		}
	}
	return r.registry.advance(to)
}

func TestRegistryBugsAreFound(t *testing.T) {
	rows := []struct {
		name, why string
		plant     func(Registry, random) registryDriver
	}{
		{"no latency", "the first byte has its time", mutantOfModel(func(r *Registry) { r.Latency = Distribution{} })},
		{"requests at once", "requests have their turns", mutantOfModel(func(r *Registry) { r.Requests = 0 })},
		{"no failures", "failed pulls fail", mutantOfModel(func(r *Registry) { r.FailedPulls = 0 })},
		{"always peers", "peers give only if they are to", mutantOfModel(func(r *Registry) { r.PeerToPeer = true })},
		{"never peers", "peers give if they are to", mutantOfModel(func(r *Registry) { r.PeerToPeer = false })},
		{"a byte too much", "sizes are exact", mutantOfModel(func(r *Registry) { r.Size += 100_000 })},
		{"more than there is", "all share what there is", mutantOfModel(func(r *Registry) { r.Bandwidth += r.Bandwidth / 50 })},
		{
			"pulls that cannot be cancelled", "cancelled pulls free their part",
			func(m Registry, s random) registryDriver { return deafRegistry{newRegistry(m, s)} },
		},
		{
			"begins anew", "a second request joins the first",
			func(m Registry, s random) registryDriver { return restartingRegistry{newRegistry(m, s)} },
		},
		{
			"ghosts", "nodes that are gone give nothing",
			func(m Registry, s random) registryDriver { return hauntedRegistry{newRegistry(m, s)} },
		},
		{
			"uncounted bytes", "bytes of cancelled pulls count",
			func(m Registry, s random) registryDriver { return stingyRegistry{newRegistry(m, s)} },
		},
		{
			"selfish pulls", "pulls of a node share its bandwidth",
			func(m Registry, s random) registryDriver { return selfishRegistry{newRegistry(m, s)} },
		},
		{
			"peers of all zones", "only those of the zone give",
			func(m Registry, s random) registryDriver { return worldwideRegistry{newRegistry(m, s)} },
		},
		{
			"ends early", "all bytes are waited for",
			func(m Registry, s random) registryDriver { return punctualRegistry{newRegistry(m, s)} },
		},
	}
	const tries = 400
	cases := rapid.Custom(registryCases)
	unclear := 0
	for i := range tries {
		c := cases.Example(i)
		skip, err := checkRegistry(c, newRegistry(c.model, c.seed))
		if err != nil {
			t.Fatalf("the registry without a bug: %v", err)
		}
		if skip {
			unclear++
		}
	}
	if unclear > tries/50 {
		t.Errorf("%d of %d cases hang on roundings, and compare less than they should", unclear, tries)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for i := range tries {
				c := cases.Example(i)
				if _, err := checkRegistry(c, row.plant(c.model, c.seed)); err != nil {
					return
				}
			}
			t.Errorf("%d cases did not show that %s", tries, row.why)
		})
	}
}
