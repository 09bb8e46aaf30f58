package canary_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// change is one change that makes a variation of a recorded case. No change depends on the recording. It sets values that any
// recording may have.
type change[C any] struct {
	name string
	make func(c *C, r *rand.Rand)
}

// vary makes some variations of each of n recorded cases, each by one to four changes of a copy, and returns the names of these
// changes.
func vary[C any](n, each int, changes []change[C], copied func(i int) (*C, string)) (cases []*C, made []string) {
	for i := range n {
		for k := range each {
			r := rand.New(rand.NewPCG(uint64(i), uint64(k)))
			c, what := copied(i)
			for range 1 + r.IntN(4) {
				change := oneOf(r, changes)
				change.make(c, r)
				what += ", " + change.name
			}
			cases, made = append(cases, c), append(made, what)
		}
	}
	return cases, made
}

var statusChanges = []change[statusCase]{
	{"another reason to wait", func(c *statusCase, r *rand.Rand) {
		c.container(r, func(s *corev1.ContainerStatus) {
			reason := oneOf(r, slices.Concat(cannotStart, []string{"ContainerCreating", "PodInitializing", "CrashLoopBackOff", "", "Other"}))
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		})
	}},
	{"other restarts", func(c *statusCase, r *rand.Rand) {
		c.container(r, func(s *corev1.ContainerStatus) {
			s.RestartCount = oneOf(r, []int32{math.MinInt32, -1, 0, 1, 2, 3, 5, 6, 12, math.MaxInt32})
		})
	}},
	{"another end", func(c *statusCase, r *rand.Rand) {
		c.container(r, func(s *corev1.ContainerStatus) {
			s.RestartCount = max(s.RestartCount, 1)
			s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				FinishedAt: c.instant(r), Reason: oneOf(r, []string{"", "Error", "OOMKilled"}),
			}}
		})
	}},
	{"a last state without an end", func(c *statusCase, r *rand.Rand) {
		c.container(r, func(s *corev1.ContainerStatus) {
			s.RestartCount = int32(r.IntN(4))
			s.LastTerminationState = oneOf(r, []corev1.ContainerState{
				{}, {Running: &corev1.ContainerStateRunning{StartedAt: c.instant(r)}}, {Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			})
		})
	}},
	{"another start", func(c *statusCase, r *rand.Rand) {
		c.container(r, func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.instant(r)}}
		})
	}},
	{"another container", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) {
			lists := []*[]corev1.ContainerStatus{
				&p.Status.ContainerStatuses, &p.Status.InitContainerStatuses, &p.Status.EphemeralContainerStatuses,
			}
			to, from := oneOf(r, lists), oneOf(r, lists)
			if len(*from) > 0 {
				s := oneOf(r, *from)
				s.Name += "-2"
				*to = append(*to, s)
			}
		})
	}},
	{"an ephemeral container", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) {
			p.Status.EphemeralContainerStatuses = append(p.Status.EphemeralContainerStatuses, corev1.ContainerStatus{
				Name: "debugger", RestartCount: int32(r.IntN(9)),
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: oneOf(r, cannotStart)}},
			})
		})
	}},
	{"no start time", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) { p.Status.StartTime = nil })
	}},
	{"another start time", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) { p.Status.StartTime = new(c.instant(r)) })
	}},
	{"another creation", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) { p.CreationTimestamp = c.instant(r) })
	}},
	{"a pod that has ended", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) {
			p.Status.Phase = oneOf(r, []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded})
		})
	}},
	{"a pod that leaves, or not", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) { p.DeletionTimestamp = oneOf(r, []*metav1.Time{nil, new(c.instant(r))}) })
	}},
	{"an outdated pod, or not", func(c *statusCase, r *rand.Rand) {
		c.pod(r, func(p *corev1.Pod) {
			p.Annotations = map[string]string{hashAnnotation: oneOf(r, []string{"hash-old", c.Input.ReplicaSet.Spec.TemplateGeneration})}
		})
	}},
	{"no pod", func(c *statusCase, r *rand.Rand) {
		if len(c.Input.CanaryNodes) > 0 {
			c.Input.PodByNode[oneOf(r, c.Input.CanaryNodes)] = nil
		}
	}},
	{"another order", func(c *statusCase, r *rand.Rand) {
		nodes := slices.Clone(c.Input.CanaryNodes)
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		c.Input.CanaryNodes = nodes
	}},
	{"another beginning", func(c *statusCase, r *rand.Rand) { c.dated(r, beganCondition) }},
	{"other restarts on record", func(c *statusCase, r *rand.Rand) { c.dated(r, restartingCondition) }},
	{"another verdict on record", func(c *statusCase, r *rand.Rand) {
		c.dated(r, oneOf(r, []string{failedCondition, pausedCondition}))
	}},
	{"another command", func(c *statusCase, r *rand.Rand) {
		c.annotate(oneOf(r, []string{pausedAnnotation, unpausedAnnotation, failedAnnotation, haltedAnnotation, frozenAnnotation}))
	}},
	{"other limits", func(c *statusCase, r *rand.Rand) {
		few := []int32{0, 1, 2, 5, math.MaxInt32}
		pause, fail := c.spec().AutoPause, c.spec().AutoFail
		if pause == nil || fail == nil {
			return
		}
		*oneOf(r, []**int32{&pause.MaxRestarts, &fail.MaxRestarts}) = new(oneOf(r, few))
		*oneOf(r, []**bool{&pause.Enabled, &fail.Enabled}) = new(r.IntN(2) == 0)
		spans := []time.Duration{0, time.Second, time.Minute, 11 * time.Minute, 20 * time.Minute, math.MaxInt64}
		*oneOf(r, []**metav1.Duration{&pause.MaxSlowStartDuration, &fail.MaxRestartsDuration, &fail.CanaryTimeout}) =
			&metav1.Duration{Duration: oneOf(r, spans)}
	}},
	{"limits that are not set", func(c *statusCase, r *rand.Rand) {
		switch spec := c.spec(); {
		case r.IntN(2) == 0:
			spec.AutoPause = nil
		case r.IntN(2) == 0:
			spec.AutoFail = nil
		case spec.AutoPause != nil && spec.AutoFail != nil:
			spec.AutoPause.Enabled, spec.AutoFail.MaxRestarts = nil, nil
		}
	}},
}

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// ago is an instant near one at which a decision may change: in the hour before the look, or just after it.
func (c *statusCase) ago(r *rand.Rand) time.Time {
	return c.Input.Now.Add(-oneOf(r, []time.Duration{
		-time.Minute, 0, time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, 11 * time.Minute, time.Hour,
	}))
}

// instant is such an instant, or none.
func (c *statusCase) instant(r *rand.Rand) metav1.Time {
	if r.IntN(9) == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(c.ago(r))
}

// pod changes the pod of a canary node, if it has one.
func (c *statusCase) pod(r *rand.Rand, change func(*corev1.Pod)) {
	var pods []*corev1.Pod
	for _, node := range c.Input.CanaryNodes {
		if pod := c.Input.PodByNode[node]; pod != nil {
			pods = append(pods, pod)
		}
	}
	if len(pods) > 0 {
		change(oneOf(r, pods))
	}
}

// container changes a container of such a pod.
func (c *statusCase) container(r *rand.Rand, change func(*corev1.ContainerStatus)) {
	c.pod(r, func(p *corev1.Pod) {
		var all []*corev1.ContainerStatus
		for _, list := range [][]corev1.ContainerStatus{
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses,
		} {
			for i := range list {
				all = append(all, &list[i])
			}
		}
		if len(all) > 0 {
			change(oneOf(r, all))
		}
	})
}

// dated sets a condition, or removes it.
func (c *statusCase) dated(r *rand.Rand, kind string) {
	conditions := slices.DeleteFunc(slices.Clone(c.Input.ReplicaSet.Status.Conditions), func(c condition) bool { return c.Type == kind })
	if r.IntN(8) > 0 {
		conditions = append(conditions, condition{
			Type: kind, Status: oneOf(r, []string{"True", "True", "False"}), Reason: oneOf(r, []string{"", "OOMKilled", "ErrImagePull"}),
			LastTransitionTime: metav1.NewTime(c.ago(r)), LastUpdateTime: metav1.NewTime(c.ago(r)),
		})
	}
	c.Input.ReplicaSet.Status.Conditions = conditions
}

// varied makes variations of recorded looks at the pods.
func varied(tb testing.TB, each int) (cases []*statusCase, made []string) {
	recorded := recordings[statusCase](tb, "eds/canary-status.jsonl")
	return vary(len(recorded), each, statusChanges, func(i int) (*statusCase, string) { return recorded[i].clone(), recorded[i].Name })
}

// TestConformanceStatusVaried compares Judge with the model of the controller on randomly generated variations, of which nothing
// is recorded. Entries must explain each difference.
func TestConformanceStatusVaried(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	cases, names := varied(t, 10)
	count := tally{file: "variations of canary-status", of: judgeRules, own: watchRules}
	for i, c := range cases {
		count.cases++
		s := c.trial()
		o, in := c.input()
		if len(s.spec.refused()) > 0 {
			count.refused++
			continue
		}
		j := canary.Judge(o, in)
		ours := judgedBy(j)
		ours.until = time.Time{}
		if want := (peer{rules: allRules}).judge(s); ours != want {
			t.Errorf("%s:\n%v; model of the rules:\n%v", names[i], ours, want)
			continue
		}
		count.add(func(p peer) bool { return p.judge(s) == ours })
		assertJudgement(t, names[i], o, in, j)
		assertWake(t, names[i], o, in, j)
	}
	count.report(t)
}
