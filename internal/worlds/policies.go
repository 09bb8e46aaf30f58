package worlds

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// WithPolicies returns the scenario of a seed with policies in its specs, and with more of what policies are about: nodes that
// are down from the beginning, nodes that depart, racks, rings, approvals, images that break nodes. In most of these worlds pods
// tolerate nodes whose kubelet is silent.
// What is added is drawn from a source of its own, so that all the rest is that of [Scenario].
func WithPolicies(seed uint64) simulate.Scenario {
	s := Scenario(seed)
	r := source{rand.New(rand.NewPCG(seed, 0x9011c7))}
	for i := range s.Fleet.Pools {
		s.Fleet.Pools[i].Racks = pick(r, 0, 1, 2, 2, 3)
	}
	specs := []*rollout.Spec{&s.Spec}
	if s.Fleet.Running != nil {
		specs = append(specs, s.Fleet.Running)
	}
	for i := range s.Events {
		if spec := s.Events[i].Spec; spec != nil {
			specs = append(specs, spec)
		}
	}
	policy, tolerant := r.policy(), r.chance(0.7)
	for _, spec := range specs {
		spec.Strategy.Policy = policy
		if r.chance(0.1) { // the user changes the policy, too
			spec.Strategy.Policy = r.policy()
		}
		if tolerant {
			before := rollouttest.Hash(*spec)
			tolerate(spec)
			for k := range s.Model.Kubelets {
				if s.Model.Kubelets[k].Revision == before {
					s.Model.Kubelets[k].Revision = rollouttest.Hash(*spec)
				}
			}
		}
	}
	s.Events = append(s.Events, r.outages(s.Fleet.Pools)...)
	source{rand.New(rand.NewPCG(seed, 0x57a6e5))}.stagesAndFailures(&s, specs)
	return s
}

// tolerate lets pods run where nobody hears of the kubelet. Otherwise such nodes keep what they have (P3), and hardly count.
func tolerate(spec *rollout.Spec) {
	spec.Template = *spec.Template.DeepCopy()
	rollouttest.Tolerating(corev1.TaintNodeUnreachable, "")(spec)
}

// policy draws outages, domains or both.
func (r source) policy() rollout.Policy {
	var p rollout.Policy
	what := r.IntN(4)
	if what != 0 {
		p.Outages = r.outageOptions()
	}
	if what != 1 {
		for range pick(r, 1, 1, 2, 3) {
			p.Domains = append(p.Domains, r.domain())
		}
	}
	return p
}

// retiringTaint marks departing nodes for some of the policies only.
const retiringTaint = "example.com/retiring"

func (r source) outageOptions() *outage.Options {
	o := &outage.Options{ProvenAfter: pick(r, 0, 0, time.Second, time.Minute, 10*time.Minute), Touch: r.chance(0.2)}
	if n := pick(r, "", "0", "1", "1", "2", "30%", "100%", "100%"); n != "" {
		o.MaxExempt = new(intstr.Parse(n))
	}
	if r.chance(0.3) {
		o.Taints = []string{retiringTaint}
	}
	if r.chance(0.1) {
		o.Conditions = []string{"example.com/NeverSeen"}
	}
	return o
}

func (r source) domain() domain.Domain {
	d := domain.Domain{Key: pick(r, "", poolLabel, corev1.LabelTopologyZone, corev1.LabelTopologyZone, simulate.RackLabel,
		simulate.RackLabel)}
	if d.Key == "" || r.chance(0.2) {
		d.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{poolLabel: pick(r, "a", "b", "c")}}
	}
	if d.Key != "" && r.chance(0.5) {
		d.AtOnce = int32(pick(r, 1, 1, 2))
	}
	if d.AtOnce == 0 || r.chance(0.4) {
		d.Max = new(intstr.Parse(pick(r, "1", "1", "2", "1%", "50%", "100%")))
	}
	return d
}

// outages draws nodes that are down from the beginning, and nodes that go down or depart later.
func (r source) outages(pools []simulate.Pool) []simulate.Event {
	var events []simulate.Event
	add := func(e simulate.Event) {
		switch r.IntN(4) {
		case 0:
			e.Share = pick(r, 0.1, 0.3, 0.6)
		case 1:
			e.Count = r.between(1, 3)
		}
		if len(pools) > 0 && r.chance(0.3) {
			e.Pool = pick(r, pools...).Name
		}
		if r.chance(0.6) {
			e.For = r.seconds(pick(r, 60, 600, 3600))
		}
		events = append(events, e)
	}
	if r.chance(0.5) {
		add(simulate.Event{What: simulate.NodeNotReady})
	}
	for range pick(r, 0, 1, 1, 2, 4) {
		e := simulate.Event{At: r.at(), What: pick(r, simulate.NodeNotReady, simulate.MaintainNode, simulate.MaintainNode,
			simulate.TaintNode)}
		if r.chance(0.2) {
			e.At = 0
		}
		if e.What == simulate.TaintNode {
			e.Taint = corev1.Taint{Key: pick(r, "karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler",
				corev1.TaintNodeOutOfService, retiringTaint)}
			e.Taint.Effect = pick(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute,
				corev1.TaintEffectPreferNoSchedule)
		}
		add(e)
		if last := &events[len(events)-1]; r.chance(0.2) {
			r.recur(last)
		}
	}
	return events
}
