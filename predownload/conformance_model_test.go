package predownload_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// rule is one deliberate difference from OpenKruise: a switch of the model.
type rule uint8

const (
	revisionLabel rule = iota
	usersLeftOut
	noOldPods
	unreadableRevision
	imagesNotContainers
	onDeleteHolds
	partitionHolds
	desiredUnknown
	unreadableBudget
	percentParallelism
	negativeParallelism
	surgeCounts
	initContainersToo

	rules // count
)

// ruleSet holds the rules that are switched on, one bit each.
type ruleSet uint32

const allRules ruleSet = 1<<rules - 1

// unrecorded are the entries of situations that no recording shows, but variations of recordings do.
const unrecorded ruleSet = 1<<surgeCounts | 1<<initContainersToo

// entries is the table of deliberate differences. The numbers are those of the surprises in the recording's README.
var entries = [rules]struct{ id, rule, why string }{
	revisionLabel: {"revision-label", "D1, surprise 12",
		"OpenKruise reads the hash from a label that the revisions of daemon sets lack, so that its selector finds updated pods too"},
	usersLeftOut: {"users-left-out", "D1, surprise 13",
		"OpenKruise pulls an image also on the nodes of old pods that use it, if any other old revision does not"},
	noOldPods: {"no-old-pods", "D1, surprise 13",
		"without an old revision there is no outdated pod; OpenKruise pulls all images on the nodes that run them"},
	unreadableRevision: {"unreadable-revision", "D1, surprise 13",
		"one old revision that cannot be read stops OpenKruise for good; here it counts as one that uses none of the images"},
	imagesNotContainers: {"images-not-containers", "D1",
		"an image that an old pod uses in another container is on its node; OpenKruise compares container by container"},
	onDeleteHolds: {"on-delete-holds", "T5, surprise 11",
		"OpenKruise panics where the type is OnDelete; here there is nothing to be ahead of"},
	partitionHolds: {"partition-holds", "D1, T2",
		"OpenKruise pulls also if partition holds every node"},
	desiredUnknown: {"desired-unknown", "D1, surprise 15",
		"with desired still 0 OpenKruise finds that all pods fit in one batch and never asks again, or creates jobs for no node"},
	unreadableBudget: {"unreadable-budget", "B1, surprise 15",
		"OpenKruise takes a maxUnavailable that cannot be read for 0; here it is an error"},
	percentParallelism: {"percent-parallelism", "D2",
		"OpenKruise reads a percentage in the annotation as 1"},
	negativeParallelism: {"negative-parallelism", "D2",
		"OpenKruise writes a negative parallelism into the job; here it is an error"},
	surgeCounts: {"surge-counts", "D1, surprise 15",
		"OpenKruise does not look at maxSurge when it asks whether all pods fit in one batch"},
	initContainersToo: {"init-containers-too", "D1",
		"OpenKruise does not pull the images of init containers"},
}

// model returns what OpenKruise does, or with rules switched on, what it would do if it had them. It is written from the
// recordings and knows nothing of the package under test.
func (c *recorded) model(on ruleSet) outcome {
	has := func(r rule) bool { return on>>r&1 == 1 }
	set := c.Input.DaemonSet
	strategy := set.Spec.UpdateStrategy
	desired := int(set.Status.DesiredNumberScheduled)
	labels := c.Input.UpdateRevision.Labels
	changed := c.modelChanged(has)
	o := outcome{Decision: "none", ChangedImagesByContainer: changed}

	if labels["apps.kruise.io/pre-predownload-created"] != "" || labels["apps.kruise.io/image-predownload-ignored"] != "" {
		o.Decision = "alreadyDecided"
		return o
	}
	if strategy.Type == "OnDelete" {
		if o.Panicked = !has(onDeleteHolds); !o.Panicked {
			o.Decision = "nothing is updated before a pod is deleted"
		}
		return o
	}
	partition, ok := modelCount(strategy.RollingUpdate.Partition, 0, desired, false)
	unavailable, readable := modelCount(strategy.RollingUpdate.MaxUnavailable, 1, desired, true)
	if surge, ok := modelCount(strategy.RollingUpdate.MaxSurge, 0, desired, true); ok && has(surgeCounts) {
		unavailable = max(unavailable, surge)
	}
	if has(unreadableBudget) {
		ok, readable = ok && fit(strategy.RollingUpdate.Partition), readable && fit(strategy.RollingUpdate.MaxUnavailable) &&
			fit(strategy.RollingUpdate.MaxSurge)
	}
	parallelism, _ := strconv.Atoi(c.annotation("parallelism"))
	switch {
	case !ok || has(unreadableBudget) && !readable || has(negativeParallelism) && parallelism < 0:
		o.Failed = true
	case has(desiredUnknown) && desired <= 0:
		o.Decision = "desired is not known yet"
	case partition == 0 && unavailable >= desired:
		o.Decision = "ignored"
	case has(partitionHolds) && partition >= desired && len(changed) > 0 && (!has(noOldPods) || len(c.Input.OldRevisions) > 0):
		o.Decision = "partition holds all nodes"
	default:
		o.Decision = "created"
		if !has(noOldPods) || len(c.Input.OldRevisions) > 0 {
			o.Jobs = c.modelJobs(has, c.modelPulled(has, changed))
		}
	}
	return o
}

// modelChanged lists the images that an old revision's pods lack, by container.
func (c *recorded) modelChanged(has func(rule) bool) map[string]string {
	update, _ := c.Input.UpdateRevision.template()
	changed := make(map[string]string)
	for _, container := range update.Spec.Containers {
		found := false
		for _, old := range c.Input.OldRevisions {
			template, ok := old.template()
			if !ok && !has(unreadableRevision) {
				return nil
			}
			if !ok {
				changed[container.Name] = container.Image
				continue
			}
			if has(imagesNotContainers) {
				found = true
				if !modelUses(template, container.Image) {
					changed[container.Name] = container.Image
				}
				continue
			}
			for _, before := range template.Spec.Containers {
				if before.Name == container.Name {
					found = true
					if before.Image != container.Image {
						changed[container.Name] = container.Image
					}
				}
			}
		}
		if !found {
			changed[container.Name] = container.Image
		}
	}
	return changed
}

// modelPulled adds the images of init containers that an old revision's pods lack, and that are not among the others.
func (c *recorded) modelPulled(has func(rule) bool, changed map[string]string) map[string]string {
	if changed == nil { // nobody knows what changes
		return nil
	}
	update, _ := c.Input.UpdateRevision.template()
	pulled := maps.Clone(changed)
	for _, container := range update.Spec.InitContainers {
		lacks := func(old recordedRevision) bool {
			template, ok := old.template()
			return !ok || !modelUses(template, container.Image)
		}
		among := slices.Contains(slices.Collect(maps.Values(changed)), container.Image)
		if has(initContainersToo) && !among && slices.ContainsFunc(c.Input.OldRevisions, lacks) {
			pulled[container.Name] = container.Image
		}
	}
	return pulled
}

func modelUses(template *corev1.PodTemplateSpec, image string) bool {
	uses := func(c corev1.Container) bool { return c.Image == image }
	return slices.ContainsFunc(template.Spec.Containers, uses) || slices.ContainsFunc(template.Spec.InitContainers, uses)
}

func (c *recorded) modelJobs(has func(rule) bool, changed map[string]string) []recordedJob {
	set, update := c.Input.DaemonSet, c.Input.UpdateRevision
	labels := make(map[string]string)
	maps.Copy(labels, set.Spec.Template.Labels)
	hash := ""
	if has(revisionLabel) {
		hash = update.Labels["controller-revision-hash"]
		labels["controller-revision-hash"] = hash
	} else {
		labels["controller.kubernetes.io/hash"] = hash
	}
	parallelism := intstr.FromInt32(1)
	if n, err := strconv.Atoi(c.annotation("parallelism")); err == nil {
		parallelism = intstr.FromInt(n)
	} else if text := c.annotation("parallelism"); has(percentParallelism) && strings.HasSuffix(text, "%") {
		parallelism = intstr.FromString(text)
	}
	timeout, err := strconv.ParseInt(c.annotation("timeout-seconds"), 10, 32)
	if err != nil {
		timeout = 300
	}
	var secrets []string
	for _, s := range set.Spec.Template.Spec.ImagePullSecrets {
		secrets = append(secrets, s.Name)
	}
	var jobs []recordedJob
	for _, container := range slices.Sorted(maps.Keys(changed)) {
		values := []string{update.Name, hash}
		for _, old := range c.Input.OldRevisions {
			if template, ok := old.template(); has(usersLeftOut) && ok && modelUses(template, changed[container]) {
				values = append(values, old.Labels["controller-revision-hash"])
			}
		}
		selector := set.Spec.Selector.DeepCopy()
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: "controller-revision-hash", Operator: metav1.LabelSelectorOpNotIn, Values: values,
		})
		jobs = append(jobs, recordedJob{
			Name: update.Name + "-" + container, Image: changed[container], Labels: labels, Parallelism: parallelism,
			TimeoutSeconds: int32(timeout), BackoffLimit: 1, TTLSecondsAfterFinished: 600, PullSecrets: secrets,
			PodSelector: *selector, SandboxLabels: labels, SandboxAnnotations: set.Spec.Template.Annotations,
		})
	}
	return jobs
}

// fit reports whether a quantity is an integer or a percentage that is not negative; Go reads more.
func fit(v *intstr.IntOrString) bool {
	if v == nil || v.Type == intstr.Int {
		return v == nil || v.IntVal >= 0
	}
	_, err := strconv.ParseUint(strings.TrimSuffix(v.StrVal, "%"), 10, 31)
	return err == nil && strings.HasSuffix(v.StrVal, "%")
}

// modelCount returns a count or percentage. False: it cannot be read.
func modelCount(v *intstr.IntOrString, fallback, desired int, up bool) (int, bool) {
	if v == nil {
		return fallback, true
	}
	if v.Type == intstr.Int {
		return int(v.IntVal), true
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	count := percent * desired / 100
	if up && percent*desired%100 > 0 {
		count++
	}
	return count, err == nil
}
