package predownload

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// JobInput is what [Jobs] and [Decide] need to know of a set and its rollout.
type JobInput struct {
	// Namespace of the set, and so of the jobs.
	Namespace string
	// Owner is put on each job as it is. The zero value: the jobs have no owner.
	Owner metav1.OwnerReference
	// Selector of the set's pods. Required, not empty.
	Selector *metav1.LabelSelector
	// Update is the update revision. Required, with its name and the label controller-revision-hash.
	Update *appsv1.ControllerRevision
	// Old are the other revisions that pods carry. One that cannot be read counts as one that uses none of the images.
	Old []*appsv1.ControllerRevision
	// Options as for the set.
	Options Options
	// OnDelete says that nothing is updated before somebody deletes a pod (T5).
	OnDelete bool
	// Partition, MaxUnavailable and MaxSurge are those of the set's strategy. Default (nil): 0 for Partition and MaxSurge; for
	// MaxUnavailable 1, or 0 if MaxSurge is not zero.
	Partition, MaxUnavailable, MaxSurge *intstr.IntOrString
	// Desired is the number of nodes that are to run the pod. UpdatedReady is how many have a ready pod of Update.
	Desired, UpdatedReady int32
}

// Job describes an ImagePullJob of OpenKruise: one image, pulled on the nodes of the pods that a selector finds.
type Job struct {
	Name, Namespace string
	Owner           metav1.OwnerReference
	// Labels of the job. They are also handed to the container runtime.
	Labels map[string]string
	// Annotations are handed to the container runtime. The job itself has none.
	Annotations map[string]string

	Image string
	// PodSelector finds the pods on whose nodes the image is pulled.
	PodSelector *metav1.LabelSelector
	// Parallelism is on how many nodes at a time: an integer, or a percentage of the nodes.
	Parallelism intstr.IntOrString
	// PullSecrets are the names of the pull secrets.
	PullSecrets []string
	// TimeoutSeconds is the time-out of one pull. BackoffLimit is how many times a failed pull is tried again.
	TimeoutSeconds, BackoffLimit int32
	// TTLSecondsAfterFinished is how long the job is kept when it has finished.
	TTLSecondsAfterFinished int32
}

// Decide returns what Jobs does and why, without describing the jobs.
//
// It returns an error, and DecisionNone, if Selector or Update is missing or unreadable, or if Options or the strategy
// are invalid; the latter as a field.ErrorList aggregate, whose paths begin with options or have the names of the
// fields. An old revision that cannot be read is no error.
func Decide(in JobInput) (JobDecision, error) {
	plan, err := in.plan()
	return plan.decision, err
}

// Jobs describes the ImagePullJobs to create when a rollout begins, for those who leave pulling to OpenKruise: one for
// each image of the update revision that the pods of at least one old revision do not use, in the order of Images. With
// any Decision but DecisionCreate there are none. Errors are those of Decide.
//
// A job pulls on the nodes of all pods that its selector finds: those of the set that are neither at the update
// revision nor at an old revision that uses the image already. It cannot tell held nodes from others, and its order is
// OpenKruise's; Select has neither limitation.
//
// Its name is that of the update revision and of the first container that uses the image, so that creating it again
// fails instead of pulling twice. The results share no memory with in.
func Jobs(in JobInput) ([]Job, error) {
	plan, err := in.plan()
	if err != nil || plan.decision != DecisionCreate {
		return nil, err
	}
	var jobs []Job
	for _, change := range plan.changes {
		jobs = append(jobs, in.job(plan, change))
	}
	return jobs, nil
}

// jobTTLSeconds is how long OpenKruise keeps the jobs that it makes for its own sets.
const jobTTLSeconds = 600

func (in *JobInput) job(plan jobPlan, change change) Job {
	template := plan.template
	labels := maps.Clone(template.Labels)
	put(&labels, appsv1.ControllerRevisionHashLabelKey, plan.hash)
	selector := in.Selector.DeepCopy()
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key:      appsv1.ControllerRevisionHashLabelKey,
		Operator: metav1.LabelSelectorOpNotIn,
		// OpenKruise has sets whose pods carry the whole name, and leaves out both.
		Values: append([]string{in.Update.Name, plan.hash}, change.usedBy...),
	})
	var secrets []string
	for _, secret := range template.Spec.ImagePullSecrets {
		secrets = append(secrets, secret.Name)
	}
	options := in.Options.Default()
	return Job{
		Name:                    jobName(in.Update.Name, change.container),
		Namespace:               in.Namespace,
		Owner:                   *in.Owner.DeepCopy(),
		Labels:                  labels,
		Annotations:             maps.Clone(template.Annotations),
		Image:                   change.image,
		PodSelector:             selector,
		Parallelism:             *options.Parallelism,
		PullSecrets:             secrets,
		TimeoutSeconds:          options.TimeoutSeconds,
		BackoffLimit:            *options.BackoffLimit,
		TTLSecondsAfterFinished: jobTTLSeconds,
	}
}

// jobName returns the name of a job. Where the API server would refuse it as too long, it is cut and ends in a hash of the whole.
func jobName(revision, container string) string {
	name := revision + "-" + container
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	ending := fmt.Sprintf("-%08x", hash.Sum32())
	// What comes before the hyphen must end in a letter or digit.
	return strings.TrimRight(name[:validation.DNS1123SubdomainMaxLength-len(ending)], "-.") + ending
}
