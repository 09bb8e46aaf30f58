package transcript_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// specTest is a row: what arguments of the command spec make of one field.
type specTest struct {
	arguments, why string
	of             func(*rollout.Spec) any
	want           any
}

func specTests() []specTest {
	container := func(s *rollout.Spec) *corev1.Container { return &s.Template.Spec.Containers[0] }
	image := func(s *rollout.Spec) any { return container(s).Image }
	environment := func(s *rollout.Spec) any { return container(s).Env }
	requests := func(s *rollout.Spec) any { return container(s).Resources.Requests }
	limits := func(s *rollout.Spec) any { return container(s).Resources.Limits }
	nodeSelector := func(s *rollout.Spec) any { return s.Template.Spec.NodeSelector }
	tolerations := func(s *rollout.Spec) any { return s.Template.Spec.Tolerations }
	selector := func(s *rollout.Spec) any { return s.Strategy.NodeSelector }
	trial := func(s *rollout.Spec) any { return s.Strategy.Canary }
	slowStart := func(s *rollout.Spec) any { return s.Strategy.SlowStart }
	quantity := func(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }
	labelled := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	return []specTest{
		{"image=v2", "a tag of the image that the set has", image, "agent:v2"},
		{"image=other:v2", "an image that has a tag is itself", image, "other:v2"},
		{"image=registry/other", "an image that has a path is itself", image, "registry/other"},
		{"image=@sha256:0", "a digest is no tag", image, "@sha256:0"},
		{"maxUnavailable=2", "a number", func(s *rollout.Spec) any { return s.Strategy.MaxUnavailable }, quantity("2")},
		{"maxSurge=30%", "a percentage", func(s *rollout.Spec) any { return s.Strategy.MaxSurge }, quantity("30%")},
		{"burst=2", "a number", func(s *rollout.Spec) any { return s.Burst }, quantity("2")},
		{"minReadySeconds=30", "a number", func(s *rollout.Spec) any { return s.MinReadySeconds }, int32(30)},
		{"minReadySeconds=2147483647", "the largest there is", func(s *rollout.Spec) any { return s.MinReadySeconds }, int32(2147483647)},
		{"historyLimit=1", "a number", func(s *rollout.Spec) any { return s.RevisionHistoryLimit }, new(int32(1))},
		{"type=OnDelete", "one of two", func(s *rollout.Spec) any { return s.Strategy.Type }, rollout.OnDelete},
		{"paused=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.Paused }, true},
		{"frozen=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.Frozen }, true},
		{"nodeSelector=disk=ssd", "in the place of that before", nodeSelector, map[string]string{"disk": "ssd"}},
		{"nodeSelector=none", "it ends", nodeSelector, map[string]string(nil)},
		{"tolerate=everything", "no key stands for all", tolerations, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		{"tolerate=dedicated:NoSchedule", "of one taint", tolerations,
			[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}},
		{"partition=10%", "a percentage", func(s *rollout.Spec) any { return s.Strategy.Partition }, quantity("10%")},
		{"selector=tier=canary", "in the place of that before", selector, labelled("tier", "canary")},
		{"selector=none", "it ends", selector, (*metav1.LabelSelector)(nil)},
		{"partitionedScaling=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.PartitionedScaling }, true},
		{"holdRevision=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.HoldRevision }, true},
		{"method=InPlaceOnly", "one of three", func(s *rollout.Spec) any { return s.Strategy.Method }, inplace.Only},
		{"resize=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.InPlace.Resize }, true},
		{"cgroupV1=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.InPlace.CgroupV1 }, true},
		{"sidecars=false", "a choice, which is true without", func(s *rollout.Spec) any { return *s.Strategy.InPlace.Sidecars }, false},
		{"addedTolerations=false", "a choice, which is true without", func(s *rollout.Spec) any { return *s.Strategy.InPlace.Tolerations }, false},
		{"envFromMetadata=true", "a truth", func(s *rollout.Spec) any { return s.Strategy.InPlace.EnvFromMetadata }, true},
		{"restartKeys=checksum/,stamp", "several keys", func(s *rollout.Spec) any { return s.Strategy.InPlace.RestartKeys }, []string{"checksum/", "stamp"}},
		{"serveOn=exporter,proxy", "several names", func(s *rollout.Spec) any { return s.Strategy.InPlace.ServeOn }, []string{"exporter", "proxy"}},
		{"gracePeriod=10", "seconds", func(s *rollout.Spec) any { return s.Strategy.InPlace.GracePeriodSeconds }, int32(10)},
		{"parallelism=2", "it turns pre-download on", func(s *rollout.Spec) any { return s.PreDownload.Parallelism }, quantity("2")},
		{"parallelism=2 minUpdatedReadyPods=3", "beside it", func(s *rollout.Spec) any { return s.PreDownload.MinUpdatedReadyPods }, quantity("3")},
		{"requests=cpu:1,memory:1Gi", "several amounts", requests,
			corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
		{"limits=cpu:500m", "one amount", limits, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}},
		{"restartToResize=memory", "a resource", func(s *rollout.Spec) any { return container(s).ResizePolicy },
			[]corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}},
		{"env=LEVEL:debug", "in the place of that of the name, beside the others", environment,
			[]corev1.EnvVar{{Name: "ZONE", Value: "a"}, {Name: "LEVEL", Value: "debug"}}},
		{"env=URL:http://a", "only the first colon divides", environment,
			[]corev1.EnvVar{{Name: "LEVEL", Value: "info"}, {Name: "ZONE", Value: "a"}, {Name: "URL", Value: "http://a"}}},
		{"label=tier:edge", "beside the others", func(s *rollout.Spec) any { return s.Template.Labels },
			map[string]string{"app": "agent", "tier": "edge"}},
		{"annotation=note:x", "of the template", func(s *rollout.Spec) any { return s.Template.Annotations }, map[string]string{"note": "x"}},
		{"canary=2", "nothing else of the canary changes", trial,
			&canary.Options{Replicas: quantity("2"), Mode: canary.Auto, Duration: new(time.Hour), NoRestartsDuration: new(time.Minute)}},
		{"canary=none", "the canary is off", trial, (*canary.Options)(nil)},
		{"duration=5m", "a duration", func(s *rollout.Spec) any { return s.Strategy.Canary.Duration }, new(5 * time.Minute)},
		{"duration=none", "the default of the spec", trial,
			&canary.Options{Replicas: quantity("1"), Mode: canary.Auto, NoRestartsDuration: new(time.Minute)}},
		{"noRestarts=5m", "a duration", func(s *rollout.Spec) any { return s.Strategy.Canary.NoRestartsDuration }, new(5 * time.Minute)},
		{"canaryTimeout=1h", "of failing by itself", func(s *rollout.Spec) any { return s.Strategy.Canary.AutoFail },
			canary.AutoFail{CanaryTimeout: new(time.Hour)}},
		{"maxRestartsDuration=5m", "of failing by itself", func(s *rollout.Spec) any { return s.Strategy.Canary.AutoFail },
			canary.AutoFail{MaxRestartsDuration: new(5 * time.Minute)}},
		{"maxSlowStart=5m", "of pausing by itself", func(s *rollout.Spec) any { return s.Strategy.Canary.AutoPause },
			canary.AutoPause{MaxSlowStartDuration: new(5 * time.Minute)}},
		{"validation=manual", "there are no durations then", trial, &canary.Options{Replicas: quantity("1"), Mode: canary.Manual}},
		{"validation=auto", "durations stay", trial,
			&canary.Options{Replicas: quantity("1"), Mode: canary.Auto, Duration: new(time.Hour), NoRestartsDuration: new(time.Minute)}},
		{"validation=other", "the planner refuses it", func(s *rollout.Spec) any { return s.Strategy.Canary.Mode }, canary.Mode("other")},
		{"canarySelector=disk:ssd", "a label", func(s *rollout.Spec) any { return s.Strategy.Canary.NodeSelector }, labelled("disk", "ssd")},
		{"spread=zone", "a key", func(s *rollout.Spec) any { return s.Strategy.Canary.NodeAntiAffinityKeys }, []string{"zone"}},
		{"slowStart=1m,1,250", "interval, increase, maxParallel", slowStart,
			&rollout.SlowStart{Interval: time.Minute, Increase: quantity("1"), MaxParallel: quantity("250")}},
		{"slowStart=none", "it is off", slowStart, (*rollout.SlowStart)(nil)},
		{"maxUnschedulable=1", "a number", func(s *rollout.Spec) any { return s.Strategy.MaxUnschedulable }, quantity("1")},

		{"maxExempt=10%", "a percentage", func(s *rollout.Spec) any { return s.Strategy.Policy.Outages.MaxExempt }, quantity("10%")},
		{"provenAfter=1h", "alone it leaves no node out", func(s *rollout.Spec) any { return *s.Strategy.Policy.Outages },
			outage.Options{ProvenAfter: time.Hour}},
		{"touch=true", "with others", func(s *rollout.Spec) any { return s.Strategy.Policy.Outages.Touch }, true},
		{"domains=rack:2,zone::1", "a list", domainsOf, []domain.Domain{{Key: "rack", Max: quantity("2")}, {Key: "zone", AtOnce: 1}}},
		{"stages=ring-0:selector=ring=0:soak=1h,zones:key=zone:tolerance=5%:approval,rest", "a list", stages, []stage.Stage{
			{Name: "ring-0", Selector: labelled("ring", "0"), Soak: time.Hour},
			{Name: "zones", Key: "zone", Tolerance: quantity("5%"), Approval: true}, {Name: "rest"},
		}},
		{"stages=none", "they are off", stages, []stage.Stage(nil)},
		{"failures=deadline=1m:maxFailed=2%:action=Rollback:quarantine=1%:maxRestarts=3", "a list", failures, &failure.Options{
			Deadline: time.Minute, MaxFailed: quantity("2%"), Action: failure.Rollback, Quarantine: quantity("1%"), MaxRestarts: new(int32(3)),
		}},
		{"failures=default", "on, and nothing set", failures, &failure.Options{}},
		{"failures=none", "they are off", failures, (*failure.Options)(nil)},
		{"domains=none", "they are off", domainsOf, []domain.Domain(nil)},
	}
}

func failures(s *rollout.Spec) any { return s.Strategy.Policy.Failures }

func stages(s *rollout.Spec) any { return s.Strategy.Policy.Stages }

func domainsOf(s *rollout.Spec) any { return s.Strategy.Policy.Domains }

// TestSpecArguments: each argument of the command spec sets the field that it is documented for.
func TestSpecArguments(t *testing.T) {
	tests := specTests()
	for _, key := range transcript.SpecKeys() {
		if !strings.Contains(rowsOf(tests), " "+key+"=") {
			t.Errorf("no row is about %s", key)
		}
	}
	for _, tt := range tests {
		t.Run(tt.arguments, func(t *testing.T) {
			spec := kit.Spec("agent", kit.Canary("1"), kit.CanaryFor(time.Hour, time.Minute), kit.SlowStart(time.Hour, "7", "9"),
				kit.TemplateNodeSelector("pool", "a"), kit.StrategyNodeSelector("pool", "a"), kit.Env("LEVEL", "info"), kit.Env("ZONE", "a"))
			got, err := transcript.SpecAfter(spec, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.of(&got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}

func rowsOf(tests []specTest) string {
	var b strings.Builder
	for i := range tests {
		b.WriteString(" " + tests[i].arguments)
	}
	return b.String()
}

// TestTags: another tag is one of the image's own name, whatever stands behind it.
func TestTags(t *testing.T) {
	tests := []struct{ name, image, want string }{
		{"no tag", "agent", "agent:v2"},
		{"a tag", "agent:v1", "agent:v2"},
		{"a path", "registry.example.com/team/agent:v1", "registry.example.com/team/agent:v2"},
		{"a port, and no tag", "registry.example.com:5000/agent", "registry.example.com:5000/agent:v2"},
		{"a digest", "agent@sha256:0123", "agent:v2"},
		{"a tag and a digest", "agent:v1@sha256:0123", "agent:v2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec, err := transcript.SpecAfter(kit.Spec("agent", kit.Image(tt.image)), "image=v2")
			if err != nil || spec.Template.Spec.Containers[0].Image != tt.want {
				t.Errorf("image %s (error %v), want %s", spec.Template.Spec.Containers[0].Image, err, tt.want)
			}
		})
	}
}

// TestSpecArgumentsThatCannotBe: a typo must not pass for a default.
func TestSpecArgumentsThatCannotBe(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{"image=", "unknown argument image="},
		{"image=v2 image=v3", "unknown argument image=v3"},
		{"paused=perhaps", "paused: "},
		{"minReadySeconds=soon", "minReadySeconds: "},
		{"minReadySeconds=0x1e", "minReadySeconds: "},
		{"minReadySeconds=1a", "minReadySeconds: "},
		{"minReadySeconds=2147483648", "minReadySeconds: "},
		{"nodeSelector=ssd", "nodeSelector: ssd must be key=value or none"},
		{"nodeSelector==ssd", "nodeSelector: =ssd must be key=value or none"},
		{"selector=canary", "selector: canary must be key=value or none"},
		{"tolerate=dedicated", "tolerate: dedicated must be key:Effect or everything"},
		{"requests=cpu", "requests: cpu must be name:quantity"},
		{"limits=cpu:1,memory:plenty", "limits: memory:plenty must be name:quantity"},
		{"env=LEVEL", "env: LEVEL must be key:value"},
		{"duration=soon", "duration: "},
		{"slowStart=1m,1", "slowStart: 1m,1 must be interval,increase,maxParallel"},
		{"slowStart=1m,1,2,3", "slowStart: 1m,1,2,3 must be interval,increase,maxParallel"},
		{"slowStart=soon,1,2", "slowStart: "},
		{"failures=deadline=soon", "failures: time: invalid duration"},
		{"failures=maxRestarts=few", "failures: strconv.Atoi"},
		{"failures=maxfailed=1", "failures: there is no maxfailed; there are deadline"},
		{"stages=a:soak=soon", "stages: a:soak=soon: time: invalid duration"},
		{"stages=a:approval=perhaps", "stages: a:approval=perhaps: approval takes no value"},
		{"stages=a:selector=ring", "stages: a:selector=ring: selector=ring must be selector=key=value"},
		{"stages=a:zone", "stages: a:zone: there is no zone; there are selector, key, tolerance, soak and approval"},
	}
	for _, tt := range tests {
		t.Run(tt.arguments, func(t *testing.T) {
			if _, err := transcript.SpecAfter(kit.Spec("agent"), tt.arguments); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want one that begins with %q", err, tt.want)
			}
		})
	}
}

// TestSpecsAreNotWrittenTo: the spec of an option is the test's own, and the next transcript begins with it again.
func TestSpecsAreNotWrittenTo(t *testing.T) {
	spec, same := kit.Spec("mine"), kit.Spec("mine")
	const text = "# Specs.\n\n# Another image from the start, a crashing one, and another one.\n" +
		"cluster spec=mine nodes=a image=v2 limits=cpu:1 env=A:b crashing=v3\nspec image=v4 label=a:b\n" +
		"apply spec=mine\nspec image=v5\nbehave crashLoop=v6\n----\n"
	if _, err := transcript.Play(text, transcript.WithSpec("mine", spec)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(same, spec); diff != "" {
		t.Errorf("the spec was written to (-before +after):\n%s", diff)
	}
}

// TestSpecsWithoutContainers: what changes a container must not look for one where there is none. The spec is refused.
func TestSpecsWithoutContainers(t *testing.T) {
	empty := kit.Spec("empty")
	empty.Template.Spec.Containers = nil
	for _, argument := range []string{"image=v2", "env=A:b", "limits=cpu:1", "crashing=v2", "stuck=v2", "restartToResize=cpu"} {
		_, err := transcript.Play("# Specs.\n\n# Why.\ncluster spec=empty "+argument+"\n----\n", transcript.WithSpec("empty", empty))
		if err == nil || !strings.Contains(err.Error(), "containers") {
			t.Errorf("%s: error %v", argument, err)
		}
	}
}

// TestSpecsAreTheOwnersOfPods: by their UID, which is made of the name if the spec has none.
func TestSpecsAreTheOwnersOfPods(t *testing.T) {
	for given, want := range map[types.UID]string{"": "set-mine", "a-b-c": "a-b-c"} {
		spec := kit.Spec("mine")
		spec.UID = given
		pod := text("objects", "kind: Pod", "metadata:", "  name: p", "  uid: p", "  namespace: default",
			"  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: mine, uid: "+want+", controller: true}]",
			"  labels: {app: mine}", "spec: {nodeName: a}", "status: {phase: Running}")
		story := "# Specs.\n\n# Why.\ncluster spec=mine nodes=a\n" + pod + "\nexpect status current=1\napply spec=mine\nexpect status current=1\n----\n"
		if _, err := transcript.Play(story, transcript.WithSpec("mine", spec)); err != nil {
			t.Errorf("UID %q: %v", given, err)
		}
	}
}
