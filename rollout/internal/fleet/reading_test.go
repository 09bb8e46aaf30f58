package fleet_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// TestFactsOfEarlierReadings: whatever happens to a fleet between two readings, the facts are what a naive oracle reads off the
// objects, with facts of the reading before as well as with those of the first one.
func TestFactsOfEarlierReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { drawHistory(t, readBoth) })
}

// TestFactsOfEarlierClaims: likewise, if the pods of the set are claimed among others, with the claims of earlier readings. A newer
// version of a pod may belong to the set though the one before did not, and the other way round.
func TestFactsOfEarlierClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawHistory(t, func(_ *state, earlier reading, now *state) (reading, error) {
			return claimAndRead(earlier, now, claimOf)
		}, owned)
	})
}

// claimOf is how a pod belongs to the set.
func claimOf(p *corev1.Pod) fleet.Claim {
	if strings.HasPrefix(p.Name, "q") {
		return fleet.Foreign
	}
	return fleet.Owned
}

// owned is the state with the pods of the set only.
func owned(s *state) *state {
	own := &state{rules: s.rules, nodes: s.nodes}
	for _, p := range s.pods {
		if claimOf(p) != fleet.Foreign {
			own.pods = append(own.pods, p)
		}
	}
	return own
}

func claimAndRead(earlier reading, now *state, claim func(*corev1.Pod) fleet.Claim) (reading, error) {
	nodes, err := fleet.ReadNodes(earlier.nodes, now.rules, now.nodes)
	if err != nil {
		return reading{}, err
	}
	claims, pods, err := fleet.ReadClaimed(earlier.claims, earlier.pods, now.rules, nodes, fleet.Claimer{Claim: claim}, now.pods)
	if err != nil {
		return reading{}, err
	}
	return reading{nodes, pods, claims}, nil
}

// TestKnownObjectsAreNotRead: of objects that are in earlier facts nothing is looked at. Here they are changed in place, which no
// caller may do, and the facts stay what they were; other versions and new objects are read.
func TestKnownObjectsAreNotRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		before, err := readBoth(nil, reading{}, s)
		if err != nil {
			return
		}
		want := written(before)
		before = keepsFacts(t, s, before)
		next := change(t, s)
		facts, err := naive(next)
		for _, n := range s.nodes {
			n.Labels = map[string]string{"zone": "changed in place"}
		}
		for _, p := range s.pods {
			p.Labels, p.Status = map[string]string{}, corev1.PodStatus{Phase: corev1.PodSucceeded}
		}
		if got := written(before); !reflect.DeepEqual(got, want) {
			t.Fatalf("facts have changed: %+v, not %+v", got, want)
		}
		if err != nil || next.rules != s.rules {
			return
		}
		after, err := readBoth(s, before, next)
		if err != nil || !reflect.DeepEqual(written(after), facts) {
			t.Fatalf("%v: %+v\nnot\n%+v", err, written(after), facts)
		}
		keepsFacts(t, next, after)
	})
}

// keepsFacts reads the objects of the state again with earlier facts of them, each time in another order. The first time, the
// facts get their tables of pointers. From then on, a reading returns the very facts that it is given. It returns these.
func keepsFacts(t *rapid.T, s *state, earlier reading) reading {
	again := func(earlier reading) reading {
		r, err := readBoth(s, earlier, &state{s.rules, rapid.Permutation(s.nodes).Draw(t, "nodes"), rapid.Permutation(s.pods).Draw(t, "pods")})
		if err != nil {
			t.Fatalf("the same objects in another order give an error: %v", err)
		}
		return r
	}
	indexed := again(earlier)
	if !reflect.DeepEqual(written(indexed), written(earlier)) {
		t.Fatalf("the same objects in another order give other facts: %+v, not %+v", written(indexed), written(earlier))
	}
	if again(indexed) != indexed {
		t.Fatal("facts with their tables are read anew, though no object is new")
	}
	return indexed
}

// TestManyObjects: lists that are longer than a block, of names that are sorted byte by byte, are read as short ones.
func TestManyObjects(t *testing.T) {
	for _, n := range []int{63, 64, 65, 300, 1000} {
		s := &state{rules: compiled(t, &fleet.Rules{
			Template:     &corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}},
			NodeSelector: labels.Everything(), CanaryLabel: "canary",
		})}
		for i := range n {
			name := fmt.Sprintf("worker-%x.internal", i*7919%n)
			s.nodes = append(s.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": string(rune('a' + i%2))}}})
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + name, UID: types.UID("uid-" + name)}}
			p.Spec.NodeName = fmt.Sprintf("worker-%x.internal", (i+n/2)%(n+1)) // one is nowhere
			p.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: fmt.Sprint("v", i%3)}
			p.Status.Phase = corev1.PodRunning
			s.pods = append(s.pods, p)
		}
		var earlier reading
		for _, turn := range []string{"all anew", "unchanged", "a tenth is new", "half go", "twice as many come", "all but one go", "others come"} {
			switch turn {
			case "a tenth is new":
				for i := 0; i < n; i += 10 {
					s.nodes[i], s.pods[n-1-i] = s.nodes[i].DeepCopy(), s.pods[n-1-i].DeepCopy()
				}
			case "half go":
				s.nodes, s.pods = s.nodes[n/4:], s.pods[n/2:]
			case "twice as many come":
				for i := range 2 * n {
					p := s.pods[i%len(s.pods)].DeepCopy()
					p.UID = types.UID(fmt.Sprint(turn, i))
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = fmt.Sprint("w", i%2)
					s.pods = append(s.pods, p)
				}
			case "all but one go":
				s.pods = s.pods[len(s.pods)-1:]
			case "others come":
				for i, node := range s.nodes {
					p := s.pods[0].DeepCopy()
					p.UID, p.Spec.NodeName = types.UID(fmt.Sprint(turn, i)), node.Name
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = fmt.Sprint("x", i%5)
					s.pods = append(s.pods, p)
				}
			}
			want, wantErr := naive(s)
			got, err := readBoth(s, earlier, s)
			if diff := differ(got, want, err, wantErr); diff != "" {
				t.Fatalf("%d nodes, %s: %.2000s", n, turn, diff)
			}
			if turn == "all anew" && !inOrderOfNodes(got.pods) {
				t.Errorf("%d nodes: the pods that are read are not in the order of their nodes", n)
			}
			earlier = got
		}
	}
}

// inOrderOfNodes reports whether the pods are in the order of their nodes, with those on no known node behind them.
func inOrderOfNodes(pods *fleet.Pods) bool {
	last := int32(0)
	for i := range int32(pods.List.Len()) {
		switch node := pods.List.At(i).NodeOrdinal; {
		case node == fleet.None:
			last = math.MaxInt32
		case node < last:
			return false
		default:
			last = node
		}
	}
	return true
}

// state is what facts are read from.
type state struct {
	rules *fleet.Rules
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

type reading struct {
	nodes  *fleet.Nodes
	pods   *fleet.Pods
	claims *fleet.Claims // nil: the pods were claimed before
}

func readBoth(_ *state, earlier reading, now *state) (reading, error) {
	nodes, err := fleet.ReadNodes(earlier.nodes, now.rules, now.nodes)
	if err != nil {
		return reading{}, err
	}
	pods, err := fleet.ReadPods(earlier.pods, now.rules, nodes, now.pods)
	if err != nil {
		return reading{}, err
	}
	return reading{nodes: nodes, pods: pods}, nil
}

func drawState(t *rapid.T) *state {
	s := &state{rules: rules(t)}
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		s.nodes = append(s.nodes, node(t, i))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
		s.pods = append(s.pods, pod(t, i))
	}
	return s
}

// drawHistory draws states that follow each other, and compares what read makes of each with what the naive oracle does of what it
// is to see of it; without see, of all.
func drawHistory(t *rapid.T, read func(*state, reading, *state) (reading, error), see ...func(*state) *state) {
	now := drawState(t)
	var before *state
	var facts, first reading
	for step := range rapid.IntRange(2, 8).Draw(t, "steps") {
		if step > 0 {
			now = change(t, now)
		}
		seen := now
		for _, part := range see {
			seen = part(now)
		}
		want, wantErr := naive(seen)
		for _, earlier := range []reading{first, facts} {
			got, err := read(before, earlier, now)
			if diff := differ(got, want, err, wantErr); diff != "" {
				t.Fatalf("step %d: %s", step, diff)
			}
			if err == nil {
				facts = got
			}
		}
		if step == 0 {
			first = facts
		}
		before = now
	}
}

// differ says how facts differ from those of the oracle; "" if they do not.
func differ(got reading, want []any, err, wantErr error) string {
	switch {
	case unquoted(err) != unquoted(wantErr):
		return fmt.Sprintf("%v, not %v", err, wantErr)
	case err == nil && !reflect.DeepEqual(written(got), want):
		return fmt.Sprintf("%+v\nnot\n%+v", written(got), want)
	default:
		return ""
	}
}

// unquoted is an error without the name or UID that it cites, because of several that are there twice any may be cited.
func unquoted(err error) string {
	before, _, _ := strings.Cut(fmt.Sprint(err), `"`)
	return before
}

// nodeFacts and podFacts are facts with what ordinals stand for in their places.
type nodeFacts struct {
	Object     *corev1.Node
	Name       string
	Verdict    placement.Verdict
	Effect     placement.Overridden
	Unselected bool
	Domains    []string // its value in each domain, with "=" before it; "" where none selects it
	Part       stage.Part
	Pods       []podFacts
	Plain      string // the hash of its plain pod, "none" or "more"
}

type podFacts struct {
	Object     *corev1.Pod
	Name, Hash string
	ReadySince time.Time
	Traits     fleet.Traits
}

// cellOf are the values of a cell in each domain.
func cellOf(cells *domain.Cells, cell int32, domains int) (list []string) {
	for i := range int32(domains) {
		text := ""
		if v := cells.Value(cell, i); v != domain.None {
			text = "=" + cells.Values()[v].Text
		}
		list = append(list, text)
	}
	return list
}

// opened is what a judgement finds if all of these nodes are settled: by it the table of parts shows of which stages it is.
func opened(parts *stage.Parts, of []int32) []any {
	if parts == nil {
		return []any{nil}
	}
	in := stage.Input{Now: noon, Revision: "v1", Counts: make([]stage.Count, parts.Len())}
	for _, part := range of {
		in.Counts[part].Nodes++
		in.Counts[part].Settled++
	}
	j := stage.Judge(parts, in)
	return []any{j.Frontier, j.Wake, j.Completed}
}

// written are all facts: how many nodes run the pod, how many hashes there are, the nodes, the pods on none of them, and how the
// stages stand.
func written(r reading) []any {
	hashes, seen := map[string]fleet.Hash{}, 0
	for _, h := range r.pods.Hashes {
		if h.Pods > 0 {
			hashes[h.Value] = h
		}
	}
	facts := []any{r.nodes.Runs, hashes}
	on := func(first, node int32) (list []podFacts) {
		for j := first; j != fleet.None; j = r.pods.List.At(j).Next {
			p := r.pods.List.At(j)
			seen++
			if r.pods.Find(p.Object.UID) != j || p.NodeOrdinal != node {
				panic(fmt.Sprintf("pod %s is not found at %d, or not on node %d but on %d", p.Name, j, node, p.NodeOrdinal))
			}
			list = append(list, podFacts{p.Object, p.Name, r.pods.Hashes[p.Hash].Value, p.ReadySince, p.Traits})
		}
		return list
	}
	var in []int32
	for i := range int32(r.nodes.List.Len()) {
		n := r.nodes.List.At(i)
		if r.nodes.Find(n.Name) != i {
			panic("node " + n.Name + " is not found")
		}
		f := nodeFacts{Object: n.Object, Name: n.Name, Verdict: n.Verdict, Unselected: n.Unselected}
		if n.Effect != fleet.None {
			f.Effect = r.nodes.Effects[n.Effect]
		}
		if r.nodes.Cells != nil {
			f.Domains = cellOf(r.nodes.Cells, n.Cell, 2)
		}
		if r.nodes.Parts != nil {
			f.Part = r.nodes.Parts.Part(n.Part)
		}
		if r.nodes.Cells == nil && n.Cell != 0 || r.nodes.Parts == nil && n.Part != 0 {
			panic("a node has a number that means nothing")
		}
		in = append(in, n.Part)
		f.Pods = on(r.pods.First[i], i)
		switch plain := r.pods.Plain[i]; plain {
		case fleet.NoPod:
			f.Plain = "none"
		case fleet.NotPlain:
			f.Plain = "more"
		default:
			f.Plain = r.pods.Hashes[plain].Value
			if f.Pods[0].ReadySince.After(r.pods.LastReady) {
				panic("a plain pod became ready after the last of them")
			}
		}
		facts = append(facts, f)
	}
	if r.nodes.Find("nowhere") != fleet.None || r.pods.Find("nobody") != fleet.None {
		panic("what is not there is found")
	}
	strays := on(r.pods.Strays, fleet.None)
	for i := range int32(r.pods.List.Len()) {
		if r.pods.List.At(i).Object != nil {
			seen--
		}
	}
	if seen != 0 {
		panic("a pod is on no list, or on two")
	}
	slices.SortFunc(strays, func(a, b podFacts) int { return cmp.Compare(a.Object.UID, b.Object.UID) })
	return append(facts, strays, opened(r.nodes.Parts, in))
}

// naive reads the facts off the objects, all anew.
func naive(s *state) ([]any, error) {
	nodes := map[string]*nodeFacts{}
	var runs int32
	for _, n := range s.nodes {
		if nodes[n.Name] != nil {
			return nil, &fleet.Error{List: "Nodes", Index: fleet.None, Problem: fmt.Sprintf("names must be unique: there are two nodes %q", n.Name)}
		}
		f := &nodeFacts{
			Object: n, Name: n.Name, Verdict: s.rules.Matcher.Evaluate(n), Effect: s.rules.Compiled.Evaluate(n),
			Unselected: !s.rules.NodeSelector.Matches(labels.Set(n.Labels)),
		}
		switch s.rules.Domains {
		case nil:
		case byZone:
			f.Domains = []string{"=" + n.Labels["zone"], "=" + n.Labels["rack"]}
		case inB:
			if f.Domains = []string{"", "="}; n.Labels["zone"] == "b" {
				f.Domains[0] = "=" + n.Labels["rack"]
			}
		}
		if s.rules.Stages.Len() > 0 {
			f.Part = partOf(n)
		}
		if f.Verdict.Outcome == placement.Run {
			runs++
		}
		nodes[n.Name] = f
	}
	uids, hashes, lost := map[types.UID]bool{}, map[string]fleet.Hash{}, nodeFacts{}
	for _, p := range s.pods {
		if uids[p.UID] {
			return nil, &fleet.Error{List: "Pods", Index: fleet.None, Problem: fmt.Sprintf("UIDs must be unique: two pods have %q", p.UID)}
		}
		uids[p.UID] = true
		f := podFacts{Object: p, Name: p.Name, Hash: p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], Traits: fleet.Bound}
		of := func(t fleet.Traits, has bool) {
			if has {
				f.Traits |= t
			}
		}
		of(fleet.Marked, p.DeletionTimestamp != nil)
		of(fleet.Failed, p.Status.Phase == corev1.PodFailed)
		of(fleet.Succeeded, p.Status.Phase == corev1.PodSucceeded)
		of(fleet.Digested, p.Annotations[placement.DigestAnnotation] != "")
		of(fleet.Labelled, p.Labels["canary"] != "")
		if s.rules.Predecessor.Owns(p) {
			f.Hash = ""
		} else {
			of(fleet.Unhashed, f.Hash == "")
		}
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && len(p.Status.Conditions) > 0 {
			f.Traits |= fleet.Ready
			f.ReadySince = p.Status.Conditions[0].LastTransitionTime.Time
		}
		h := hashes[f.Hash]
		h.Value = f.Hash
		h.Pods++
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			h.Live++
		}
		hashes[f.Hash] = h
		on := nodes[p.Spec.NodeName]
		if on == nil {
			on = &lost
		}
		on.Pods = append(on.Pods, f)
	}
	facts := []any{runs, hashes}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		f := nodes[name]
		slices.SortFunc(f.Pods, func(a, b podFacts) int {
			return cmp.Or(a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name),
				cmp.Compare(a.Object.UID, b.Object.UID))
		})
		switch f.Plain = "more"; {
		case len(f.Pods) == 0:
			f.Plain = "none"
		case len(f.Pods) == 1 && f.Pods[0].Traits == fleet.Bound|fleet.Ready && !f.Pods[0].ReadySince.IsZero():
			f.Plain = f.Pods[0].Hash
		}
		facts = append(facts, *f)
	}
	slices.SortFunc(lost.Pods, func(a, b podFacts) int { return cmp.Compare(a.Object.UID, b.Object.UID) })
	var parts *stage.Parts
	var in []int32
	if s.rules.Stages.Len() > 0 {
		parts = s.rules.Stages.NewParts()
		for _, n := range s.nodes {
			in = append(in, parts.Of(n.Labels))
		}
	}
	return append(facts, lost.Pods, opened(parts, in)), nil
}

// byZone and inB are domains of drawn rules: those of zones and racks, and those of the racks in zone b and of all nodes.
var (
	byZone, _ = domain.Compile([]domain.Domain{{Key: "zone", AtOnce: 1}, {Key: "rack", Max: new(intstr.FromInt32(1))}})
	inB, _    = domain.Compile([]domain.Domain{
		{Key: "rack", AtOnce: 1, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "b"}}},
		{Max: new(intstr.FromInt32(1))},
	})
)

// partOf is the part of a node in the stages of drawn rules.
func partOf(n *corev1.Node) stage.Part {
	if n.Labels["zone"] == "b" {
		return stage.Part{Stage: 0, Value: n.Labels["rack"]}
	}
	return stage.Part{Stage: 1}
}

// stagesOf are the stages of drawn rules, if they have any: those of zone b, rack by rack, and the rest.
func stagesOf(t *rapid.T) []stage.Stage {
	list := []stage.Stage{{Name: "b", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "b"}}, Key: "rack"}}
	list[0].Soak = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "soak")
	list[0].Name = rapid.SampledFrom([]string{"b", "c"}).Draw(t, "name of the stage")
	return list
}

var small = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}

var big = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}

func rules(t *rapid.T) *fleet.Rules {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	if rapid.Bool().Draw(t, "node selector of the template") {
		template.Spec.NodeSelector = map[string]string{"zone": "a"}
	}
	r := &fleet.Rules{Namespace: "default", Name: "agent", Template: template, NodeSelector: labels.Everything(), CanaryLabel: "canary"}
	if rapid.Bool().Draw(t, "node selector of the strategy") {
		r.NodeSelector = labels.SelectorFromSet(labels.Set{"zone": "b"})
	}
	if rapid.Bool().Draw(t, "overrides") {
		r.Overrides = []placement.Override{{Name: "big", Containers: map[string]corev1.ResourceRequirements{"main": big},
			NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "b"}}}}
	}
	r.Domains = rapid.SampledFrom([]*domain.Domains{nil, byZone, inB}).Draw(t, "domains")
	if rapid.Bool().Draw(t, "stages") {
		r.Stages, _ = stage.Compile(stagesOf(t)) // they are valid
	}
	if rapid.Bool().Draw(t, "predecessor") {
		r.Predecessor = &fleet.Predecessor{UIDs: []types.UID{"old"}, Own: labels.Nothing(), Selector: labels.Nothing()}
	}
	return compiled(t, r)
}

func compiled(t interface{ Fatal(...any) }, r *fleet.Rules) *fleet.Rules {
	var err error
	if r.Matcher, err = placement.Compile(r.Template); err != nil {
		t.Fatal(err)
	}
	if r.Compiled, err = placement.CompileOverrides(r.Namespace, r.Name, r.Template, r.Overrides); err != nil {
		t.Fatal(err)
	}
	return r
}

// node draws a version of the node with that number.
func node(t *rapid.T, i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")},
	}}
	if rack := rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "rack"); rack != "" {
		n.Labels["rack"] = rack
	}
	return n
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pod draws a version of the pod with that number, which mostly stays on its node.
func pod(t *rapid.T, i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"p", "p", "q"}).Draw(t, "name"), i), UID: types.UID(fmt.Sprintf("uid-%d", i)),
		CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "created")) * time.Second)),
		Labels:            map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "hash")},
	}}
	p.Spec.NodeName = fmt.Sprintf("n%d", rapid.SampledFrom([]int{i, i, i, i / 2, 7}).Draw(t, "node"))
	p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodFailed}).Draw(t, "phase")
	if rapid.Bool().Draw(t, "ready") {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "since")) * time.Minute))}}
	}
	switch rapid.IntRange(0, 5).Draw(t, "more") {
	case 0:
		p.DeletionTimestamp = new(metav1.NewTime(noon))
	case 1:
		delete(p.Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
	case 2:
		p.OwnerReferences = []metav1.OwnerReference{{UID: "old", Controller: new(true)}}
	case 3:
		p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		p.Labels["canary"] = "true"
	}
	return p
}

// change draws what comes after a state: objects are replaced by other versions, come and go, are listed in another order, or
// twice, and the spec changes.
func change(t *rapid.T, s *state) *state {
	next := &state{s.rules, slices.Clone(s.nodes), slices.Clone(s.pods)}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		switch rapid.IntRange(0, 9).Draw(t, "change") {
		case 0, 1:
			replaceOne(next.nodes, func() *corev1.Node { return node(t, rapid.IntRange(0, 7).Draw(t, "of")) },
				func(a, b *corev1.Node) bool { return a.Name == b.Name })
		case 2, 3, 4:
			replaceOne(next.pods, func() *corev1.Pod { return pod(t, rapid.IntRange(0, 9).Draw(t, "of")) },
				func(a, b *corev1.Pod) bool { return a.UID == b.UID })
		case 5:
			next.nodes = addOrDrop(t, next.nodes, func() *corev1.Node { return node(t, rapid.IntRange(0, 7).Draw(t, "new")) })
		case 6:
			next.pods = addOrDrop(t, next.pods, func() *corev1.Pod { return pod(t, rapid.IntRange(0, 9).Draw(t, "new")) })
		case 7:
			next.nodes = rapid.Permutation(next.nodes).Draw(t, "order of nodes")
		case 8:
			next.pods = rapid.Permutation(next.pods).Draw(t, "order of pods")
		case 9:
			next.rules = rules(t)
		}
	}
	return next
}

// replaceOne puts a new version in the place of the object that it is of, if that is there.
func replaceOne[T any](list []T, draw func() T, same func(a, b T) bool) {
	version := draw()
	if i := slices.IndexFunc(list, func(x T) bool { return same(x, version) }); i >= 0 {
		list[i] = version
	}
}

// addOrDrop drops an object, or adds one that may be there already, as another version or the very same.
func addOrDrop[T any](t *rapid.T, list []T, draw func() T) []T {
	switch {
	case len(list) > 0 && rapid.Bool().Draw(t, "drop"):
		i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
		return slices.Delete(list, i, i+1)
	case len(list) > 0 && rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "twice"):
		return append(list, rapid.SampledFrom(list).Draw(t, "which"))
	default:
		return append(list, draw())
	}
}

// TestBrokenContract: an object that is missing, has no name or UID, or that of another, is refused in the same words whether
// earlier facts know it or not.
func TestBrokenContract(t *testing.T) {
	s := &state{rules: compiled(t, &fleet.Rules{Template: &corev1.PodTemplateSpec{}, NodeSelector: labels.Everything()})}
	for _, name := range []string{"a", "b"} {
		s.nodes = append(s.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		s.pods = append(s.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + name, UID: types.UID("uid-" + name)}})
	}
	earlier, err := readBoth(nil, reading{}, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		nodes []*corev1.Node
		pods  []*corev1.Pod
		want  string
	}{
		{"no node", []*corev1.Node{s.nodes[0], nil}, s.pods, "Nodes[1]: must not be nil"},
		{"a node without a name", []*corev1.Node{{}, s.nodes[0]}, s.pods, "Nodes[0]: must have a name"},
		{"a node twice", []*corev1.Node{s.nodes[0], s.nodes[0]}, s.pods, `Nodes: names must be unique: there are two nodes "a"`},
		{"two versions of a node", []*corev1.Node{s.nodes[0], s.nodes[0].DeepCopy()}, s.pods,
			`Nodes: names must be unique: there are two nodes "a"`},
		{"two new versions of a node in the place of two nodes", []*corev1.Node{s.nodes[0].DeepCopy(), s.nodes[0].DeepCopy()}, s.pods,
			`Nodes: names must be unique: there are two nodes "a"`},
		{"no pod", s.nodes, []*corev1.Pod{nil, s.pods[0]}, "Pods[0]: must not be nil"},
		{"a pod without a UID", s.nodes, []*corev1.Pod{s.pods[0], {ObjectMeta: metav1.ObjectMeta{Name: "x"}}},
			"Pods[1]: must have a UID: deletes use it as precondition (pod x)"},
		{"a pod twice", s.nodes, []*corev1.Pod{s.pods[0], s.pods[0]}, `Pods: UIDs must be unique: two pods have "uid-a"`},
		{"two versions of a pod", s.nodes, []*corev1.Pod{s.pods[0], s.pods[0].DeepCopy()}, `Pods: UIDs must be unique: two pods have "uid-a"`},
		{"none", nil, nil, "<nil>"},
	} {
		for _, known := range []reading{{}, earlier} {
			if _, err := readBoth(s, known, &state{s.rules, tt.nodes, tt.pods}); fmt.Sprint(err) != tt.want {
				t.Errorf("%s, with earlier facts %t: %v, want %s", tt.name, known != reading{}, err, tt.want)
			}
		}
	}
}

// TestFactsLetGo: facts keep alive the objects that they were read from, and none of earlier facts: neither those that were
// replaced, nor those of the claims that earlier facts were of.
func TestFactsLetGo(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		s := &state{rules: compiled(t, &fleet.Rules{Template: &corev1.PodTemplateSpec{}, NodeSelector: labels.Everything()})}
		for i := range 3 {
			s.nodes = append(s.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("uid-", i))}}
			p.Spec.NodeName = fmt.Sprint("n", i)
			s.pods = append(s.pods, p)
		}
		now, foreign := readClaimed(t, s)
		objects := map[string]func() bool{"a pod of others": foreign}
		if replaces {
			objects["a pod that was replaced"], objects["a node that was replaced"] = gone(s.pods[0]), gone(s.nodes[1])
			s.pods[0], s.nodes[1] = s.pods[0].DeepCopy(), s.nodes[1].DeepCopy()
		}
		now, err := readBoth(nil, now, s)
		if err != nil {
			t.Fatal(err)
		}
		kept := gone(s.pods[1])
		runtime.GC()
		for what, isGone := range objects {
			if !isGone() {
				t.Errorf("replaces %t: %s is kept alive", replaces, what)
			}
		}
		if s.pods = nil; kept() {
			t.Errorf("replaces %t: a pod of the facts is gone", replaces)
		}
		runtime.KeepAlive(now)
	}
}

// readClaimed reads a state with claims on its pods and on one of others. isGone reports whether that one was collected.
func readClaimed(t *testing.T, s *state) (_ reading, isGone func() bool) {
	t.Helper()
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	nodes, err := fleet.ReadNodes(nil, s.rules, s.nodes)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(p *corev1.Pod) fleet.Claim {
		if p == foreign {
			return fleet.Foreign
		}
		return fleet.Owned
	}
	_, pods, err := fleet.ReadClaimed(nil, nil, s.rules, nodes, fleet.Claimer{Claim: claim}, append(slices.Clone(s.pods), foreign))
	if err != nil {
		t.Fatal(err)
	}
	return reading{nodes: nodes, pods: pods}, gone(foreign)
}

// gone returns a function that reports whether the object was collected.
func gone[T any](object *T) func() bool {
	p := weak.Make(object)
	return func() bool { return p.Value() == nil }
}

// TestEqualRulesKeepFacts: by other rules that say the same, nothing is read again. Here the objects are changed in place, which no
// caller may do, and the facts stay what they were.
func TestEqualRulesKeepFacts(t *testing.T) {
	was, is := base(), base()
	for _, r := range []*fleet.Rules{was, is} {
		r.NodeSelector = labels.SelectorFromSet(labels.Set{"zone": "b"})
		r.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
	}
	s := &state{compiled(t, was), []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "a"}}}}, []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: "v1"}},
		Spec:       corev1.PodSpec{NodeName: "a"},
	}}}
	before, err := readBoth(nil, reading{}, s)
	if err != nil {
		t.Fatal(err)
	}
	want := written(before)
	s.nodes[0].Labels = map[string]string{"zone": "b"}
	s.nodes[0].Annotations = map[string]string{placement.OverrideAnnotationPrefix + "default.agent.main": `{"requests":{"cpu":"7"}}`}
	s.pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "v2"
	after, err := readBoth(s, before, &state{compiled(t, is), s.nodes, s.pods})
	if diff := differ(after, want, err, nil); diff != "" {
		t.Error(diff)
	}
}

// TestSpellingCounts: creates have quantities as the spec spells them, so that another spelling of an override is read anew.
func TestSpellingCounts(t *testing.T) {
	nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	spelled := func(memory string) *state {
		rules := base()
		asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}
		rules.Overrides = []placement.Override{{Name: "x", Containers: map[string]corev1.ResourceRequirements{"main": asks}}}
		return &state{compiled(t, rules), nodes, nil}
	}
	was := spelled("1073741824")
	before, err := readBoth(nil, reading{}, was)
	if err != nil {
		t.Fatal(err)
	}
	after, err := readBoth(was, before, spelled("1Gi"))
	if err != nil {
		t.Fatal(err)
	}
	got := after.nodes.Effects[0].Resources[0].Resources.Requests[corev1.ResourceMemory]
	if got.String() != "1Gi" {
		t.Errorf("the create says %v, the spec 1Gi", &got)
	}
}

// base are rules that each matter to some object of [TestEachRuleCounts].
func base() *fleet.Rules {
	return &fleet.Rules{
		Namespace: "default", Name: "agent", NodeSelector: labels.Everything(), CanaryLabel: "canary",
		Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}}, Containers: []corev1.Container{{Name: "main"}},
		}},
		Overrides: []placement.Override{
			{Name: "x", Created: noon, Containers: map[string]corev1.ResourceRequirements{"main": big, "init": big}},
			{Name: "m", Created: noon, Containers: map[string]corev1.ResourceRequirements{"main": small}},
		},
		Predecessor: &fleet.Predecessor{UIDs: []types.UID{"old"}, Own: labels.Nothing(), Selector: labels.SelectorFromSet(labels.Set{"app": "old"})},
	}
}

// TestEachRuleCounts: whatever part of the rules changes, the facts are those of the new ones, both ways.
func TestEachRuleCounts(t *testing.T) {
	nodes := []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{
			placement.OverrideAnnotationPrefix + "default.agent.main": `{"requests":{"cpu":"7"}}`,
		}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"zone": "b"}},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "c"},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule}}}},
	}
	pod := func(name, app, owner string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			"app": app, appsv1.DefaultDaemonSetUniqueLabelKey: "v1",
		}}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}}
		}
		p.Spec.NodeName, p.Status.Phase = "a", corev1.PodRunning
		return p
	}
	pods := []*corev1.Pod{pod("1", "agent", "old"), pod("2", "old", ""), pod("3", "agent", "older"), pod("4", "agent", "")}
	for name, change := range map[string]func(*fleet.Rules){
		"node name":                     func(r *fleet.Rules) { r.Template.Spec.NodeName = "a" },
		"host network":                  func(r *fleet.Rules) { r.Template.Spec.HostNetwork = true },
		"node selector of the template": func(r *fleet.Rules) { r.Template.Spec.NodeSelector = map[string]string{"zone": "a"} },
		"affinity": func(r *fleet.Rules) {
			r.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}},
				}}},
			}}
		},
		"tolerations": func(r *fleet.Rules) {
			r.Template.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		},
		"namespace":                      func(r *fleet.Rules) { r.Namespace = "other" },
		"name":                           func(r *fleet.Rules) { r.Name = "other" },
		"name of a container":            func(r *fleet.Rules) { r.Template.Spec.Containers[0].Name = "other" },
		"name of an init container":      func(r *fleet.Rules) { r.Template.Spec.InitContainers[0].Name = "other" },
		"resources of a container":       func(r *fleet.Rules) { r.Template.Spec.Containers[0].Resources = big },
		"resources of an init container": func(r *fleet.Rules) { r.Template.Spec.InitContainers[0].Resources = big },
		"no overrides":                   func(r *fleet.Rules) { r.Overrides = nil },
		"name of an override":            func(r *fleet.Rules) { r.Overrides[0].Name = "a" },
		"time of an override":            func(r *fleet.Rules) { r.Overrides[1].Created = noon.Add(time.Second) },
		"nodes of an override": func(r *fleet.Rules) {
			r.Overrides[0].NodeSelector = metav1.LabelSelector{MatchLabels: map[string]string{"zone": "b"}}
		},
		"resources of an override": func(r *fleet.Rules) {
			r.Overrides[0].Containers = map[string]corev1.ResourceRequirements{"main": small, "init": small}
		},
		"limits of an override": func(r *fleet.Rules) {
			both := corev1.ResourceRequirements{Requests: big.Requests, Limits: big.Requests}
			r.Overrides[0].Containers = map[string]corev1.ResourceRequirements{"main": both, "init": big}
		},
		"node selector of the strategy": func(r *fleet.Rules) { r.NodeSelector = labels.SelectorFromSet(labels.Set{"zone": "b"}) },
		"no predecessor":                func(r *fleet.Rules) { r.Predecessor = nil },
		"UIDs of the predecessor":       func(r *fleet.Rules) { r.Predecessor.UIDs = []types.UID{"older"} },
		"selector of the predecessor":   func(r *fleet.Rules) { r.Predecessor.Selector = labels.Everything() },
		"selector of the set":           func(r *fleet.Rules) { r.Predecessor.Own = labels.Everything() },
	} {
		t.Run(name, func(t *testing.T) {
			changed := base()
			change(changed)
			was, is := &state{compiled(t, base()), nodes, pods}, &state{compiled(t, changed), nodes, pods}
			for range 2 {
				before, err := readBoth(nil, reading{}, was)
				if err != nil {
					t.Fatal(err)
				}
				want, err := naive(is)
				if err != nil || reflect.DeepEqual(want, written(before)) {
					t.Fatalf("it makes no difference, or an error: %v", err)
				}
				got, err := readBoth(was, before, is)
				if diff := differ(got, want, err, nil); diff != "" {
					t.Error(diff)
				}
				was, is = is, was
			}
		})
	}
}

// TestHashesStayDistinct: a hash that no pod carries any more, and then one does again, is there once, whatever has taken its place
// meanwhile.
func TestHashesStayDistinct(t *testing.T) {
	s := &state{rules: compiled(t, &fleet.Rules{Template: &corev1.PodTemplateSpec{}, NodeSelector: labels.Everything()})}
	count := 0
	carry := func(hashes ...string) (pods []*corev1.Pod) {
		for _, hash := range hashes {
			count++
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", count), UID: types.UID(fmt.Sprint(count))}}
			p.Labels = map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: hash}
			p.Spec.NodeName, p.Status.Phase = "nowhere", corev1.PodRunning
			pods = append(pods, p)
		}
		return pods
	}
	var earlier reading
	keep := []*corev1.Pod{}
	for step, pods := range [][]*corev1.Pod{
		carry("a", "b", "c"), carry("b"), append(carry("b"), carry("a")...), carry("a", "b"), carry("d", "a", "b", "c"), carry("c", "d"), carry("a"),
	} {
		if step == 3 {
			keep = s.pods // those of the step before stay
		}
		s.pods = append(slices.Clone(keep), pods...)
		want, wantErr := naive(s)
		got, err := readBoth(nil, earlier, s)
		if diff := differ(got, want, err, wantErr); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
		values := map[string]bool{}
		for _, h := range got.pods.Hashes {
			if h.Pods > 0 && values[h.Value] {
				t.Fatalf("step %d: hash %s is there twice: %v", step, h.Value, got.pods.Hashes)
			}
			values[h.Value] = values[h.Value] || h.Pods > 0
		}
		earlier = got
	}
}
