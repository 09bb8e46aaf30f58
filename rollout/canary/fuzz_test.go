package canary_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// FuzzJudgeOracle and FuzzJudgeWake are properties of TestJudgeProperties as fuzz targets.
func FuzzJudgeOracle(f *testing.F) { fuzzProperty(f, "oracle") }

func FuzzJudgeWake(f *testing.F) { fuzzProperty(f, "wake") }

func fuzzProperty(f *testing.F, name string) {
	property := judgeProperties()[name]
	fuzzing.Property(f, rapid.MakeFuzz(func(t *rapid.T) {
		if wrong := property(canary.Judge, anyStory().Draw(t, "story")); wrong != "" {
			t.Fatal(wrong)
		}
	}))
}

func FuzzChoose(f *testing.F) {
	property := chooseProperties()["oracle"]
	fuzzing.Property(f, rapid.MakeFuzz(func(t *rapid.T) {
		if wrong := property(canary.Choose, anyChoosing().Draw(t, "choosing")); wrong != "" {
			t.Fatal(wrong)
		}
	}))
}

// FuzzHostile gives Judge options, a record and a pod that anybody may have written. It holds that nothing panics, that the
// phase is one of the phases, and that Validate can judge the options.
func FuzzHostile(f *testing.F) {
	s := observing()
	s.o = everything()
	s.in.Nodes[0] = bad("a", times(3), waits("b", "ErrImagePull"))
	s.in.Record.Pause, s.in.Record.Verdict = autoPaused(), autoPaused()
	s.in.Record.Before = []canary.Baseline{{UID: "b"}, {UID: "a", Restarts: map[string]int32{"agent": 1}}}
	f.Add(asJSON(s.o), asJSON(s.in.Record), asJSON(s.in.Nodes[0].Pods[0]), "failed", int64(0), "zone")
	f.Add(`{"Replicas":"0%","Duration":-1,"AutoFail":{"MaxRestarts":-5,"CanaryTimeout":-9223372036854775808}}`,
		`{"revision":"5d8f7b9c4","elapsed":-1,"nodes":["z","a",""],"verdict":{"phase":"Running"},"pause":{"phase":"Idle","reason":"Promoted"}}`,
		`{"status":{"containerStatuses":[{"restartCount":-2147483648,"lastState":{"terminated":{}}}]}}`, "retry", int64(-1)<<62, "")
	f.Fuzz(func(t *testing.T, options, record, pod, text string, seconds int64, key string) {
		var o canary.Options
		var p corev1.Pod
		in := canary.Input{Now: time.Unix(seconds, 0), Revision: onTrial, Name: text, Annotations: map[string]string{text: key, "daemonplan.io/" + text: key}}
		// What cannot be decoded stays as far as it was.
		_ = json.Unmarshal([]byte(options), &o)
		_ = json.Unmarshal([]byte(record), &in.Record)
		_ = json.Unmarshal([]byte(pod), &p)
		in.Known = canary.Known(len(key) % 5)
		in.Nodes = []canary.Node{
			{Name: text, Available: true, Pods: []*corev1.Pod{nil, &p}}, {}, {Name: text, Pods: []*corev1.Pod{&p, nil, {}}}, {Name: key, Available: true},
		}
		o.Commands.Retry += text
		j := canary.Judge(o, in)
		if j.Phase > canary.Failed || !j.Wake.IsZero() && !j.Wake.After(in.Now) || j.Message() == "" {
			t.Errorf("judged %s", say(j))
		}
		if again := canary.Judge(o.Default(), in); o.Mode != canary.Manual && say(again) != say(j) {
			t.Errorf("judged %s, with defaults %s", say(j), say(again))
		}
		all := []canary.Candidate{{}, {Name: text, Labels: map[string]string{key: text}, Restarts: int32(seconds)}, {Name: text, Updated: true}, {Name: key}}
		c := canary.Choose(o, canary.Choosing{
			Desired: int32(seconds), Chosen: in.Record.Nodes, All: slices.Values(all),
			Find: func(name string) (canary.Candidate, bool) { return canary.Candidate{Name: key}, name == text },
		})
		if len(c.Nodes) > int(c.Wanted) || c.Wanted < 1 || !slices.IsSorted(c.Nodes) || len(slices.Compact(slices.Clone(c.Nodes))) != len(c.Nodes) {
			t.Errorf("chose %v", c)
		}
		for _, e := range o.Validate(field.NewPath("canary")) {
			_ = e.Error()
		}
	})
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestHostileNil holds that nil and empty inputs cause no panic.
func TestHostileNil(t *testing.T) {
	if j := canary.Judge(canary.Options{}, canary.Input{}); j.Phase != canary.Running || j.Reason != canary.NoNodes {
		t.Errorf("judged %s", say(j))
	}
	if c := canary.Choose(canary.Options{}, canary.Choosing{}); c.Wanted != 1 || len(c.Nodes) != 0 {
		t.Errorf("chose %v", c)
	}
	o := canary.Options{Replicas: &intstr.IntOrString{Type: 9}, NodeSelector: &metav1.LabelSelector{}}
	if size := canary.Size(o, 10); size != 1 {
		t.Errorf("the size is %d", size)
	}
}
