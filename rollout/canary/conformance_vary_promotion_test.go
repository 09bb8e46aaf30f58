package canary_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// promotionChanges are the changes that make variations of a recorded promotion.
var promotionChanges = []change[promotionCase]{
	{"another time", func(c *promotionCase, r *rand.Rand) { c.Input.Now = c.Input.Now.Add(aWhile(r)) }},
	{"another creation", func(c *promotionCase, r *rand.Rand) {
		c.Input.UpToDateReplicaSet.Metadata.CreationTimestamp = metav1.NewTime(c.Input.Now.Add(-max(0, aWhile(r))))
	}},
	{"another duration", func(c *promotionCase, r *rand.Rand) {
		if s := c.canary(); s != nil {
			s.Duration = oneOf(r, []*metav1.Duration{nil, {}, {Duration: time.Minute}, {Duration: 10 * time.Minute}, {Duration: 1000 * time.Hour}})
			if s.Duration == nil {
				s.ValidationMode, s.NoRestartsDuration = canary.Manual, nil
			}
		}
	}},
	{"another duration without restarts", func(c *promotionCase, r *rand.Rand) {
		if s := c.canary(); s != nil {
			s.NoRestartsDuration = oneOf(r, []*metav1.Duration{nil, {}, {Duration: time.Minute}, {Duration: 1000 * time.Hour}, {Duration: -1}})
		}
	}},
	{"another mode", func(c *promotionCase, r *rand.Rand) {
		if s := c.canary(); s != nil && s.Duration != nil {
			s.ValidationMode = oneOf(r, []canary.Mode{canary.Auto, canary.Manual})
		}
	}},
	{"other restarts", func(c *promotionCase, r *rand.Rand) { c.dated(r, restartingCondition) }},
	{"another fail", func(c *promotionCase, r *rand.Rand) { c.dated(r, failedCondition) }},
	{"another pause", func(c *promotionCase, r *rand.Rand) { c.dated(r, pausedCondition) }},
	{"another command", func(c *promotionCase, r *rand.Rand) {
		set := &c.Input.ExtendedDaemonSet.Metadata
		if set.Annotations = maps.Clone(set.Annotations); set.Annotations == nil {
			set.Annotations = make(map[string]string)
		}
		key := oneOf(r, []string{
			validAnnotation, pausedAnnotation, unpausedAnnotation, failedAnnotation, haltedAnnotation, frozenAnnotation,
		})
		set.Annotations[key] = oneOf(r, []string{"true", "false", c.Input.UpToDateReplicaSet.Metadata.Name})
	}},
	{"no command", func(c *promotionCase, _ *rand.Rand) { c.Input.ExtendedDaemonSet.Metadata.Annotations = nil }},
	{"numbers of no cluster", func(c *promotionCase, r *rand.Rand) {
		status := &c.Input.UpToDateReplicaSet.Status
		status.Desired, status.Current = oneOf(r, []int32{2_000_000_000, -1}), oneOf(r, []int32{2_000_000_000, -1})
	}},
}

func (c *promotionCase) canary() *canarySpec { return c.Input.ExtendedDaemonSet.Spec.Strategy.Canary }

// aWhile is a random span near one at which a decision may change.
func aWhile(r *rand.Rand) time.Duration {
	return oneOf(r, []time.Duration{-time.Minute, 0, 1, time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute, time.Hour})
}

// dated sets a condition, or removes it.
func (c *promotionCase) dated(r *rand.Rand, kind string) {
	status := &c.Input.UpToDateReplicaSet.Status
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c condition) bool { return c.Type == kind })
	if r.IntN(5) > 0 {
		at := metav1.NewTime(c.Input.Now.Add(-max(0, aWhile(r))))
		status.Conditions = append(status.Conditions, condition{
			Type: kind, Status: oneOf(r, []string{"True", "True", "False"}), Reason: oneOf(r, []string{"", "OOMKilled", "ErrImagePull"}),
			LastTransitionTime: at, LastUpdateTime: at,
		})
	}
}

// variedPromotions makes variations of recorded promotions.
func variedPromotions(tb testing.TB, each int) (cases []*promotionCase, made []string) {
	recorded := recordings[promotionCase](tb, "eds/canary-promotion.jsonl")
	return vary(len(recorded), each, promotionChanges, func(i int) (*promotionCase, string) {
		c := new(*recorded[i])
		if s := c.canary(); s != nil {
			c.Input.ExtendedDaemonSet.Spec.Strategy.Canary = new(*s)
		}
		return c, c.Name
	})
}

// TestConformancePromotionVaried compares Judge with the model of the controller on randomly generated variations.
func TestConformancePromotionVaried(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	cases, names := variedPromotions(t, 8)
	count := tally{file: "variations of canary-promotion", of: judgeRules, own: clockRules}
	for i, c := range cases {
		count.comparePromotion(t, names[i], c)
	}
	count.report(t)
}

// TestConformanceRetold checks that the models decide the recordings in the same way at another time and with other names. A
// model that recognised a recording by its names or instants would not.
func TestConformanceRetold(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	instants := regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"`)
	nodes := regexp.MustCompile(`"n([0-9]+)"`)
	for name, tell := range map[string]func([]byte) []byte{
		"three days and an hour later": func(line []byte) []byte {
			return instants.ReplaceAllFunc(line, func(at []byte) []byte {
				then, err := time.Parse(time.RFC3339, string(bytes.Trim(at, `"`)))
				if err != nil {
					t.Fatal(err)
				}
				return []byte(then.Add(73 * time.Hour).Format(`"` + time.RFC3339 + `"`))
			})
		},
		"other nodes": func(line []byte) []byte { return nodes.ReplaceAll(line, []byte(`"somewhere-$1"`)) },
		"another set": func(line []byte) []byte {
			line = bytes.ReplaceAll(line, []byte(`"ers-new"`), []byte(`"fresh"`))
			return bytes.ReplaceAll(line, []byte(`"agent"`), []byte(`"probe"`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkStatusModel(t, retold[statusCase](t, "eds/canary-status.jsonl", tell))
			checkNodesModel(t, retold[nodesCase](t, "eds/canary-nodes.jsonl", tell))
			if name != "another set" { // the set's name is a part of these messages
				checkPromotionModel(t, retold[promotionCase](t, "eds/canary-promotion.jsonl", tell))
			}
		})
	}
}
