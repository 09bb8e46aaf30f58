package auditor_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/test/integration/auditor"
)

func pod(uid, node, revision string, ready bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(uid), Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: revision},
	}}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Image: "agent:" + revision}}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

func terminating(p *corev1.Pod) *corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{}
	return p
}

func failed(p *corev1.Pod) *corev1.Pod {
	p.Status.Phase = corev1.PodFailed
	return p
}

// step is one thing that the watch tells.
type step struct {
	pod  *corev1.Pod
	gone bool
}

func play(a *auditor.Auditor, steps []step) {
	for _, s := range steps {
		if s.gone {
			a.Gone(s.pod)
		} else {
			a.See(s.pod)
		}
	}
}

func TestCounts(t *testing.T) {
	table := []struct {
		name, why string
		steps     []step
		want      auditor.Counts
	}{
		{
			"installation", "a node that never served is not down",
			[]step{{pod: pod("a", "n1", "1", false)}, {pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n2", "1", false)}},
			auditor.Counts{Created: 2},
		},
		{
			"replaced", "a node is down from the request to delete its pod until the next is ready",
			[]step{
				{pod: pod("a", "n1", "1", true)}, {pod: terminating(pod("a", "n1", "1", true))}, {pod: pod("a", "n1", "1", true), gone: true},
				{pod: pod("b", "n1", "2", false)}, {pod: pod("b", "n1", "2", true)},
			},
			auditor.Counts{Created: 2, Deleted: 1, Peak: 1},
		},
		{
			"two at a time", "what counts is how many are down together",
			[]step{
				{pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n2", "1", true)}, {pod: pod("c", "n3", "1", true)},
				{pod: pod("a", "n1", "1", false)}, {pod: pod("b", "n2", "1", false)}, {pod: pod("a", "n1", "1", true)},
				{pod: pod("c", "n3", "1", false)},
			},
			auditor.Counts{Created: 3, Peak: 2},
		},
		{
			"surge", "a node with a new pod beside the old one is not down when the old one goes",
			[]step{
				{pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n1", "2", true)}, {pod: terminating(pod("a", "n1", "1", true))},
				{pod: pod("a", "n1", "1", true), gone: true},
			},
			auditor.Counts{Created: 2, Deleted: 1},
		},
		{
			"two of a revision", "said once, however often they are seen",
			[]step{{pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n1", "1", false)}, {pod: pod("b", "n1", "1", true)}},
			auditor.Counts{Created: 2, Doubled: []string{"n1 1"}},
		},
		{
			"two of a revision again", "a node is listed once",
			[]step{
				{pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n1", "1", false)}, {pod: pod("b", "n1", "1", false), gone: true},
				{pod: pod("c", "n1", "1", false)},
			},
			auditor.Counts{Created: 3, Deleted: 1, Doubled: []string{"n1 1"}},
		},
		{
			"beside one that ends", "a terminating and a failed pod are not live",
			[]step{
				{pod: terminating(pod("a", "n1", "1", false))}, {pod: failed(pod("b", "n1", "1", false))}, {pod: pod("c", "n1", "1", false)},
			},
			auditor.Counts{Created: 3},
		},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			a := &auditor.Auditor{}
			play(a, row.steps)
			if got := a.Counts(); got.Created != row.want.Created || got.Deleted != row.want.Deleted || got.Peak != row.want.Peak ||
				!slices.Equal(got.Doubled, row.want.Doubled) {
				t.Errorf("%+v, want %+v: %s", got, row.want, row.why)
			}
			if err := a.Sound(); (err != nil) != (len(row.want.Doubled) > 0) {
				t.Errorf("sound: %v", err)
			}
			if a.Begin(); a.Counts().Created+a.Counts().Deleted+a.Counts().Peak != 0 || a.Sound() != nil {
				t.Errorf("Begin left %+v", a.Counts())
			}
		})
	}
}

// What changed while the watch was broken happened at a time, in whatever order it is listed.
func TestList(t *testing.T) {
	old := []*corev1.Pod{pod("a", "n1", "1", true), pod("b", "n2", "1", true), pod("c", "n3", "1", true)}
	table := []struct {
		name, why string
		listed    []*corev1.Pod
		want      auditor.Counts
	}{
		{"the same", "nothing happened", old, auditor.Counts{}},
		{
			"replaced", "the new pods serve; that the old ones had to go first was not seen",
			[]*corev1.Pod{pod("d", "n1", "2", true), pod("e", "n2", "2", true), old[2]}, auditor.Counts{Created: 2, Deleted: 2},
		},
		{
			"replaced, not ready", "two nodes are down now",
			[]*corev1.Pod{pod("d", "n1", "2", false), pod("e", "n2", "2", false), old[2]}, auditor.Counts{Created: 2, Deleted: 2, Peak: 2},
		},
		{
			"a new one of the revision", "the one before it is on its way out, and listed last",
			[]*corev1.Pod{pod("d", "n1", "1", false), old[1], old[2], terminating(pod("a", "n1", "1", true))}, auditor.Counts{Created: 1, Peak: 1},
		},
		{
			"two new ones", "on a node that had none, said once",
			append([]*corev1.Pod{pod("d", "n4", "1", false), pod("e", "n4", "1", false), pod("f", "n4", "1", false)}, old...),
			auditor.Counts{Created: 3, Doubled: []string{"n4 1"}},
		},
		{"none", "all are gone", nil, auditor.Counts{Deleted: 3, Peak: 3}},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			a := &auditor.Auditor{}
			a.List(old)
			a.Begin()
			a.List(row.listed)
			if got := a.Counts(); got.Created != row.want.Created || got.Deleted != row.want.Deleted || got.Peak != row.want.Peak ||
				!slices.Equal(got.Doubled, row.want.Doubled) {
				t.Errorf("%+v, want %+v: %s", got, row.want, row.why)
			}
		})
	}
}

// The counts that are kept agree with those of one who counts everything anew after each step.
func TestCountsAgreeWithNaive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a := &auditor.Auditor{}
		pods, served, peak, broken := map[string]*corev1.Pod{}, map[string]bool{}, 0, false
		for range 60 {
			uid := fmt.Sprint(random.IntN(8))
			node, revision := "n"+fmt.Sprint(random.IntN(3)), fmt.Sprint(random.IntN(2))
			if old := pods[uid]; old != nil {
				node = old.Spec.NodeName
			}
			p := pod(uid, node, revision, random.IntN(2) == 0)
			switch {
			case random.IntN(4) == 0:
				p = terminating(p)
			case random.IntN(6) == 0:
				p = failed(p)
			}
			gone := pods[uid] != nil && random.IntN(4) == 0
			last := pods[uid]
			if pods[uid] = p; gone {
				delete(pods, uid)
			}
			missed := broken
			broken = random.IntN(10) == 0 || missed && random.IntN(3) > 0
			switch {
			case broken: // nobody is told, and later all at a time
				continue
			case missed:
				a.List(slices.Collect(maps.Values(pods)))
			case gone:
				play(a, []step{{pod: last, gone: true}})
			default:
				play(a, []step{{pod: p}})
			}
			serving := map[string]bool{}
			for _, p := range pods {
				if p.DeletionTimestamp == nil && !lifecycle.Terminal(p) && lifecycle.Ready(p) {
					serving[p.Spec.NodeName], served[p.Spec.NodeName] = true, true
				}
			}
			peak = max(peak, len(served)-len(serving))
			if got := a.Counts().Peak; got != peak {
				t.Fatalf("peak %d, want %d", got, peak)
			}
		}
	}
}

func TestCurrent(t *testing.T) {
	version := func(p *corev1.Pod, v string) *corev1.Pod {
		p.ResourceVersion = v
		return p
	}
	old, changed := version(pod("a", "n1", "1", true), "1"), version(pod("a", "n1", "1", true), "2")
	other := version(pod("b", "n2", "1", true), "3")
	table := []struct {
		name, why string
		steps     []step
		pods      []corev1.Pod
		want      bool
	}{
		{"none of none", "there is nothing to see", nil, nil, true},
		{"none yet", "the watch is late", nil, []corev1.Pod{*old}, false},
		{"all", "it has seen what there is", []step{{pod: old}, {pod: other}}, []corev1.Pod{*other, *old}, true},
		{"an older version", "a change that counts as nothing may come before one that counts", []step{{pod: old}}, []corev1.Pod{*changed}, false},
		{"the newer version", "only the newest is compared", []step{{pod: old}, {pod: changed}}, []corev1.Pod{*changed}, true},
		{"one that is gone", "its end has not been seen", []step{{pod: old}, {pod: other}}, []corev1.Pod{*other}, false},
		{"its end", "it is seen now", []step{{pod: old}, {pod: other}, {pod: old, gone: true}}, []corev1.Pod{*other}, true},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			a := &auditor.Auditor{}
			play(a, row.steps)
			if got := a.Current(row.pods); got != row.want {
				t.Errorf("%v, want %v: %s", got, row.want, row.why)
			}
		})
	}
}

func TestAwait(t *testing.T) {
	a := &auditor.Auditor{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	play(a, []step{{pod: pod("a", "n1", "2", true)}, {pod: pod("b", "n2", "1", true)}, {pod: pod("c", "n3", "2", false)}})
	if _, err := a.Await(ctx, "agent:2", 2); err == nil || err.Error() != "1 of 2 nodes serve with image agent:2\ncontext deadline exceeded" {
		t.Errorf("%v, want how many there are", err)
	}
	if _, err := a.Await(t.Context(), "agent:2", 1); err != nil {
		t.Errorf("what is so already is not awaited: %v", err)
	}
	done := make(chan time.Time)
	go func() {
		at, _ := a.Await(t.Context(), "agent:2", 2)
		done <- at
	}()
	begin := time.Now()
	play(a, []step{{pod: pod("c", "n3", "2", true)}})
	if at := <-done; at.Before(begin.Add(-time.Second)) {
		t.Errorf("it is so since %v, want %v", at, begin)
	}
}

// A rule judges each state from the present one on, and the first that breaks it is told.
func TestAlways(t *testing.T) {
	a := &auditor.Auditor{}
	var seen []auditor.Instant
	play(a, []step{{pod: pod("a", "n1", "1", true)}, {pod: pod("b", "n2", "1", true)}, {pod: pod("c", "n3", "1", false)}})
	a.Always(func(now auditor.Instant) error {
		seen = append(seen, now)
		if len(now.Disturbed) > 1 {
			return fmt.Errorf("disturbed at a time: %v", now.Disturbed)
		}
		return nil
	})
	a.Always(func(auditor.Instant) error { return nil })
	play(a, []step{
		{pod: terminating(pod("a", "n1", "1", true))}, {pod: pod("d", "n1", "2", false)}, {pod: pod("d", "n1", "2", true)},
		{pod: pod("e", "n2", "2", true)},
	})
	if err := a.Sound(); err != nil {
		t.Error(err)
	}
	a.Begin()
	play(a, []step{
		{pod: terminating(pod("d", "n1", "2", true))}, {pod: terminating(pod("b", "n2", "1", true))},
		{pod: terminating(pod("e", "n2", "2", true))},
	})
	if err := a.Sound(); err == nil || err.Error() != "disturbed at a time: [n1 n2]" {
		t.Errorf("%v, want the first state that is wrong", err)
	}
	want := []auditor.Instant{
		{nil, map[string][]string{"n1": {"agent:1"}, "n2": {"agent:1"}, "n3": {"agent:1"}}}, // at each rule that is added
		{nil, map[string][]string{"n1": {"agent:1"}, "n2": {"agent:1"}, "n3": {"agent:1"}}}, // n3 never served
		{[]string{"n1"}, map[string][]string{"n2": {"agent:1"}, "n3": {"agent:1"}}},
		{[]string{"n1"}, map[string][]string{"n1": {"agent:2"}, "n2": {"agent:1"}, "n3": {"agent:1"}}},
		{nil, map[string][]string{"n1": {"agent:2"}, "n2": {"agent:1"}, "n3": {"agent:1"}}},
		{[]string{"n2"}, map[string][]string{"n1": {"agent:2"}, "n2": {"agent:1", "agent:2"}, "n3": {"agent:1"}}}, // it surges
		{[]string{"n1", "n2"}, map[string][]string{"n2": {"agent:1", "agent:2"}, "n3": {"agent:1"}}},
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("judged\n%v, want\n%v", seen, want)
	}
}
