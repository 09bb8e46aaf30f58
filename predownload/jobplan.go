package predownload

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
)

// The labels that OpenKruise puts on a revision whose images it has dealt with.
const (
	createdLabel = "apps.kruise.io/pre-predownload-created"
	ignoredLabel = "apps.kruise.io/image-predownload-ignored"
)

// jobPlan is what Decide and Jobs have in common.
type jobPlan struct {
	decision JobDecision
	template *corev1.PodTemplateSpec // of the update revision
	hash     string                  // of the update revision
	changes  []change
}

// change is an image that some old pods do not use.
type change struct {
	image     string
	container string   // the first that uses it
	usedBy    []string // hashes of the old revisions that do, sorted
}

func (in *JobInput) plan() (jobPlan, error) {
	var p jobPlan
	if in.Selector == nil || len(in.Selector.MatchLabels)+len(in.Selector.MatchExpressions) == 0 {
		return jobPlan{}, errors.New("predownload: the selector is empty: jobs would find the pods of others")
	}
	var err error
	if p.template, err = readTemplate(in.Update); err != nil {
		return jobPlan{}, fmt.Errorf("predownload: update revision: %w", err)
	}
	if p.hash = in.Update.Labels[appsv1.ControllerRevisionHashLabelKey]; p.hash == "" {
		return jobPlan{}, errors.New("predownload: update revision: no hash label: jobs would find updated pods")
	}
	strategy, errs := in.readStrategy()
	if err := errs.ToAggregate(); err != nil && !in.decided() && !in.OnDelete {
		return jobPlan{}, err
	}
	p.changes = in.changes(p)
	p.decision = in.decide(strategy, p.changes)
	return p, nil
}

func (in *JobInput) decide(s strategy, changes []change) JobDecision {
	held := s.partition.RoundDown(in.Desired)
	switch {
	case in.decided():
		return DecisionDecided
	case in.OnDelete:
		return DecisionOnDelete
	case in.Desired <= 0:
		return DecisionNotYet
	case held == 0 && s.budget(in.Desired) >= in.Desired:
		return DecisionOneBatch
	case len(changes) == 0:
		return DecisionNotNeeded
	case held >= in.Desired:
		return DecisionHeld
	case in.UpdatedReady < s.minReady.RoundUp(in.Desired):
		return DecisionMinUpdatedReadyPods
	default:
		return DecisionCreate
	}
}

func (in *JobInput) decided() bool {
	_, created := in.Update.Labels[createdLabel]
	_, ignored := in.Update.Labels[ignoredLabel]
	return created || ignored
}

// changes lists the images of the update revision that the pods of some old revision do not use.
func (in *JobInput) changes(p jobPlan) []change {
	var changes []change
	for _, image := range Images(p.template) {
		wanted := want(image)
		c := change{image: image}
		for name, spelled := range containerImages(p.template) {
			if wanted.names(spelled) {
				c.container = name
				break
			}
		}
		lacking := false
		for _, old := range in.Old {
			if old == nil || old.Labels[appsv1.ControllerRevisionHashLabelKey] == p.hash {
				continue
			}
			template, err := readTemplate(old)
			hash := old.Labels[appsv1.ControllerRevisionHashLabelKey]
			switch {
			case err != nil || !wanted.among(Images(template)):
				lacking = true
			case hash != "":
				c.usedBy = append(c.usedBy, hash)
			}
		}
		if lacking {
			slices.Sort(c.usedBy)
			c.usedBy = slices.Compact(c.usedBy)
			changes = append(changes, c)
		}
	}
	return changes
}

// strategy is the part of the set's strategy that decides whether a rollout has more than one batch.
type strategy struct {
	partition, unavailable, surge, minReady count.Quantity
}

// readStrategy fills in the defaults of the budgets (B1) and of partition (T2), and reports what cannot be read.
func (in *JobInput) readStrategy() (strategy, field.ErrorList) {
	settings, errs := in.Options.read(field.NewPath("options"))
	s := strategy{minReady: settings.minReady}
	read := func(v *intstr.IntOrString, name string, fallback int32) count.Quantity {
		if v == nil {
			return count.Quantity{Value: fallback}
		}
		return readQuantity(*v, field.NewPath(name), &errs)
	}
	s.partition = read(in.Partition, "partition", 0)
	s.surge = read(in.MaxSurge, "maxSurge", 0)
	s.unavailable = read(in.MaxUnavailable, "maxUnavailable", 1)
	if in.MaxUnavailable == nil && s.surge.Value > 0 {
		s.unavailable = count.Quantity{}
	}
	return s, errs
}

// budget returns how many nodes may be updated at a time. Only one of the two budgets may be non-zero (B1); if both are, the
// greater counts.
func (s strategy) budget(desired int32) int32 {
	return max(s.unavailable.RoundUp(desired), s.surge.RoundUp(desired))
}

// readTemplate decodes the pod template that a revision stores (R1).
func readTemplate(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if revision == nil {
		return nil, errors.New("there is none")
	}
	var data struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return nil, err
	}
	if data.Spec.Template == nil {
		return nil, errors.New("its data has no template")
	}
	return data.Spec.Template, nil
}
