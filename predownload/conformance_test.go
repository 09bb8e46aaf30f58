package predownload_test

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/predownload"
)

// recorded is what OpenKruise did when a rollout began.
type recorded struct {
	Name  string
	Input struct {
		DaemonSet struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				Selector       *metav1.LabelSelector
				Template       corev1.PodTemplateSpec
				UpdateStrategy struct {
					Type          string
					RollingUpdate struct{ Partition, MaxUnavailable, MaxSurge *intstr.IntOrString }
				}
			}
			Status struct{ DesiredNumberScheduled int32 }
		}
		OldRevisions   []recordedRevision
		UpdateRevision recordedRevision
	}
	Expect outcome
}

type recordedRevision struct {
	Name     string
	Revision int64
	Labels   map[string]string
	Data     json.RawMessage
}

// outcome is what OpenKruise did, or what the library does in the same words.
type outcome struct {
	// ChangedImagesByContainer is nil where a revision cannot be read.
	ChangedImagesByContainer map[string]string
	Decision                 string
	Jobs                     []recordedJob
	Error, Panic             string
	// Failed and Panicked stand for the texts, which are nobody's promise.
	Failed, Panicked bool `json:"-"`
}

type recordedJob struct {
	Name, Image                       string
	Labels                            map[string]string
	Parallelism                       intstr.IntOrString
	TimeoutSeconds, BackoffLimit      int32
	TTLSecondsAfterFinished           int32
	PullSecrets                       []string
	PodSelector                       metav1.LabelSelector
	SandboxLabels, SandboxAnnotations map[string]string
}

func (r recordedRevision) revision() *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: r.Labels},
		Data:       runtime.RawExtension{Raw: r.Data},
		Revision:   r.Revision,
	}
}

// options returns what the set's annotations say. What OpenKruise takes where they say nothing (300 s, one retry) is said
// here. Text that is neither a number nor a percentage never gets into Options, so it is read as OpenKruise does: as
// if it were not there.
func (c *recorded) options() predownload.Options {
	o := predownload.Options{TimeoutSeconds: 300, BackoffLimit: new(int32(1))}
	text := c.annotation("parallelism")
	if n, err := strconv.Atoi(text); err == nil {
		o.Parallelism = new(intstr.FromInt(n))
	} else if strings.HasSuffix(text, "%") {
		o.Parallelism = new(intstr.FromString(text))
	}
	if seconds, err := strconv.ParseInt(c.annotation("timeout-seconds"), 10, 32); err == nil {
		o.TimeoutSeconds = int32(seconds)
	}
	return o
}

func (c *recorded) annotation(what string) string {
	return c.Input.DaemonSet.Metadata.Annotations["apps.kruise.io/image-predownload-"+what]
}

func (c *recorded) input() predownload.JobInput {
	set := c.Input.DaemonSet
	in := predownload.JobInput{
		Namespace:      set.Metadata.Namespace,
		Selector:       set.Spec.Selector,
		Update:         c.Input.UpdateRevision.revision(),
		Options:        c.options(),
		OnDelete:       set.Spec.UpdateStrategy.Type == "OnDelete",
		Partition:      set.Spec.UpdateStrategy.RollingUpdate.Partition,
		MaxUnavailable: set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable,
		MaxSurge:       set.Spec.UpdateStrategy.RollingUpdate.MaxSurge,
		Desired:        set.Status.DesiredNumberScheduled,
	}
	for _, old := range c.Input.OldRevisions {
		in.Old = append(in.Old, old.revision())
	}
	return in
}

// template decodes a recorded revision. False: it cannot be read.
func (r recordedRevision) template() (*corev1.PodTemplateSpec, bool) {
	var data struct {
		Spec struct{ Template *corev1.PodTemplateSpec }
	}
	err := json.Unmarshal(r.Data, &data)
	return data.Spec.Template, err == nil && data.Spec.Template != nil
}

// ours returns what the library does, in the recording's words. Where it decides what OpenKruise never does, it has words
// of its own.
func (c *recorded) ours(t *testing.T) outcome {
	t.Helper()
	in := c.input()
	decision, err := predownload.Decide(in)
	jobs, again := predownload.Jobs(in)
	if (err == nil) != (again == nil) || (decision == predownload.DecisionCreate) != (len(jobs) > 0) {
		t.Errorf("%s: Decide says %v, %v, but Jobs %d jobs, %v", c.Name, decision, err, len(jobs), again)
	}
	o := outcome{Decision: decision.String(), ChangedImagesByContainer: c.needed(t), Failed: err != nil}
	switch decision {
	case predownload.DecisionCreate, predownload.DecisionNotNeeded:
		o.Decision = "created" // the word for: the images have been dealt with
	case predownload.DecisionDecided:
		o.Decision = "alreadyDecided"
	case predownload.DecisionOneBatch:
		o.Decision = "ignored"
	case predownload.DecisionNone:
		o.Decision = "none"
	default:
	}
	for _, job := range jobs {
		o.Jobs = append(o.Jobs, recordedJob{
			Name: job.Name, Image: job.Image, Labels: job.Labels, Parallelism: job.Parallelism,
			TimeoutSeconds: job.TimeoutSeconds, BackoffLimit: job.BackoffLimit,
			TTLSecondsAfterFinished: job.TTLSecondsAfterFinished, PullSecrets: job.PullSecrets,
			PodSelector: *job.PodSelector, SandboxLabels: job.Labels, SandboxAnnotations: job.Annotations,
		})
	}
	return o.sorted()
}

// needed returns what Needs says of nodes with pods of the old revisions, as images by container.
func (c *recorded) needed(t *testing.T) map[string]string {
	t.Helper()
	update, ok := c.Input.UpdateRevision.template()
	if !ok {
		t.Fatalf("%s: the update revision cannot be read", c.Name)
	}
	candidates := []predownload.Candidate{{}}
	for i, old := range c.Input.OldRevisions {
		// A pod of a revision that cannot be read uses no image that is known.
		template, _ := old.template()
		candidates = append(candidates[:i], predownload.Candidate{Uses: predownload.Images(template)})
	}
	needed := make(map[string]string)
	for _, candidate := range candidates {
		for _, image := range predownload.Needs(candidate, predownload.Images(update)) {
			for _, container := range update.Spec.Containers {
				if container.Image == image {
					needed[container.Name] = image
				}
			}
		}
	}
	return needed
}

// sorted puts jobs in the order of their names, since OpenKruise's is that of a map, and evens out nil and empty.
func (o outcome) sorted() outcome {
	o.Failed = o.Failed || o.Error != ""
	o.Panicked = o.Panicked || o.Panic != ""
	o.Error, o.Panic = "", ""
	slices.SortFunc(o.Jobs, func(a, b recordedJob) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

func same(a, b outcome) bool { return gocmp.Equal(a, b, cmpopts.EquateEmpty()) }

func cases(t *testing.T) []*recorded {
	t.Helper()
	var all []*recorded
	for name, line := range conformance.Lines(t, "kruise-inplace/predownload.jsonl") {
		c := new(recorded)
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.Expect = c.Expect.sorted()
		all = append(all, c)
	}
	return all
}

// TestConformanceModel holds the model of OpenKruise to what was recorded: only a model that is right about OpenKruise
// can say what sets our rules apart from it.
func TestConformanceModel(t *testing.T) {
	for _, c := range cases(t) {
		if got := c.model(0); !same(got, c.Expect) {
			t.Errorf("%s: the model does something else (-recorded +model):\n%s", c.Name, gocmp.Diff(c.Expect, got, cmpopts.EquateEmpty()))
		}
	}
}

// TestConformance compares Decide, Jobs, Images and Needs with OpenKruise. What differs must be what the model does
// with the rules of the table of deliberate differences, all of them.
func TestConformance(t *testing.T) {
	var agree, explained, refused, byLabelOnly int
	var neededBy [rules]int
	all := cases(t)
	for _, c := range all {
		ours := c.ours(t)
		if want := c.model(allRules); !same(ours, want) {
			t.Errorf("%s: not explained (-wanted +ours):\n%s", c.Name, gocmp.Diff(want, ours, cmpopts.EquateEmpty()))
			continue
		}
		if same(ours, c.Expect) {
			agree++
			continue
		}
		explained++
		if ours.Failed && !c.Expect.Failed {
			refused++
		}
		explanation := c.explain(ours)
		if explanation == 1<<revisionLabel {
			byLabelOnly++
		}
		for r := range rules {
			neededBy[r] += int(explanation >> r & 1)
		}
	}
	t.Logf("%d cases: %d agree, %d are explained, %d of them by the revision label alone and %d because the input is invalid",
		len(all), agree, explained, byLabelOnly, refused)
	for r, e := range entries {
		t.Logf("%3d cases need %s (%s): %s", neededBy[r], e.id, e.rule, e.why)
		if (neededBy[r] == 0) != (unrecorded>>r&1 == 1) && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("%d cases need %s, unrecorded: %v", neededBy[r], e.id, unrecorded>>r&1 == 1)
		}
	}
}

// explain gives the entries that the difference is put down to: a set of which none can be left out for the model to
// become ours.
func (c *recorded) explain(ours outcome) ruleSet {
	on := allRules
	for r := range rules {
		if without := on &^ (1 << r); same(c.model(without), ours) {
			on = without
		}
	}
	return on
}
