package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// ailing is a pod that is not ready since it was created ten minutes ago, with what is wrong.
func ailing(name, node string, spec rollout.Spec, wrong ...kit.PodOption) *corev1.Pod {
	options := append([]kit.PodOption{kit.Of(spec), kit.OnNode(node), kit.Created(kit.Noon().Add(-10 * time.Minute)), kit.Unready()}, wrong...)
	pod := kit.Pod(name, options...)
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(kit.Noon().Add(-10 * time.Minute))
	}
	return pod
}

// dumped are nodes with a pod each: as many of the new revision as there are options, which say what is wrong with it, and the
// others of the old one.
func dumped(nodes int, old, spec rollout.Spec, wrong ...[]kit.PodOption) rollout.Snapshot {
	s := rollout.Snapshot{Now: kit.Noon()}
	s.Revisions = append(s.Revisions, kit.Revision(old, 1), kit.Revision(spec, 2))
	for i := range nodes {
		name := fmt.Sprintf("n%02d", i)
		s.Nodes = append(s.Nodes, kit.Node(name, kit.Label(corev1.LabelHostname, name)))
		switch {
		case i >= len(wrong):
			started := kit.Pod("old-"+name, kit.Of(old), kit.OnNode(name), kit.Ready(kit.Noon().Add(-30*time.Minute)))
			s.Pods = append(s.Pods, started)
		case wrong[i] == nil:
			s.Pods = append(s.Pods, kit.Pod("new-"+name, kit.Of(spec), kit.OnNode(name), kit.Ready(kit.Noon().Add(-30*time.Minute))))
		default:
			s.Pods = append(s.Pods, ailing("new-"+name, name, spec, wrong[i]...))
		}
	}
	for _, pod := range s.Pods {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(kit.Noon().Add(-30*time.Minute - 8*time.Second)),
		})
	}
	return s
}

// What is wrong with pods of a dump goes on, of that revision or on those nodes; another version is another matter.
func TestTroublesGoOn(t *testing.T) {
	old := kit.Spec("agent")
	spec := kit.Spec("agent", kit.Image("agent:v2"), kit.MaxUnavailable("2"))
	next := kit.Spec("agent", kit.Image("agent:v3"), kit.MaxUnavailable("2"))
	crash, image, hang := []kit.PodOption{kit.WaitingFor("CrashLoopBackOff")}, []kit.PodOption{kit.WaitingFor("ImagePullBackOff")}, []kit.PodOption{}
	starts := []kit.PodOption{kit.WaitingFor("ContainerCreating")}
	for _, tt := range []struct {
		name, why string
		wrong     [][]kit.PodOption
		says      string
		rules     []simulate.Kubelet
		end       simulate.End
		updated   int
	}{
		{"a version that crashes", "all of its pods do", [][]kit.PodOption{crash, crash}, "pods of revision HASH go on to crash, as 2 of its 2 pods do",
			[]simulate.Kubelet{{Crash: simulate.Fixed(usualCrash), NeverReady: new(true)}}, simulate.EndStuck, 0},
		{"an image that is not there", "the same", [][]kit.PodOption{image, image}, "pods of revision HASH go on to lack their image, which cannot be pulled, as 2 of its 2 pods do",
			[]simulate.Kubelet{{NoImage: new(true)}}, simulate.EndStuck, 0},
		{"a version that hangs", "the same", [][]kit.PodOption{hang, hang}, "pods of revision HASH go on to run and are not ready, as 2 of its 2 pods do",
			[]simulate.Kubelet{{NeverReady: new(true)}}, simulate.EndStuck, 0},
		{"one node", "the others are fine", [][]kit.PodOption{crash, nil, nil}, "pods of revision HASH go on to crash on n00, as 1 of its 3 pods do",
			[]simulate.Kubelet{{Nodes: map[string]string{corev1.LabelHostname: "n00"}, Crash: simulate.Fixed(usualCrash), NeverReady: new(true)}}, simulate.EndStuck, 5},
		{"half of them", "a share of all that are made", [][]kit.PodOption{crash, crash, nil, nil}, "as 2 of its 4 pods do",
			[]simulate.Kubelet{{Share: 0.5, Crash: simulate.Fixed(usualCrash), NeverReady: new(true)}}, simulate.EndStuck, -1},
		{"two troubles", "each has its share of all pods of the revision", [][]kit.PodOption{crash, crash, image}, "go on to crash, as 2 of its 3 pods do",
			[]simulate.Kubelet{
				{Share: 2.0 / 3, Crash: simulate.Fixed(usualCrash), NeverReady: new(true)},
				{Nodes: map[string]string{corev1.LabelHostname: "n02"}, NoImage: new(true)},
			}, simulate.EndStuck, -1},
		{"one that starts", "nothing is wrong yet", [][]kit.PodOption{starts}, "", nil, simulate.EndDone, 6},
		{"nothing wrong", "all is well", [][]kit.PodOption{nil}, "", nil, simulate.EndDone, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := dumped(6, old, spec, tt.wrong...)
			d, err := Derive(s.Nodes, s.Pods, nil, spec, s.Now)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(tt.rules)
			for i := range want {
				want[i].Revision = kit.Hash(spec)
			}
			if got := d.Model.Kubelets[1:]; fmt.Sprintf("%+v", deref(got)) != fmt.Sprintf("%+v", deref(want)) {
				t.Errorf("%s: rules %+v, want %+v", tt.why, got, want)
			}
			said := strings.Join(d.Sentences, "\n")
			if says := strings.ReplaceAll(tt.says, "HASH", kit.Hash(spec)); !strings.Contains(said, says) || tt.says == "" && strings.Contains(said, "go on to") {
				t.Errorf("%s: it says\n%s\nwant %q", tt.why, said, says)
			}
			for of, ends := range map[*rollout.Spec]simulate.End{&spec: tt.end, &next: simulate.EndDone} {
				snapshot := s
				report, err := simulate.Run(simulate.Scenario{Spec: *of, Fleet: simulate.Fleet{Snapshot: &snapshot}, Model: d.Model, Limit: 3 * time.Hour})
				if report.End == simulate.EndLimit {
					report.End = simulate.EndStuck // pods that crash keep moving
				}
				if err != nil || report.End != ends {
					t.Errorf("%s: of %s the run is %v, want %v (error %v)", tt.why, of.Template.Spec.Containers[0].Image, report.End, ends, err)
				}
				if of == &spec && tt.updated >= 0 && report.Updated != tt.updated {
					t.Errorf("%s: %d nodes are updated, want %d", tt.why, report.Updated, tt.updated)
				}
			}
		})
	}
}

// deref prints rules with what their pointers point to.
func deref(rules []simulate.Kubelet) (list []string) {
	for i := range rules {
		r := rules[i]
		list = append(list, fmt.Sprint(r.Revision, r.Nodes, r.Share, r.Crash, r.NoImage != nil && *r.NoImage, r.NeverReady != nil && *r.NeverReady))
	}
	return list
}

// What is wrong is the node, if it is lost; a pod without a revision belongs to none; and a crash takes as long as it did.
func TestTroublesOfOthers(t *testing.T) {
	old, spec := kit.Spec("agent"), kit.Spec("agent", kit.Image("agent:v2"))
	crash := []kit.PodOption{kit.WaitingFor("CrashLoopBackOff")}
	s := dumped(4, old, spec, crash, crash)
	rules := func() []simulate.Kubelet {
		d, err := Derive(s.Nodes, s.Pods, nil, spec, s.Now)
		if err != nil {
			t.Fatal(err)
		}
		return d.Model.Kubelets[1:]
	}
	s.Pods[0].Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
		StartedAt: metav1.NewTime(kit.Noon().Add(-time.Minute)), FinishedAt: metav1.NewTime(kit.Noon().Add(-20 * time.Second)),
	}
	if got := rules(); len(got) != 1 || got[0].Crash != simulate.Fixed(40*time.Second) {
		t.Errorf("rules %+v", got)
	}
	kit.NotReady()(s.Nodes[0])
	if got := rules(); len(got) != 1 || got[0].Nodes[corev1.LabelHostname] != "n01" {
		t.Errorf("of a node that is lost: %+v", got)
	}
	s.Pods[1].Labels = nil
	if got := rules(); len(got) != 0 {
		t.Errorf("of a pod without a revision: %+v", got)
	}
}
