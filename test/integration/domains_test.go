package integration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
)

const (
	rackLabel = "example.com/rack"
	zoneLabel = "topology.kubernetes.io/zone"
)

// A fleet of six racks in two zones, with two nodes in each rack: never are two nodes of one rack disturbed, and never two zones
// (B10).
func TestDomains(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.UpdateStrategy)
		access []func(*rest.Config)
	}{
		{"Recreate", func(*v1alpha1.UpdateStrategy) {}, nil},
		{"InPlace", func(u *v1alpha1.UpdateStrategy) { u.Method = "InPlaceIfPossible" }, nil},
		{"Surge", func(u *v1alpha1.UpdateStrategy) { u.MaxUnavailable, u.MaxSurge = nil, new(intstr.Parse("100%")) }, nil},
		{"WatchLag", func(*v1alpha1.UpdateStrategy) {}, []func(*rest.Config){through(lagging(500 * time.Millisecond))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 12)
			w.audit.Always(w.oneNodeOfARack())
			w.audit.Always(w.oneZone())
			w.set(maxUnavailable("100%"), domains(rackDomain, zoneDomain), func(s *v1alpha1.PlannedDaemonSet) {
				test.change(&s.Spec.UpdateStrategy)
			})
			w.runController(test.access...)
			w.settled(12)
			w.change(image("v2"))
			w.settled(12)
			w.sound()

			// Crashing pods take the place of one node in each rack of a zone. All others wait, and the status says for whom.
			w.change(image("broken"))
			w.waiting("at most 1 node with "+rackLabel+"=", "at most 1 value of "+zoneLabel)
			w.stays("three nodes with a broken pod", time.Second, func() error {
				if n := w.running("broken"); n > 3 {
					return fmt.Errorf("%d", n)
				}
				return nil
			})
			w.change(image("v3"))
			w.settled(12)
			w.sound()
		})
	}
}

// The rules of TestDomains notice what a policy does not forbid.
func TestDomainsAreNoticed(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy []v1alpha1.Domain
		rule   func(*world) func(auditor.Instant) error
		broken string
	}{
		{"NoPolicy", nil, (*world).oneNodeOfARack, "both have " + rackLabel + "=r"},
		{"ZonesOnly", []v1alpha1.Domain{zoneDomain}, (*world).oneNodeOfARack, "both have " + rackLabel + "=r"},
		{"RacksOnly", []v1alpha1.Domain{rackDomain}, (*world).oneZone, "in z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 12)
			w.oneNodeOfARack()
			w.oneZone()
			w.audit.Always(test.rule(w))
			w.set(maxUnavailable("100%"), domains(test.policy...))
			w.runController()
			w.settled(12)
			w.sound()
			w.change(image("v2"))
			w.settled(12)
			w.counts()
			if err := w.audit.Sound(); err == nil || !strings.Contains(err.Error(), test.broken) {
				t.Errorf("%v, want that %q was seen", err, test.broken)
			}
		})
	}
}

// What TestDomains forbids: to disturb two nodes of one rack, or two zones, at a time.
var (
	rackDomain = v1alpha1.Domain{Key: rackLabel, Max: new(intstr.FromInt32(1))}
	zoneDomain = v1alpha1.Domain{Key: zoneLabel, AtOnce: 1}
)

// domains gives the set a policy with these; none: no policy.
func domains(list ...v1alpha1.Domain) func(*v1alpha1.PlannedDaemonSet) {
	return func(s *v1alpha1.PlannedDaemonSet) {
		if len(list) > 0 {
			s.Spec.UpdateStrategy.Policy = &v1alpha1.Policy{Domains: list}
		}
	}
}

// oneNodeOfARack labels the nodes, and returns the rule that no two nodes of one rack are disturbed. Nodes whose names are next
// to each other share a rack, because they come next to each other in a rollout.
func (w *world) oneNodeOfARack() func(auditor.Instant) error {
	w.Helper()
	racks := w.label(12, rackLabel, func(i int) string { return fmt.Sprintf("r%d", i/2) })
	return func(now auditor.Instant) error {
		in := map[string]string{}
		for _, node := range now.Disturbed {
			rack := racks[node]
			if other, two := in[rack]; two {
				return fmt.Errorf("%s and %s are disturbed at a time, and both have %s=%s", other, node, rackLabel, rack)
			}
			in[rack] = node
		}
		return nil
	}
}

// oneZone labels the nodes, and returns the rule that no two zones have disturbed nodes. The zones of racks that are next to each
// other differ.
func (w *world) oneZone() func(auditor.Instant) error {
	w.Helper()
	zones := w.label(12, zoneLabel, func(i int) string { return fmt.Sprintf("z%d", i/2%2) })
	return func(now auditor.Instant) error {
		for _, node := range now.Disturbed {
			if first := now.Disturbed[0]; zones[node] != zones[first] {
				return fmt.Errorf("%s in %s and %s in %s are disturbed at a time", first, zones[first], node, zones[node])
			}
		}
		return nil
	}
}

// label gives the first nodes of the world a label, and returns the value of each node.
func (w *world) label(nodes int, key string, value func(i int) string) map[string]string {
	w.Helper()
	values := map[string]string{}
	for i := range nodes {
		values[w.node(i)] = value(i)
		w.editNode(w.node(i), func(n *corev1.Node) { n.Labels[key] = value(i) })
	}
	return values
}

// sound ends the test if the auditor, once it has seen all, has found what must never be.
func (w *world) sound() {
	w.Helper()
	w.counts()
	if err := w.audit.Sound(); err != nil {
		w.Fatal(err)
	}
}

// waiting waits until the status of the present generation says with each of the texts what nodes wait for.
func (w *world) waiting(texts ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("nodes wait: %q", texts), func() error {
		set := w.current()
		if set.Status.ObservedGeneration != set.Generation {
			return fmt.Errorf("generation %d of %d", set.Status.ObservedGeneration, set.Generation)
		}
		for _, text := range texts {
			if !strings.Contains(strings.Join(set.Status.Waiting, "\n"), text) {
				return fmt.Errorf("they wait for %q", set.Status.Waiting)
			}
		}
		return nil
	})
}

// running is how many pods have an image with the tag.
func (w *world) running(tag string) (pods int) {
	w.Helper()
	for _, pod := range w.pods() {
		if strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+tag) {
			pods++
		}
	}
	return pods
}
