package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// policied returns a manifest of each kind and version with the annotation of policies.
func policied(policy string) map[string]string {
	manifests := make(map[string]string)
	for _, kind := range []string{"apps/v1 DaemonSet", "apps.kruise.io/v1alpha1 DaemonSet", "apps.kruise.io/v1beta1 DaemonSet",
		"datadoghq.com/v1alpha1 ExtendedDaemonSet"} {
		version, name, _ := strings.Cut(kind, " ")
		value, _ := json.Marshal(policy)
		manifests[kind] = fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: agent\n  annotations:\n    %s: %s\nspec:\n"+
			"  selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n"+
			"    spec: {containers: [{name: agent, image: agent:v1}]}\n", version, name, manifest.PolicyAnnotation, value)
	}
	return manifests
}

func TestDecodePolicy(t *testing.T) {
	type test struct {
		row
		policy string
		want   rollout.Policy
	}
	everything := &outage.Options{
		MaxExempt: new(intstr.FromString("5%")), ProvenAfter: time.Hour, Taints: []string{"example.com/retiring"},
		Conditions: []string{"example.com/Draining"}, Touch: true,
	}
	each(t, []test{
		{row{"none", "an empty annotation is as good as none"}, "", rollout.Policy{}},
		{row{"comments", "nothing is said"}, "# later\n---\n", rollout.Policy{}},
		{row{"null", "nothing is said"}, "null", rollout.Policy{}},
		{row{"empty", "nothing is said"}, "{}", rollout.Policy{}},
		{row{"rule that is null", "as good as leaving it out"}, "outages:\n", rollout.Policy{}},
		{row{"rule without settings", "M8 alone: departing nodes are left alone"}, "outages: {}", rollout.Policy{Outages: &outage.Options{}}},
		{row{"settings that are null", "the defaults are New's"}, "outages: {maxExempt: null, provenAfter: null, taints: null, touch: null}",
			rollout.Policy{Outages: &outage.Options{}}},
		{row{"everything", "every field has its place"},
			"outages:\n  maxExempt: 5%\n  provenAfter: 1h\n  taints: [example.com/retiring]\n  conditions:\n  - example.com/Draining\n  touch: true\n",
			rollout.Policy{Outages: everything}},
		{row{"domains", "every field has its place"},
			"domains:\n- key: topology.kubernetes.io/zone\n  atOnce: 1\n- {selector: {matchLabels: {pool: gpu}}, key: rack, max: 10%}\n- max: 3\n",
			rollout.Policy{Domains: []domain.Domain{
				{Key: "topology.kubernetes.io/zone", AtOnce: 1},
				{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}}, Key: "rack", Max: new(intstr.FromString("10%"))},
				{Max: new(intstr.FromInt32(3))},
			}}},
		{row{"stages", "every field has its place"},
			"stages:\n- {name: ring-0, selector: {matchLabels: {ring: '0'}}, soak: 1h}\n" +
				"- name: zones\n  key: topology.kubernetes.io/zone\n  tolerance: 2%\n  soak: null\n  approval: true\n" +
				"approved:\n- {stage: zones, value: a, revision: agent-1}\n- stage: zones\n  revision: agent-2\nexpedite: agent-3\n",
			rollout.Policy{
				Stages: []stage.Stage{
					{Name: "ring-0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}, Soak: time.Hour},
					{Name: "zones", Key: "topology.kubernetes.io/zone", Tolerance: new(intstr.FromString("2%")), Approval: true},
				},
				Approved: []stage.Approval{{Stage: "zones", Value: "a", Revision: "agent-1"}, {Stage: "zones", Revision: "agent-2"}},
				Expedite: "agent-3",
			}},
		{row{"failures", "every field has its place"},
			"failures: {deadline: 5m, maxRestarts: 3, maxFailed: 2%, action: Rollback, retry: agent-5d8f/2, quarantine: 1}",
			rollout.Policy{Failures: &failure.Options{
				Deadline: 5 * time.Minute, MaxRestarts: new(int32(3)), MaxFailed: new(intstr.FromString("2%")), Action: failure.Rollback,
				Retry: "agent-5d8f/2", Quarantine: new(intstr.FromInt32(1)),
			}}},
		{row{"empty failures", "they are on, with their defaults"}, "failures: {}", rollout.Policy{Failures: &failure.Options{}}},
		{row{"stages that are null", "as good as leaving them out"}, "stages: null\napproved: null\nexpedite: null", rollout.Policy{}},
		{row{"JSON", "as programs write it, and jq with tabs"},
			"{\n\t\"outages\": {\"maxExempt\": \"5%\", \"provenAfter\": \"60m\", \"taints\": [\"example.com/retiring\"],\n\t" +
				"\"conditions\": [\"example.com/Draining\"], \"touch\": true}}", rollout.Policy{Outages: everything}},
		{row{"integer", "a number of nodes"}, "outages: {maxExempt: 2}", rollout.Policy{Outages: &outage.Options{MaxExempt: new(intstr.FromInt32(2))}}},
		{row{"anchor", "an alias is read as what it stands for"}, "outages: {taints: &a [x], conditions: *a}",
			rollout.Policy{Outages: &outage.Options{Taints: []string{"x"}, Conditions: []string{"x"}}}},
		{row{"documents without content", "they are none"}, "---\noutages: {}\n---\n", rollout.Policy{Outages: &outage.Options{}}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		for kind, text := range policied(c.policy) {
			set, err := manifest.Decode([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if diff := cmp.Diff(c.want, set.Spec.Strategy.Policy); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
			if len(set.Unknown) > 0 {
				t.Errorf("%s: unknown %v", kind, set.Unknown)
			}
			if _, err := rollout.New(set.Spec); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// TestDecodePolicyErrors has what cannot be read. at stands for the path of the annotation.
func TestDecodePolicyErrors(t *testing.T) {
	type test struct {
		row
		policy string
		want   []string
	}
	const known = "known are conditions, maxExempt, provenAfter, taints, touch"
	each(t, []test{
		{row{"unknown rule", "a policy that is ignored without a word is worse than none"}, "outages: {}\nwindow: {}\n",
			[]string{"at.window: Forbidden: unknown field; known are approved, domains, expedite, failures, outages, stages (line 2 of it)"}},
		{row{"unknown setting", "it names what there is"}, "outages:\n  maxExempt: 1\n  provenafter: 1h\n",
			[]string{"at.outages.provenafter: Forbidden: unknown field; " + known + " (line 3 of it)"}},
		{row{"unknown setting with a dot", "it is found all the same"}, "outages:\n  a: 1\n  a.b: {}\n",
			[]string{"at.outages.a: Forbidden: unknown field; " + known + " (line 2 of it)", "at.outages.a.b: Forbidden: unknown field; " + known + " (line 3 of it)"}},
		{row{"types", "all at once, sorted"},
			"outages:\n  maxExempt: 1.5\n  provenAfter: 60\n  taints: a\n  conditions:\n  - ok\n  - 3\n  touch: 'yes'\n", []string{
				`at.outages.conditions[1]: Invalid value: 3: must be a string (line 7 of it)`,
				`at.outages.maxExempt: Invalid value: "1.5": must be a whole number or a string such as 10% (line 2 of it)`,
				`at.outages.provenAfter: Invalid value: "60": must be a duration such as 90s or 10m (line 3 of it)`,
				`at.outages.taints: Invalid value: "a": must be a list (line 4 of it)`,
				`at.outages.touch: Invalid value: "yes": must be true or false (line 8 of it)`,
			}},
		{row{"duration in words", "durations are those of Go"}, "outages: {provenAfter: 1 hour}",
			[]string{`at.outages.provenAfter: Invalid value: "1 hour": must be a duration such as 90s or 10m (line 1 of it)`}},
		{row{"rule of the wrong type", "with what would be right"}, "outages: true", []string{`at.outages: Invalid value: true: must be an object (line 1 of it)`}},
		{row{"a domain that is no object", "with what would be right"}, "domains:\n- rack\n",
			[]string{`at.domains[0]: Invalid value: "rack": must be an object (line 2 of it)`}},
		{row{"a field of a domain", "a misspelt one bounds nothing"}, "domains:\n- key: rack\n  maximum: 1\n",
			[]string{"at.domains[0].maximum: Forbidden: unknown field; known are atOnce, key, max, selector (line 3 of it)"}},
		{row{"a field of a stage", "a misspelt one would open a part too early"}, "stages:\n- name: a\n  approve: true\n",
			[]string{"at.stages[0].approve: Forbidden: unknown field; known are approval, key, name, selector, soak, tolerance (line 3 of it)"}},
		{row{"a field of an approval", "a misspelt value would approve all parts"}, "approved:\n- stage: a\n  revision: r\n  zone: b\n",
			[]string{"at.approved[0].zone: Forbidden: unknown field; known are revision, stage, value (line 4 of it)"}},
		{row{"types of stages", "all at once, sorted"},
			"stages:\n- name: 1\n  soak: 1d\n  approval: 'yes'\n  tolerance: true\napproved:\n  stage: a\nexpedite: true\n", []string{
				`at.approved: Invalid value: "{…": must be a list (line 6 of it)`,
				`at.expedite: Invalid value: true: must be a string (line 8 of it)`,
				`at.stages[0].approval: Invalid value: "yes": must be true or false (line 4 of it)`,
				`at.stages[0].name: Invalid value: 1: must be a string (line 2 of it)`,
				`at.stages[0].soak: Invalid value: "1d": must be a duration such as 90s or 10m (line 3 of it)`,
				`at.stages[0].tolerance: Invalid value: "true": must be a whole number or a string such as 10% (line 5 of it)`,
			}},
		{row{"text", "the value is an object"}, "5%", []string{`at: Invalid value: "5%": must be an object (line 1 of it)`}},
		{row{"list", "the value is an object"}, "- outages", []string{`at: Invalid value: "[…": must be an object (line 1 of it)`}},
		{row{"a key twice", "which of the two counts is anybody's guess"}, "outages:\n  maxExempt: 1\n  touch: true\n  maxExempt: 2\n",
			[]string{"at.outages.maxExempt: Forbidden: must not be given twice (lines 2 and 4 of it)"}},
		{row{"a key twice in JSON", "the same"}, `{"outages": {}, "outages": {"touch": true}}`,
			[]string{"at.outages: Forbidden: must not be given twice (lines 1 and 1 of it)"}},
		{row{"a mistake behind an anchor", "the line is that of the anchor"}, "outages:\n  taints: &a\n  - 1\n  conditions: *a\n", []string{
			`at.outages.conditions[0]: Invalid value: 1: must be a string (line 3 of it)`, `at.outages.taints[0]: Invalid value: 1: must be a string (line 3 of it)`}},
		{row{"no YAML", "the line is where the parser was"}, "outages:\n  maxExempt: 1\n maxExempt: 2\n",
			[]string{`at: Invalid value: "outages:\n  maxExempt: 1\n maxExempt: 2\n": must be YAML or JSON: line 2: did not find expected key`}},
		{row{"cut off", "JSON is not closed"}, `{"outages": {`, []string{`at: Invalid value: "{\"outages\": {": must be YAML or JSON: line 1: did not find expected node content`}},
		{row{"two documents", "the second would be ignored"}, "outages: {}\n---\noutages: {}\n",
			[]string{`at: Invalid value: "outages: {}\n---\noutages: {}\n": must be YAML or JSON: line 3: another document begins here, and there must be only one`}},
		{row{"too long", "longer than the API server takes"}, "# " + strings.Repeat("x", 256<<10), []string{"at: Too long: may not be more than 262144 bytes"}},
		{row{"deep", "nesting is limited"}, strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
			[]string{`at: Invalid value: "` + strings.Repeat("[", 60) + `…": must be YAML or JSON: exceeded max depth of 10000`}},
		{row{"aliases of aliases", "what they stand for is limited"}, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
			[]string{`at: Invalid value: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]…": must be YAML or JSON: document contains excessive aliasing`}},
	}, func(c test) row { return c.row }, func(t *testing.T, c test) {
		for kind, text := range policied(c.policy) {
			set, err := manifest.Decode([]byte(text))
			if set.Spec.Name != "" {
				t.Errorf("%s: there is a result beside the error", kind)
			}
			var got []string
			for _, e := range rollout.FieldErrors(err) {
				got = append(got, strings.Replace(e.Error(), "metadata.annotations[daemonplan.io/policy]", "at", 1))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
			}
		}
	})
}

// What New has to say of a policy has the path in the annotation, together with what cannot be read and without.
func TestPolicyValidation(t *testing.T) {
	const at = "metadata.annotations[daemonplan.io/policy].outages."
	for kind, text := range policied("outages: {maxExempt: 101%, provenAfter: -1h, taints: [a b], conditions: [Ready]}") {
		set, err := manifest.Decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		_, err = rollout.New(set.Spec)
		var got []string
		for _, e := range manifest.FieldErrors(set.Spec, err) {
			got = append(got, e.Field)
		}
		if diff := cmp.Diff([]string{at + "maxExempt", at + "provenAfter", at + "taints[0]", at + "conditions[0]"}, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
		}
	}
	for kind, text := range policied("stages: [{name: A, key: a b, tolerance: 100%, soak: -1h}, {}]\napproved: [{stage: B, revision: '*'}]") {
		set, err := manifest.Decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		_, err = rollout.New(set.Spec)
		var got []string
		for _, e := range manifest.FieldErrors(set.Spec, err) {
			got = append(got, strings.TrimPrefix(e.Field, "metadata.annotations[daemonplan.io/policy]."))
		}
		want := []string{"stages[0].name", "stages[0].key", "stages[0].tolerance", "stages[0].soak", "stages[1].name", "approved[0].stage", "approved[0].revision"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
		}
	}
	for kind, text := range policied("outages: {touch: 3}") {
		_, err := manifest.Decode([]byte(strings.Replace(text, "name: agent\n", "name: -a\n", 1)))
		var got []string
		for _, e := range rollout.FieldErrors(err) {
			got = append(got, e.Field)
		}
		if diff := cmp.Diff([]string{at + "touch", "metadata.name"}, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
		}
	}
}

// The typed object of a client has the annotation, too.
func TestFromDaemonSetPolicy(t *testing.T) {
	ds := full()
	ds.Annotations[manifest.PolicyAnnotation] = "outages: {maxExempt: 1}"
	spec, err := manifest.FromDaemonSet(ds)
	if err != nil || spec.Strategy.Policy.Outages == nil || *spec.Strategy.Policy.Outages.MaxExempt != intstr.FromInt32(1) {
		t.Errorf("policy %+v, error %v", spec.Strategy.Policy, err)
	}
	ds.Annotations[manifest.PolicyAnnotation] = "outages: {maxExempt: []}"
	if spec, err := manifest.FromDaemonSet(ds); len(rollout.FieldErrors(err)) != 1 || spec.Name != "" {
		t.Errorf("spec of %q beside error %v", spec.Name, err)
	}
}
