package simulation

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// places count the unavailable nodes by the label of a domain (B10), in a run of any spec: what the policy of one spec bounds is
// to be seen in the runs of those without it, too.
type places struct {
	bounded bounded
	// Worst is the value that had most unavailable nodes at once, and Most in how many values there were such nodes at once, but
	// for those that were down anyway: their kubelet is silent, or they were so when they were seen first, and have not served
	// since.
	Worst place
	Most  int

	cells *domain.Cells     // of this domain alone
	nodes map[string]placed // that the domain selects
	now   []place           // by the ordinal of the value
}

// bounded is a domain, with what policies bound of it.
type bounded struct {
	domain.Domain
	nodes, values bool
}

// place is one value of the label, with how many of its nodes are to run the pod, and how many of these are unavailable.
type place struct {
	Value              string
	Nodes, Unavailable int

	disturbed int // unavailable nodes that were not down anyway
}

// placed is how a node counts, for the value of that ordinal.
type placed struct {
	value             int32
	desired, lacksPod bool
	// down: it has not served since it was seen first. disturbed: it lacks a pod, and would have one but for the rollout.
	down, disturbed bool
}

// domains are those that the policies of the candidates have, each once.
func (e *experiment) domains() []bounded {
	var list []bounded
	for _, c := range e.Candidates {
		for _, d := range c.Set.Spec.Strategy.Policy.Domains {
			same := func(b bounded) bool { return b.Key == d.Key && reflect.DeepEqual(b.Selector, d.Selector) }
			i := slices.IndexFunc(list, same)
			if i < 0 {
				i = len(list)
				list = append(list, bounded{Domain: d})
			}
			list[i].nodes = list[i].nodes || d.Max != nil
			list[i].values = list[i].values || d.AtOnce > 0
		}
	}
	return list
}

// newPlaces watches the domains. It leaves out those with mistakes, because the run will refuse them.
func newPlaces(list []bounded) []*places {
	var all []*places
	for _, d := range list {
		if compiled, err := domain.Compile([]domain.Domain{d.Domain}); err == nil {
			all = append(all, &places{bounded: d, cells: compiled.NewCells()})
		}
	}
	return all
}

// look counts the nodes that changed. If labels may have changed, it counts all anew.
func (p *places) look(s *simulate.Simulation, changed []string, labels bool) {
	if labels {
		before := p.nodes
		p.nodes = map[string]placed{}
		clear(p.now)
		for _, node := range s.Nodes() {
			if value := p.cells.Value(p.cells.Of(node.Labels), 0); value != domain.None {
				was, known := before[node.Name]
				p.set(node.Name, value, s.NodeState(node.Name), !known || was.down)
			}
		}
	} else {
		for _, name := range changed {
			if node, counts := p.nodes[name]; counts {
				p.set(name, node.value, s.NodeState(name), node.down)
			}
		}
	}
	places := 0
	for value := range p.now {
		if now := &p.now[value]; now.Unavailable > 0 {
			places += one(now.disturbed > 0)
			if now.Unavailable > p.Worst.Unavailable {
				p.Worst = *now
				p.Worst.Value = p.cells.Values()[value].Text
			}
		}
	}
	p.Most = max(p.Most, places)
}

// set counts a node in its present state, and no longer in the one before. down: it has not served so far.
func (p *places) set(name string, value int32, state simulate.NodeState, down bool) {
	for len(p.now) <= int(value) {
		p.now = append(p.now, place{})
	}
	before := p.nodes[name]
	after := placed{value: value, desired: state > simulate.NodeOutside}
	after.lacksPod = after.desired && !state.Serving()
	after.down = down && after.lacksPod
	after.disturbed = after.lacksPod && !after.down && state != simulate.NodeLost
	p.now[value].disturbed += one(after.disturbed) - one(before.disturbed)
	p.now[value].Nodes += one(after.desired) - one(before.desired)
	p.now[value].Unavailable += one(after.lacksPod) - one(before.lacksPod)
	p.nodes[name] = after
}

// places adds what the domains of the policies bound: most unavailable nodes of one value, and most values with such nodes.
func (t *comparison) places() {
	for i, p := range t.outcomes[0].Traces[0].Places {
		of := ""
		if p.bounded.Selector != nil {
			of = " of " + text.Printable(metav1.FormatLabelSelector(p.bounded.Selector))
		}
		key := text.Printable(p.bounded.Key)
		switch all := of == ""; {
		case !p.bounded.nodes, all && key == "", all && key == corev1.LabelTopologyZone: // there is a line of it
		case key == "":
			t.line("  most"+of, func(o *outcome) string { return o.worstPlace(i) })
		default:
			t.line("  most in one "+key+of, func(o *outcome) string { return o.worstPlace(i) })
		}
		if p.bounded.values {
			t.traced("  "+key+of+" at once", counted("value", "values"), func(o *outcome, seed int) (float64, bool) {
				return float64(o.Traces[seed].Places[i].Most), true
			})
		}
	}
}

// worstPlace shows the value that had most nodes unavailable at once, in any run.
func (o *outcome) worstPlace(domain int) string {
	var worst place
	for _, t := range o.Traces {
		if p := t.Places[domain].Worst; p.Unavailable > worst.Unavailable {
			worst = p
		}
	}
	if worst.Unavailable == 0 {
		return "-"
	}
	of := fmt.Sprintf("%s of %s", asCount(float64(worst.Unavailable)), text.Counted(worst.Nodes, "node"))
	switch key := o.Traces[0].Places[domain].bounded.Key; {
	case key == "":
		return of
	case worst.Value == "":
		return of + " without the label"
	}
	return of + " in " + text.Printable(worst.Value)
}
