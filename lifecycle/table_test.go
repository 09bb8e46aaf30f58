package lifecycle_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// rule is one row of the table of transitions in doc.go.
type rule struct {
	line    int
	from    []string
	intent  string
	when    string
	next    string
	then    string
	applied int // how often it was the first row that fits
}

// documented returns the rows of the table in doc.go that begins with header, cut into columns.
func documented(t *testing.T, header ...string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	columns := regexp.MustCompile(`\s{2,}`)
	inside := false
	for line := range strings.Lines(string(text)) {
		row, isCode := strings.CutPrefix(strings.TrimSpace(line), "//\t")
		cells := columns.Split(row, -1)
		switch {
		case isCode && slices.Equal(cells, header):
			inside = true
		case inside && !isCode:
			return rows
		case inside:
			if len(cells) != len(header) {
				t.Fatalf("doc.go: %q has %d columns, want %d", line, len(cells), len(header))
			}
			rows = append(rows, cells)
		}
	}
	t.Fatalf("doc.go has no table %q", header)
	return nil
}

func documentedRules(t *testing.T) (rules []*rule) {
	for i, c := range documented(t, "state", "intent", "if", "next", "then") {
		rules = append(rules, &rule{
			line: i + 1, from: strings.Split(c[0], ", "), intent: c[1], when: c[2], next: c[3], then: c[4],
		})
	}
	return rules
}

// The situations: every state, a value that nobody defined, and each hook in every relation to the pod.
var (
	states = []lifecycle.State{
		"", "Mystery", lifecycle.PreparingNormal, lifecycle.Normal, lifecycle.PreparingUpdate, lifecycle.Updating,
		lifecycle.Updated, lifecycle.PreparingDelete,
	}
	intentions = []lifecycle.Intent{lifecycle.Keep, lifecycle.Delete, lifecycle.Update}
)

// relation of a hook to a pod.
type relation uint8

const (
	noHook relation = iota
	noHandlers
	noneThere
	labelThere
	finalizerThere
	allThere
	relations
)

// hooked makes the hook called name, and gives pod the handlers that are there.
func (r relation) hooked(name string, marks bool, pod *corev1.Pod) *lifecycle.Hook {
	if r == noHook {
		return nil
	}
	hook := &lifecycle.Hook{MarkPodNotReady: marks}
	if r == noHandlers {
		return hook
	}
	hook.Labels = map[string]string{name: "on"}
	hook.Finalizers = []string{"example.com/" + name}
	if r == labelThere || r == allThere {
		pod.Labels[name] = "on"
	}
	if r == finalizerThere || r == allThere {
		pod.Finalizers = append(pod.Finalizers, "example.com/"+name)
	}
	return hook
}

func (r relation) matches() bool { return r == labelThere || r == finalizerThere || r == allThere }
func (r relation) all() bool     { return r == noHook || r == noHandlers || r == allThere }

// situation is one question to Next.
type situation struct {
	state                               lifecycle.State
	intent                              lifecycle.Intent
	complete                            bool
	marks                               bool
	preDelete, inPlaceUpdate, preNormal relation
}

func everySituation(yield func(situation) bool) {
	for _, state := range states {
		for _, intent := range intentions {
			for flags := range 4 {
				for r := range int(relations) * int(relations) * int(relations) {
					n := int(relations)
					s := situation{
						state, intent, flags&1 != 0, flags&2 != 0,
						relation(r % n), relation(r / n % n), relation(r / n / n),
					}
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// plain reports whether each hook is missing, or has all of its handlers on the pod, or none.
func (s situation) plain() bool {
	few := func(r relation) bool { return r == noHook || r == noneThere || r == allThere }
	return few(s.preDelete) && few(s.inPlaceUpdate) && few(s.preNormal)
}

// build makes the hooks and the pod of s. The pod has the readiness gate, and is ready.
func (s situation) build() (lifecycle.Hooks, *corev1.Pod) {
	pod := gatedPod(condition(lifecycle.PodReady, corev1.ConditionTrue, noon), ready(noon))
	if s.state != "" {
		pod.Labels[lifecycle.StateLabel] = string(s.state)
	}
	return lifecycle.Hooks{
		PreDelete:     s.preDelete.hooked("pre-delete", s.marks, pod),
		InPlaceUpdate: s.inPlaceUpdate.hooked("in-place-update", s.marks, pod),
		PreNormal:     s.preNormal.hooked("pre-normal", s.marks, pod),
	}, pod
}

// gatedPod returns a running pod with the readiness gate.
func gatedPod(conditions ...corev1.PodCondition) *corev1.Pod {
	p := running(conditions...)
	p.ObjectMeta = metav1.ObjectMeta{
		Name: "p", UID: "u-1", ResourceVersion: "7", Labels: map[string]string{"app": "agent"},
		Annotations: map[string]string{"theirs": "stays"}, Finalizers: []string{"example.com/theirs"},
	}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{
		{ConditionType: lifecycle.InPlaceUpdateReady}, {ConditionType: lifecycle.PodReady},
	}
	return p
}

// fits evaluates the columns state, intent and if.
func (r *rule) fits(t *testing.T, s situation) bool {
	name := string(s.state)
	switch s.state {
	case "":
		name = "none"
	case "Mystery":
		name = "other"
	}
	if r.intent != s.intent.String() || !slices.Contains(r.from, name) && r.from[0] != "any" {
		return false
	}
	switch r.when {
	case "always", "else":
		return true
	case "update not complete":
		return !s.complete
	case "preDelete matches":
		return s.preDelete.matches()
	case "inPlaceUpdate matches":
		return s.inPlaceUpdate.matches()
	case "inPlaceUpdate all":
		return s.inPlaceUpdate.all()
	case "inPlaceUpdate has any":
		return s.inPlaceUpdate > noHandlers
	case "inPlaceUpdate is nil":
		return s.inPlaceUpdate == noHook
	case "preNormal all":
		return s.preNormal.all()
	}
	t.Fatalf("row %d: unknown condition %q", r.line, r.when)
	return false
}

// ruleOf returns the rule in docs/rules.md that an intent's rows of the table spell out.
func ruleOf(intent lifecycle.Intent) string {
	if intent == lifecycle.Delete {
		return "L2"
	}
	return "L3"
}

// TestTable holds the table in the documentation against every situation there is.
func TestTable(t *testing.T) {
	rules := documentedRules(t)
	count := 0
	for s := range everySituation {
		count++
		hooks, pod := s.build()
		before := pod.DeepCopy()
		got := hooks.Next(pod, s.intent, s.complete)
		var fitting *rule
		for _, r := range rules {
			if r.fits(t, s) {
				fitting = r
				break
			}
		}
		if fitting == nil {
			t.Fatalf("no row for %+v", s)
		}
		fitting.applied++
		if why := fitting.contradicts(s, got); why != "" {
			t.Errorf("%s: %+v: row %d: %s, but got %+v", ruleOf(s.intent), s, fitting.line, why, got)
		}
		if !reflect.DeepEqual(before, pod) {
			t.Fatalf("%+v: the pod was written", s)
		}
	}
	for _, r := range rules {
		if r.applied == 0 {
			t.Errorf("row %d (%v %s %s) never applies", r.line, r.from, r.intent, r.when)
		}
	}
	if want := len(states) * len(intentions) * 4 * 6 * 6 * 6; count != want {
		t.Errorf("%d situations, want %d", count, want)
	}
}

func (r *rule) contradicts(s situation, got lifecycle.Transition) string {
	next := lifecycle.State(r.next)
	if r.next == "same" {
		next = s.state
	}
	if got.From != s.state || got.To != next {
		return fmt.Sprintf("from %q to %q", s.state, next)
	}
	wait, waits := strings.CutPrefix(r.then, "wait: ")
	if !waits {
		wait = "nothing"
	}
	if got.Wait.String() != wait {
		return "waits for " + wait
	}
	verbs := map[string]lifecycle.Intent{"delete": lifecycle.Delete, "update": lifecycle.Update}
	verb, proceeds := verbs[r.then]
	if got.Proceed != proceeds || proceeds && got.Intent != verb {
		return fmt.Sprintf("proceeds: %v with %v", proceeds, verb)
	}
	if !waits && !proceeds && r.then != "-" {
		return fmt.Sprintf("nothing is known of %q", r.then)
	}
	return ""
}

// An intent that is not defined changes nothing that was not under way.
func TestUndefinedIntentIsKeep(t *testing.T) {
	for s := range everySituation {
		if s.intent != lifecycle.Keep {
			continue
		}
		hooks, pod := s.build()
		want, got := hooks.Next(pod, lifecycle.Keep, s.complete), hooks.Next(pod, 77, s.complete)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v: %+v, want %+v", s, got, want)
		}
	}
}

// A pod that is not there has no next step, whatever is wanted with it.
func TestNextOfNoPod(t *testing.T) {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{Labels: labels{"d": "on"}, MarkPodNotReady: true}}
	for _, intent := range intentions {
		for _, complete := range []bool{false, true} {
			if got := hooks.Next(nil, intent, complete); !reflect.DeepEqual(got, lifecycle.Transition{}) {
				t.Errorf("intent %v, complete %v: %+v", intent, complete, got)
			}
		}
	}
}

// TestMarksTable holds the second table of the documentation: with every one of the three messages there or not, what
// becomes of it.
func TestMarksTable(t *testing.T) {
	rows := documented(t, "message of", "set in", "left in")
	if len(rows) != len(ours) {
		t.Fatalf("%d rows, want one for each message", len(rows))
	}
	for s := range everySituation {
		if !s.plain() {
			continue // which handlers are there matters only by what Next makes of it
		}
		for there := range 1 << len(ours) {
			hooks, pod := s.build()
			var before []lifecycle.Message
			for i, m := range ours {
				if there>>i&1 != 0 {
					before = append(before, m)
				}
			}
			before = append(before, theirs)
			setMessages(pod, before...)
			step := hooks.Next(pod, s.intent, s.complete)
			want := []lifecycle.Message{theirs}
			goes := step.Proceed && step.Intent == lifecycle.Delete
			for i, hook := range []*lifecycle.Hook{hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal} {
				was := there>>i&1 != 0
				setIn, leftIn := rows[i][1] == string(step.To), slices.Contains(strings.Split(rows[i][2], ", "), string(step.To))
				set := !goes && setIn && hook != nil && hook.MarkPodNotReady
				if set || was && (goes || leftIn) {
					want = append(want, ours[i])
				}
			}
			after := mustSend(t, pod, step.Patches(pod, noon)...)
			later := step.Mark == lifecycle.ClearMark || step.Mark == lifecycle.SetMark && step.From == lifecycle.PreparingDelete
			if later && sameMessages(messages(t, after), before) { // left to the next step
				after = mustSend(t, after, hooks.Next(after, s.intent, s.complete).Patches(after, noon)...)
			}
			if got := messages(t, after); !sameMessages(got, want) {
				t.Fatalf("%+v, messages %v: afterwards %v, want %v (%+v)", s, before, got, want, step)
			}
			wantMark := lifecycle.KeepMark
			if !sameMessages(before, want) {
				wantMark = lifecycle.ClearMark
				for i, m := range ours {
					if rows[i][1] == string(step.To) && slices.Contains(want, m) {
						wantMark = lifecycle.SetMark
					}
				}
			}
			if step.Mark != wantMark {
				t.Fatalf("%+v, messages %v: mark %v, want %v", s, before, step.Mark, wantMark)
			}
		}
	}
}
