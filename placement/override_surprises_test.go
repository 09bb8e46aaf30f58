package placement_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestSurprisesOfSettings shows what the library does where the recording's README lists surprising behaviour of the
// ExtendedDaemonSet controller, by the number there.
func TestSurprisesOfSettings(t *testing.T) {
	two, three := amounts("cpu", "2"), amounts("cpu", "3")
	named := func(number string) *recordedOverride {
		for _, c := range overrideCases(t) {
			if c.Name == "overrides/"+number {
				return c
			}
		}
		t.Skipf("the recording has no case %s", number)
		return nil
	}
	compile := func(overrides ...placement.Override) *placement.Overrides {
		compiled, err := placement.CompileOverrides("ns", "set", agent(), overrides)
		if err != nil {
			t.Fatal(err)
		}
		return compiled
	}
	created := func(overrides *placement.Overrides, node *corev1.Node) string {
		pod := placement.Pod(agent(), node.Name)
		overrides.Evaluate(node).Apply(pod)
		return pod.Annotations[placement.DigestAnnotation]
	}

	t.Run("23, setting and annotation", func(t *testing.T) {
		overrides, node := compile(at("a", 0, byContainer{"agent": two})), annotatedNode("agent", `{"limits":{"cpu":"3"}}`)
		if digest := created(overrides, node); digest == "" || digest != overrides.Evaluate(node).Digest {
			t.Errorf("a new pod has the digest %q and is to have %q", digest, overrides.Evaluate(node).Digest)
		}
		if c := named("0050"); c.Expect.UpToDate || !c.ours().UpToDate {
			t.Error("the recorded new pod is not up to date")
		}
	})
	t.Run("23, two entries for one container", func(t *testing.T) {
		var c recordedOverride
		c.Input.Kind, c.Input.ReplicaSet.Spec.Template = "createPod", *agent()
		c.Input.Setting, c.Input.Node = &setting{}, annotatedNode()
		c.Input.Setting.Metadata.Name = "s"
		for _, resources := range []corev1.ResourceRequirements{two, three} {
			c.Input.Setting.Spec.Containers = append(c.Input.Setting.Spec.Containers, struct {
				Name      string
				Resources corev1.ResourceRequirements
			}{"agent", resources})
		}
		fresh, _ := c.modelPod(0)
		if got := c.ours().Resources["agent"]; got != asJSON(filled(three)) || got != asJSON(filled(fresh.Spec.Containers[0].Resources)) {
			t.Errorf("the container gets %s; the last entry counts", got)
		}
		c.Input.Kind, c.Input.Pod = "comparePod", fresh
		if _, settings, _ := c.modelMatches(0); settings {
			t.Error("the peer finds its new pod up to date: there is no surprise")
		}
		if c.recordedDigest() != c.evaluate().Digest {
			t.Error("the new pod is not up to date")
		}
	})
	t.Run("24, setting removed or emptied", func(t *testing.T) {
		before := created(compile(at("a", 0, byContainer{"agent": two, "trace": two})), annotatedNode())
		for _, after := range []*placement.Overrides{
			compile(), compile(at("a", 0, nil)), compile(at("a", 0, byContainer{"agent": two})), compile(at("a", 0, byContainer{"agent": {}, "trace": two})),
		} {
			if digest := after.Evaluate(annotatedNode()).Digest; digest == before {
				t.Error("a change goes unnoticed")
			}
		}
		if c := named("0082"); !c.Expect.UpToDate || c.ours().UpToDate {
			t.Error("the recorded pod is still up to date")
		}
		// There the pod has what a new one would get all the same.
		if c := named("0109"); !c.Expect.UpToDate || !c.ours().UpToDate {
			t.Error("a pod that nothing would change is outdated")
		}
	})
	t.Run("25, malformed annotation", func(t *testing.T) {
		overrides, node := compile(at("a", 0, byContainer{"agent": two})), annotatedNode("agent", "{")
		got := overrides.Evaluate(node)
		if sketch(got) != "agent={'limits':{'cpu':'2'}} from 'a'; agent!not valid JSON" {
			t.Errorf("%s; it is reported, and the override below it counts", sketch(got))
		}
		if c := named("0041"); c.Expect.ErrorInController != "" || len(c.ours().Reported) == 0 {
			t.Error("the recorded annotation is not reported")
		}
	})
	t.Run("26, the older loses", func(t *testing.T) {
		got := compile(at("old", 0, byContainer{"agent": two, "trace": two}, "zone", "a"), at("new", 1, byContainer{"agent": three})).Evaluate(annotatedNode())
		if sketch(got) != "agent={'limits':{'cpu':'3'}} from 'new'; trace={'limits':{'cpu':'2'}} from 'old'; agent:new>old" {
			t.Errorf("%s; it loses one container, on this node", sketch(got))
		}
	})
	t.Run("26, settings for another set", func(t *testing.T) {
		c := named("0124")
		if said := c.ours().Said["s2"]; !slices.Equal(said, []string{"valid"}) {
			t.Errorf("of s2 is said %q", said)
		}
		if _, ok := c.ours().Said["s0"]; ok {
			t.Error("something is said of another set's setting")
		}
	})
	t.Run("26, one invalid selector", func(t *testing.T) {
		c := named("0119")
		said := c.ours().Said
		if !slices.Equal(said["s0"], []string{"valid"}) || !slices.Equal(said["s1"], []string{"invalid selector"}) {
			t.Errorf("is said: %q", said)
		}
		if got := c.ours().Sources["n01"]; len(got) == 0 || !strings.HasPrefix(asJSON(got), `{"`) {
			t.Errorf("the valid one gives n01 %v", got)
		}
	})
}
