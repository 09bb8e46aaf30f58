package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/status"
)

// unmet is an expectation that does not hold: what was and what was expected, and all that helps to see why.
type unmet struct {
	what  []string
	about []string
}

func (u unmet) Error() string {
	return strings.Join(append([]string{strings.Join(u.what, "; ")}, u.about...), "\n\t")
}

// expect: expect status|actions|decision|explain|canary|part|parts|pod|event …, each of which says for itself what it takes.
func (s *stage) expect(a *arguments) error {
	switch about := a.next(); about {
	case "status":
		return s.expectStatus(a)
	case "actions":
		return s.expectActions(a)
	case "decision":
		return s.expectDecision(a)
	case "explain":
		return s.expectExplain(a)
	case "canary":
		return s.expectCanary(a)
	case "part":
		return s.expectPart(a)
	case "parts":
		return s.expectParts(a)
	case "pod":
		return s.expectPod(a)
	case "event":
		return s.expectEvent(a, atLeastOne)
	case "no":
		if a.next() != "event" {
			return errors.New("only events can be expected not to be")
		}
		return s.expectEvent(a, "=0")
	default:
		return fmt.Errorf("nothing can be expected of %q", about)
	}
}

// current is the plan that expectations are about: the one shown last, or if something has happened since one of now.
func (s *stage) current() (rollout.Plan, error) {
	if s.shown != nil {
		return *s.shown, nil
	}
	plan, _, err := s.plan()
	return plan, err
}

// expectStatus: expect status [desired=4] [current=…] [ready=…] [updated>=2] [available<=3] [unavailable=…]
// [misscheduled=…] [state=Updating] [reason=…] [wake=none|30s].
func (s *stage) expectStatus(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	st := &plan.Status
	wake := "none"
	if !plan.NextWake.IsZero() {
		wake = plan.NextWake.Sub(s.cluster.Now()).String()
	}
	e := expectation{}
	nodes := map[string]func(*rollout.Decision) bool{}
	for _, c := range []struct {
		key   string
		value int32
		facts status.Facts
	}{
		{"desired", st.Desired, status.Desired}, {"current", st.Current, status.Desired | status.Present},
		{"ready", st.Ready, status.Desired | status.Present | status.Ready},
		{"updated", st.Updated, status.Desired | status.Present | status.Updated},
		{"available", st.Available, status.Desired | status.Present | status.Ready | status.Available},
	} {
		e.number(c.key, int(c.value))
		nodes[c.key] = func(d *rollout.Decision) bool { return d.Facts.Has(c.facts) }
	}
	e.number("unavailable", int(st.Unavailable))
	nodes["unavailable"] = func(d *rollout.Decision) bool {
		return d.Facts.Has(status.Desired) && !nodes["available"](d)
	}
	e.number("misscheduled", int(st.Misscheduled))
	nodes["misscheduled"] = func(d *rollout.Decision) bool {
		return d.Facts.Has(status.Present) && !d.Facts.Has(status.Desired)
	}
	e.code("state", st.State.String(), codes[status.SetState]())
	e.code("reason", st.Reason.String(), codes[status.ConditionReason]())
	e.word("wake", wake)
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	return s.unmet(plan, failed, func(d *rollout.Decision) bool {
		return slices.ContainsFunc(failed, func(f miss) bool {
			counts, ok := nodes[f.key]
			if !ok { // a word: those that have something before them
				return d.Verb != rollout.VerbNone
			}
			// Too many: those that count. Too few: those that do not, although they are to run the pod.
			return counts(d) == f.over && (f.over || d.Facts.Has(status.Desired))
		})
	})
}

// expectActions: expect actions none, or expect actions [creates=1] [deletes<=2] [patches=…] [pulls=…] [revisions=…].
//
// They are those of the last step, run, ramp or install of the stanza, taken together; without one those that a plan would
// hold now.
func (s *stage) expectActions(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	plans := s.made
	if plans == nil {
		plans = []rollout.Plan{plan}
	}
	kinds := []string{"creates", "deletes", "patches", "pulls", "revisions"}
	counts, on := map[string]int{}, map[string][]string{}
	var did []string
	for i := range plans {
		p := &plans[i]
		for kind, n := range map[string]int{
			"creates": len(p.Creates), "deletes": len(p.Deletes), "patches": len(p.Patches), "pulls": len(p.Pulls),
			"revisions": len(p.Revisions),
		} {
			counts[kind] += n
		}
		for j := range p.Decisions {
			d := &p.Decisions[j]
			for kind, n := range map[string]int32{
				"creates": d.Creates, "deletes": d.Deletes, "patches": d.Patches, "pulls": d.Pulls,
			} {
				if n > 0 {
					on[kind] = append(on[kind], d.Node)
				}
			}
		}
		did = append(did, s.actions(*p)...)
	}
	if i := slices.Index(*a, "none"); i >= 0 {
		*a = slices.Delete(*a, i, i+1)
		for _, kind := range kinds {
			*a = append(*a, kind+"=0")
		}
	}
	e := expectation{}
	for _, kind := range kinds {
		e.number(kind, counts[kind])
	}
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	met := s.unmet(plan, failed, func(d *rollout.Decision) bool {
		return slices.ContainsFunc(failed, func(f miss) bool {
			if f.over {
				return slices.Contains(on[f.key], d.Node)
			}
			return d.Verb == rollout.VerbWait || d.Verb == rollout.VerbHold
		})
	})
	met.about = append(few(did, "actions"), met.about...)
	return met
}

// expectDecision: expect decision NODE [state=outdated] [target=update] [verb=wait] [reason=Budget] [limit=maxUnavailable]
// [unavailable=true] [surging=true] [exempt=true] [canary=true] [failed=true] [part=zones=b] [pod=NAME].
func (s *stage) expectDecision(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	node := a.next()
	d, err := decisionOf(plan, node)
	if err != nil {
		return err
	}
	e := expectation{}
	e.code("state", d.State.String(), codes[rollout.NodeState]())
	e.code("target", d.Target.String(), codes[rollout.Target]())
	e.code("verb", d.Verb.String(), codes[rollout.Verb]())
	e.code("reason", d.Reason.String(), codes[rollout.Reason]())
	e.code("limit", d.Limit.String(), codes[rollout.Limit]())
	truths := []string{"true", "false"}
	e.code("unavailable", strconv.FormatBool(d.Unavailable), truths)
	e.code("surging", strconv.FormatBool(d.Surging), truths)
	e.code("exempt", strconv.FormatBool(d.Exempt()), truths)
	e.code("canary", strconv.FormatBool(d.Canary), truths)
	e.code("failed", strconv.FormatBool(d.Failed), truths)
	e.word("part", partOf(plan, d))
	e.word("pod", d.Pod)
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	return s.unmet(plan, failed, func(d *rollout.Decision) bool { return d.Node == node })
}

// decisionOf is what the plan decides about the node; one about a node without a name cannot be asked for.
func decisionOf(plan rollout.Plan, node string) (*rollout.Decision, error) {
	i := slices.IndexFunc(plan.Decisions, func(d rollout.Decision) bool { return d.Node == node && node != "" })
	if i < 0 {
		return nil, fmt.Errorf("nothing is decided about a node %q", node)
	}
	return &plan.Decisions[i], nil
}

// expectExplain: expect explain NODE contains|lacks "some words"….
func (s *stage) expectExplain(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	node := a.next()
	if _, err := decisionOf(plan, node); err != nil {
		return err
	}
	text := s.named(plan.Explain(node))
	var failures []miss
	for n := 0; ; n++ {
		verb := a.next()
		if verb == "" {
			if n == 0 {
				return errors.New("what the explanation contains or lacks is not said")
			}
			break
		}
		words := unquoted(a.next())
		switch {
		case verb != "contains" && verb != "lacks":
			return fmt.Errorf("an explanation contains or lacks words, it does not %q", verb)
		case words == "":
			return fmt.Errorf("the words after %s are missing", verb)
		case strings.Contains(text, words) != (verb == "contains"):
			failures = append(failures, miss{what: fmt.Sprintf("the explanation %s %q", opposite(verb), words)})
		}
	}
	if len(failures) == 0 {
		return nil
	}
	met := s.unmet(plan, failures, func(*rollout.Decision) bool { return false })
	met.about = append(met.about, strings.Split(text, "\n")...)
	return met
}

func opposite(verb string) string {
	if verb == "contains" {
		return "lacks"
	}
	return "contains"
}

// expectCanary: expect canary [phase=Running] [reason=Observing] [nodes=a,b|none] [revision=r2] [stable=r1].
func (s *stage) expectCanary(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	c := &plan.Canary
	e := expectation{}
	e.code("phase", c.Phase.String(), codes[canary.Phase]())
	e.code("reason", c.Reason.String(), codes[canary.PhaseReason]())
	e.word("nodes", cmp.Or(strings.Join(c.Nodes, ","), "none"))
	e.word("revision", s.revision(c.Revision))
	e.word("stable", s.revision(c.Stable))
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	met := s.unmet(plan, failed, func(d *rollout.Decision) bool { return d.Canary })
	met.about = append(met.about, "canary: "+s.named(c.Message()))
	return met
}

// expectPod: expect pod POD|NODE [revision=r2|update] [status=Ready] [restarts<=1] [image=agent:v2].
func (s *stage) expectPod(a *arguments) error {
	plan, err := s.current()
	if err != nil {
		return err
	}
	p, err := s.findPod(a.next())
	if err != nil {
		return err
	}
	restarts := 0
	for i := range p.Status.ContainerStatuses {
		restarts += int(p.Status.ContainerStatuses[i].RestartCount)
	}
	image := ""
	if len(p.Spec.Containers) > 0 {
		image = p.Spec.Containers[0].Image
	}
	revision := s.revisionOf(p)
	if i := slices.Index(*a, "revision=update"); i >= 0 {
		(*a)[i] = "revision=" + s.revision(plan.Status.UpdateRevision)
	}
	e := expectation{}
	e.word("revision", revision)
	e.word("status", podStatus(p))
	e.number("restarts", restarts)
	e.word("image", image)
	failed, err := e.check(a)
	if err != nil || len(failed) == 0 {
		return err
	}
	return s.unmet(plan, failed, func(d *rollout.Decision) bool { return d.Node == nodeOf(p) })
}

// atLeastOne is how often an event is expected if nothing is said.
const atLeastOne = ">=1"

// expectEvent: expect event KIND [node=a] [object=NAME] [count=2], expect no event KIND [node=a] [object=NAME]. KIND is that of
// harness.EventKind, with hyphens for spaces. It is about what has happened since the stanza began.
func (s *stage) expectEvent(a *arguments, count string) error {
	kind := a.next()
	kinds := codes[harness.EventKind]()
	for i := range kinds {
		kinds[i] = strings.ReplaceAll(kinds[i], " ", "-")
	}
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("there is no event %q; there are %s", kind, strings.Join(kinds, ", "))
	}
	node, object := a.named("node"), a.named("object")
	found, all := 0, []string{}
	for _, event := range s.cluster.Events()[s.events:] {
		all = append(all, event.String())
		if event.Kind == harness.EventKind(slices.Index(kinds, kind)) && (node == "" || event.Node == node) &&
			(object == "" || event.Object == object) {
			found++
		}
	}
	i := slices.IndexFunc(*a, func(word string) bool { return strings.HasPrefix(word, "count") })
	switch {
	case i >= 0 && count == atLeastOne:
		count = strings.TrimPrefix((*a)[i], "count")
		*a = slices.Delete(*a, i, i+1)
	case len(*a) > 0:
		return a.rest()
	}
	e := expectation{}
	e.number(kind, found)
	failed, err := e.check(&arguments{kind + count})
	if err != nil || len(failed) == 0 {
		return err
	}
	plan, err := s.current()
	if err != nil {
		return err
	}
	met := s.unmet(plan, failed, func(d *rollout.Decision) bool { return d.Node == node })
	met.about = append(few(all, "events"), met.about...)
	return met
}
