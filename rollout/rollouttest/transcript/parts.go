package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	fleetstage "github.com/daemonplan/daemonplan/rollout/stage"
)

// Stages of the fleet, which a revision is rolled out to in turn (T8), and their parts.

// stagesOf reads a list such as ring-0:selector=ring=0:soak=1h,zones:key=zone:tolerance=1:approval. The word none takes the
// stages away, with the approvals.
func stagesOf(value string) (kit.SpecOption, error) {
	if value == none {
		return func(s *rollout.Spec) { s.Strategy.Policy.Stages, s.Strategy.Policy.Approved = nil, nil }, nil
	}
	var list []fleetstage.Stage
	for text := range strings.SplitSeq(value, ",") {
		stage, err := stageOf(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		list = append(list, stage)
	}
	return func(s *rollout.Spec) { s.Strategy.Policy.Stages = list }, nil
}

func stageOf(text string) (fleetstage.Stage, error) {
	words := strings.Split(text, ":")
	s := fleetstage.Stage{Name: words[0]}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "selector":
			key, of, ok := strings.Cut(value, "=")
			if !ok {
				return s, fmt.Errorf("%s must be selector=key=value", word)
			}
			s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: of}}
		case "key":
			s.Key = value
		case "tolerance":
			s.Tolerance = new(intstr.Parse(value))
		case "soak":
			var err error
			if s.Soak, err = time.ParseDuration(value); err != nil {
				return s, err
			}
		case "approval":
			if word != field {
				return s, errors.New("approval takes no value")
			}
			s.Approval = true
		default:
			return s, fmt.Errorf("there is no %s; there are selector, key, tolerance, soak and approval", field)
		}
	}
	return s, nil
}

// none takes away what is there.
const none = "none"

// approve: approve STAGE[=VALUE] r2, or approve none. Adds an approval to those that stand in the spec, or takes all back.
func (s *stage) approve(a *arguments) error {
	spec := s.cluster.Spec().Default()
	switch part := a.next(); part {
	case none:
		spec.Strategy.Policy.Approved = nil
	default:
		revision := a.next()
		if revision == "" {
			return errors.New("which stage is approved for which revision is not said, as in approve zones=b r2")
		}
		name, value, _ := strings.Cut(part, "=")
		kit.Approve(fleetstage.Approval{Stage: name, Value: value, Revision: s.hashed(revision)})(&spec)
	}
	spec.Generation++
	return s.cluster.SetSpec(spec)
}

// expedite: expedite r2|none. The revision passes the stages from now on, or none does.
func (s *stage) expedite(a *arguments) error {
	revision := unquoted(a.next())
	switch revision {
	case "":
		return errors.New("which revision is expedited is not said")
	case none:
		revision = ""
	}
	spec := s.cluster.Spec().Default()
	spec.Strategy.Policy.Expedite = s.hashed(revision)
	spec.Generation++
	return s.cluster.SetSpec(spec)
}

// staged reports whether the set has stages.
func (s *stage) staged() bool { return len(s.cluster.Spec().Strategy.Policy.Stages) > 0 }

// partName is what a part is called: zones=b, zones= for the nodes without the label, ring-0 for a stage without a key, and rest
// for the nodes that no stage selects.
func partName(p *rollout.PartState) string {
	name := cmp.Or(p.Stage, "rest")
	if p.Key != "" {
		name += "=" + p.Value
	}
	return name
}

// partsState is how the parts stand, in a word for each.
func partsState(plan rollout.Plan) string {
	if len(plan.Parts) == 0 {
		return none
	}
	var list []string
	for i := range plan.Parts {
		list = append(list, partName(&plan.Parts[i])+" "+plan.Parts[i].Phase.String())
	}
	return strings.Join(list, ", ")
}

// parts shows how each part stands. Nothing is executed.
func (s *stage) parts(*arguments) error {
	plan, _, err := s.plan()
	if err != nil {
		return err
	}
	if len(plan.Parts) == 0 {
		s.printf("no part is judged")
		return nil
	}
	rows := [][]string{{
		"PART", "PHASE", "NODES", "HELD", "EXEMPT", "SETTLED", "UNAVAILABLE", "BEHIND", "DONE", "UNTIL", "KEPT BY",
	}}
	for i := range plan.Parts {
		p := &plan.Parts[i]
		row := []string{partName(p), p.Phase.String()}
		for _, n := range []int32{p.Nodes, p.Held, p.Exempt, p.Settled, p.Unavailable, p.Behind} {
			row = append(row, strconv.Itoa(int(n)))
		}
		rows = append(rows, append(row, clockOr(p.Done), clockOr(p.Until), orNone(strings.Join(p.Blocking, ","))))
	}
	s.table(rows...)
	s.staleApprovals(plan)
	return nil
}

// clockOr is the time of day; none if there is none.
func clockOr(at time.Time) string {
	if at.IsZero() {
		return orNone("")
	}
	return clock(at)
}

func (s *stage) staleApprovals(plan rollout.Plan) {
	for _, stale := range plan.StaleApprovals {
		part := rollout.PartState{Stage: stale.Stage, Key: stale.Value, Value: stale.Value}
		s.printf("stale approval: %s for %s", partName(&part), s.revision(stale.Revision))
	}
}

// expectPart: expect part NAME [phase=Open] [nodes=3] [held=0] [exempt=0] [settled=1] [unavailable=0] [behind=2]
// [keptBy=a,b|none].
func (s *stage) expectPart(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	name := a.next()
	i := slices.IndexFunc(plan.Parts, func(p rollout.PartState) bool { return partName(&p) == name })
	if i < 0 {
		return fmt.Errorf("there is no part %q; there is %s", name, partsState(plan))
	}
	p := &plan.Parts[i]
	e := expectation{}
	e.code("phase", p.Phase.String(), codes[fleetstage.Phase]())
	for _, n := range []struct {
		key   string
		value int32
	}{
		{"nodes", p.Nodes}, {"held", p.Held}, {"exempt", p.Exempt}, {"settled", p.Settled}, {"unavailable", p.Unavailable},
		{"behind", p.Behind},
	} {
		e.number(n.key, int(n.value))
	}
	e.word("keptBy", cmp.Or(strings.Join(p.Blocking, ","), none))
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	met := s.unmet(plan, failed, func(d *rollout.Decision) bool {
		return slices.Contains(p.Blocking, d.Node) || d.Part == int32(i+1)
	})
	met.about = append(met.about, "parts: "+partsState(plan))
	return met
}

// expectParts: expect parts none. No part is judged.
func (s *stage) expectParts(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	if word := a.next(); word != none {
		return fmt.Errorf("of all parts only none can be expected, not %q", word)
	}
	if len(plan.Parts) > 0 {
		judged := []miss{{what: "parts are judged: " + partsState(plan)}}
		return s.unmet(plan, judged, func(*rollout.Decision) bool { return false })
	}
	return nil
}

// partOf is the part that a node waits for; none if it waits for none.
func partOf(plan rollout.Plan, d *rollout.Decision) string {
	if d.Part <= 0 || int(d.Part) > len(plan.Parts) {
		return none
	}
	return partName(&plan.Parts[d.Part-1])
}
