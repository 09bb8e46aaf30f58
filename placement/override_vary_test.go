package placement_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
)

// variedTexts are annotations, readable, odd and unreadable, but none that the peer would read for ever.
var variedTexts = append(append(slices.Clone(oddTexts), slices.DeleteFunc(slices.Clone(malformedTexts), func(text string) bool {
	return strings.Contains(text, "e-30000000")
})...),
	"{}", `{"limits":{"cpu":"3"}}`, `{"limits":{"cpu":"3000m"}}`, `{"requests":{"cpu":"1","memory":"1Gi"}}`, `{"Requests":{"cpu":"1"}}`,
	`{"limits":{"CPU":"3"}}`, `{"limits":{"cpu":3},"limit":{"cpu":2}}`, `{"request":{"cpu":"1"}}`,
)

// vary changes a recorded case, so that what nobody recorded comes up.
func (c *recordedOverride) vary(r *rand.Rand) {
	for range 1 + r.IntN(4) {
		if c.Input.Kind == "assignSettings" {
			c.varySettings(r)
		} else {
			c.varyPod(r)
		}
	}
}

func variedAmounts(r *rand.Rand) corev1.ResourceRequirements {
	return []corev1.ResourceRequirements{
		{}, amounts("cpu", "1"), amounts("cpu", "3"), amounts("+cpu", "1", "+memory", "1Gi"), amounts("cpu", "1", "+cpu", "2"),
		amounts("cpu", "3000m", "+cpu", "3"), amounts("cpu", "-1"),
	}[r.IntN(7)]
}

func (c *recordedOverride) varyPod(r *rand.Rand) {
	template := &c.Input.ReplicaSet.Spec.Template
	if len(template.Spec.Containers) == 0 {
		return
	}
	container := template.Spec.Containers[r.IntN(len(template.Spec.Containers))].Name
	switch r.IntN(10) {
	case 0, 1, 2: // an annotation
		if c.Input.Node == nil {
			break
		}
		set := c.setName()
		switch r.IntN(6) {
		case 0:
			container = "gone"
		case 1:
			set += "-other"
		}
		c.Input.Node.Annotations = withEntries(c.Input.Node.Annotations,
			"resources.extendeddaemonset.datadoghq.com/"+c.Input.ReplicaSet.Metadata.Namespace+"."+set+"."+container,
			variedTexts[r.IntN(len(variedTexts))])
	case 3:
		if c.Input.Node != nil {
			c.Input.Node.Annotations = nil
		}
	case 4, 5: // a setting
		if r.IntN(4) == 0 {
			c.Input.Setting = nil
			break
		}
		if c.Input.Setting == nil {
			c.Input.Setting = &setting{Metadata: metav1.ObjectMeta{Name: "varied", Namespace: c.Input.ReplicaSet.Metadata.Namespace}}
		}
		c.Input.Setting.Spec.Containers = append(c.Input.Setting.Spec.Containers, struct {
			Name      string
			Resources corev1.ResourceRequirements
		}{[]string{container, container, "gone"}[r.IntN(3)], variedAmounts(r)})
	case 6:
		c.Input.AddNodeAffinity = !c.Input.AddNodeAffinity
		template.Spec.HostNetwork = r.IntN(2) == 0
	case 7: // what the template requires of nodes
		terms := []corev1.NodeSelectorTerm{}
		for range 1 + r.IntN(2) {
			var term corev1.NodeSelectorTerm
			for range r.IntN(3) {
				key := []string{"metadata.name", "metadata.namespace"}[r.IntN(2)]
				term.MatchFields = append(term.MatchFields, nodeField(key, "In", "x").MatchFields...)
			}
			if r.IntN(2) == 0 {
				term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}
			}
			terms = append(terms, term)
		}
		template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	case 8: // the template's own amounts
		template.Spec.Containers[r.IntN(len(template.Spec.Containers))].Resources = variedAmounts(r)
	case 9: // what the pod has
		pod := c.Input.Pod
		if pod == nil || len(pod.Spec.Containers) == 0 {
			break
		}
		pod.Spec.Containers[r.IntN(len(pod.Spec.Containers))].Resources = variedAmounts(r)
		if r.IntN(2) == 0 {
			pod.Annotations = withEntries(pod.Annotations, "extendeddaemonset.datadoghq.com/nodehash", c.modelHash())
		}
		if r.IntN(4) > 0 {
			wanted, _ := c.modelWanted(0)
			for i := range pod.Spec.Containers {
				if resources, ok := wanted[pod.Spec.Containers[i].Name]; ok {
					pod.Spec.Containers[i].Resources = resources
				}
			}
		}
	}
}

func (c *recordedOverride) varySettings(r *rand.Rand) {
	if len(c.Input.Settings) == 0 || len(c.Input.Nodes) == 0 {
		return
	}
	s := &c.Input.Settings[r.IntN(len(c.Input.Settings))]
	switch r.IntN(7) {
	case 0:
		s.Spec.Reference = nil
	case 1:
		s.Spec.Reference = &struct{ Name string }{[]string{c.setName(), "other", ""}[r.IntN(3)]}
	case 2:
		s.Spec.NodeSelector = metav1.LabelSelector{MatchLabels: map[string]string{"varied": []string{"a", "b"}[r.IntN(2)]}}
	case 3:
		s.Spec.NodeSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "varied", Operator: []metav1.LabelSelectorOperator{"Exists", "DoesNotExist", "Invalid"}[r.IntN(3)]},
		}}
	case 4:
		s.Metadata.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 15, 12, 0, r.IntN(3), 0, time.UTC))
	case 5:
		if n := len(s.Spec.Containers); n > 0 {
			s.Spec.Containers = slices.Clone(s.Spec.Containers)
			s.Spec.Containers[r.IntN(n)].Resources = variedAmounts(r)
		}
	case 6:
		node := c.Input.Nodes[r.IntN(len(c.Input.Nodes))]
		node.Labels = withEntries(node.Labels, "varied", []string{"a", "b"}[r.IntN(2)])
	}
}

// TestConformanceOverrideVariations holds the library's answers for varied cases to the model with all rules: together they
// are a second, naive implementation. Each entry must be needed by some variation, and keep its invariant in each.
func TestConformanceOverrideVariations(t *testing.T) { overrideVariations(t, fixedseed.Share(10)) }

// overrideVariations makes so many of each case, and counts those that need each entry.
func overrideVariations(t *testing.T, perCase uint64) (neededBy [overrideRules]int) {
	t.Helper()
	bad, total := 0, 0
	for seed := range perCase {
		for i, c := range overrideCases(t) {
			c.vary(rand.New(rand.NewPCG(seed, uint64(i))))
			c.Name = fmt.Sprintf("%s, variation %d", c.Name, seed)
			total++
			ours := c.ours()
			if want := c.model(allOverrideRules); !sameEffects(ours, want) {
				if bad++; bad <= 8 {
					t.Errorf("%s: not explained (-wanted +ours):\n%s\n%s", c.Name, cmp.Diff(want, ours, cmpopts.EquateEmpty()), asJSON(c.Input))
				}
				continue
			}
			if sameEffects(ours, c.model(0)) {
				continue
			}
			c.attribute(t, ours, &neededBy)
		}
	}
	t.Logf("%d variations, %d not explained; entries needed: %v", total, bad, neededBy)
	return neededBy
}

// TestConformanceOverridesRespelt changes the texts of annotations in ways in which they say the same: what was recorded
// must hold still, but for the digest of the texts.
func TestConformanceOverridesRespelt(t *testing.T) {
	for _, spelling := range [][2]string{
		{`\"limits\"`, `\"Limits\"`}, {`\"limits\"`, `\"note\":[],\"LIMITS\"`}, {`\"requests\"`, `\"requests\":null,\"rEquests\"`},
	} {
		changed := 0
		all := overrideCasesFrom(t, func(line []byte) []byte {
			if bytes.Contains(line, []byte("nodehash")) || bytes.Contains(line, []byte(`"comparePod"`)) {
				return line
			}
			after := bytes.ReplaceAll(line, []byte(spelling[0]), []byte(spelling[1]))
			if !bytes.Equal(line, after) {
				changed++
			}
			return after
		})
		checkOverridesModel(t, all)
		for _, c := range all {
			if want, ours := c.model(allOverrideRules), c.ours(); !sameEffects(ours, want) {
				t.Errorf("%s, with %s: not explained (-wanted +ours):\n%s", c.Name, spelling[1], cmp.Diff(want, ours, cmpopts.EquateEmpty()))
			}
		}
		t.Logf("%s for %s: %d cases changed", spelling[1], spelling[0], changed)
	}
}
