package canary_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// variation makes another case from a recorded one. What the controller does in that case is not recorded, but the model with all
// rules must decide what we decide.
type variation struct {
	name string
	vary func(c *statusCase)
}

var variations = []variation{
	{"paused by command", func(c *statusCase) { c.annotate(pausedAnnotation) }},
	{"validated", func(c *statusCase) {
		c.annotate(validAnnotation)
		c.Input.ExtendedDaemonSet.Metadata.Annotations[validAnnotation] = c.Input.ReplicaSet.Metadata.Name
	}},
	{"no commands", func(c *statusCase) { c.Input.ExtendedDaemonSet.Metadata.Annotations = nil }},
	{"failed before", func(c *statusCase) { c.find(failedCondition, "OOMKilled") }},
	{"paused before", func(c *statusCase) { c.find(pausedCondition, "ImagePullBackOff") }},
	{"nothing found before", func(c *statusCase) { c.Input.ReplicaSet.Status.Conditions = nil }},
	{"never fails", func(c *statusCase) { c.spec().AutoFail.Enabled = new(false) }},
	{"fails", func(c *statusCase) { c.spec().AutoFail.Enabled = new(true) }},
	{"fails late", func(c *statusCase) { c.spec().AutoFail.MaxRestarts = new(int32(100)) }},
	{"never pauses", func(c *statusCase) { c.spec().AutoPause.Enabled = new(false) }},
	{"pauses at the first restart", func(c *statusCase) {
		c.spec().AutoPause.MaxRestarts, c.spec().AutoPause.Enabled = new(int32(0)), new(true)
	}},
	{"pauses at once", func(c *statusCase) { c.spec().AutoPause.MaxSlowStartDuration = nil }},
	{"gives two minutes", func(c *statusCase) {
		c.spec().AutoPause.MaxSlowStartDuration = &metav1.Duration{Duration: 2 * time.Minute}
	}},
	{"may take eleven minutes", func(c *statusCase) { c.spec().AutoFail.CanaryTimeout = &metav1.Duration{Duration: 11 * time.Minute} }},
	{"may restart for a minute", func(c *statusCase) { c.spec().AutoFail.MaxRestartsDuration = &metav1.Duration{Duration: time.Minute} }},
	{"a minute later", func(c *statusCase) { c.Input.Now = c.Input.Now.Add(time.Minute) }},
	{"no start times", func(c *statusCase) { c.pods(func(p *corev1.Pod) { p.Status.StartTime = nil }) }},
	{"all pods leave", func(c *statusCase) {
		c.pods(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: c.Input.Now} })
	}},
	{"all pods are outdated", func(c *statusCase) { c.pods(func(p *corev1.Pod) { p.Annotations[hashAnnotation] = "hash-old" }) }},
	{"one restart more", func(c *statusCase) {
		c.pods(func(p *corev1.Pod) {
			for i := range p.Status.ContainerStatuses {
				if s := &p.Status.ContainerStatuses[i]; s.LastTerminationState.Terminated != nil {
					s.RestartCount++
				}
			}
		})
	}},
}

// clone is a copy that shares nothing with the case, for a variation to change.
func (c *statusCase) clone() *statusCase {
	d := *c
	set := &d.Input.ExtendedDaemonSet
	set.Metadata.Annotations = maps.Clone(set.Metadata.Annotations)
	spec := new(*set.Spec.Strategy.Canary)
	spec.AutoPause, spec.AutoFail = new(*spec.AutoPause), new(*spec.AutoFail)
	set.Spec.Strategy.Canary = spec
	status := &d.Input.ReplicaSet.Status
	status.Conditions = slices.Clone(status.Conditions)
	d.Input.PodByNode = make(map[string]*corev1.Pod)
	for node, pod := range c.Input.PodByNode {
		d.Input.PodByNode[node] = pod.DeepCopy()
	}
	return &d
}

func (c *statusCase) spec() *canarySpec { return c.Input.ExtendedDaemonSet.Spec.Strategy.Canary }

func (c *statusCase) annotate(key string) {
	annotations := &c.Input.ExtendedDaemonSet.Metadata.Annotations
	if *annotations == nil {
		*annotations = make(map[string]string)
	}
	(*annotations)[key] = "true"
}

func (c *statusCase) find(kind, reason string) {
	out := statusOutcome{Conditions: c.Input.ReplicaSet.Status.Conditions}
	out.set(c.Input.Now, kind, true, reason, "")
	c.Input.ReplicaSet.Status.Conditions = out.Conditions
}

func (c *statusCase) pods(change func(*corev1.Pod)) {
	for _, pod := range c.Input.PodByNode {
		if pod != nil {
			change(pod)
		}
	}
}

// TestConformanceVariations compares Judge with the model in cases that are not recorded.
func TestConformanceVariations(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	cases := recordings[statusCase](t, "eds/canary-status.jsonl")
	for _, v := range variations {
		changed := 0
		for _, c := range cases {
			before := peer{rules: allRules}.judge(c.trial())
			c := c.clone()
			v.vary(c)
			o, in := c.input()
			j := canary.Judge(o, in)
			ours := judgedBy(j)
			ours.until = time.Time{}
			if want := (peer{rules: allRules}).judge(c.trial()); ours != want {
				t.Errorf("%s, %s:\n%v; model of the rules:\n%v", c.Name, v.name, ours, want)
			} else if want != before {
				changed++
			}
			assertJudgement(t, c.Name+", "+v.name, o, in, j)
			assertWake(t, c.Name+", "+v.name, o, in, j)
		}
		t.Logf("%-28s changes what becomes of %3d of %d cases", v.name, changed, len(cases))
		if changed == 0 {
			t.Errorf("%s changes nothing", v.name)
		}
	}
}
