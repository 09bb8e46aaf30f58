package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Spec says what is to run on the nodes and how changes reach them. It is a plain value in the library's own
// words; package rollout/manifest translates the manifests of the three controllers into it. [New] copies what
// it needs, so a Spec may be reused and changed afterwards.
type Spec struct {
	// Name of the set. Required; a DNS subdomain. Pods are named <Name>-<random>, revisions <Name>-<hash>.
	Name string
	// Namespace of the set, its pods and its revisions. Default: "default".
	Namespace string
	// UID of the object that owns pods and revisions. Empty: the set does not exist yet, so that no owner references
	// are written and [Claim] goes by the selector alone.
	UID types.UID
	// APIVersion and Kind of the owner, for owner references. Default: apps/v1 and DaemonSet.
	APIVersion, Kind string
	// Generation of the owner, reported back as the observed generation. Not negative. Default: 0.
	Generation int64
	// TemplateGeneration is the value of the annotation deprecated.daemonset.template.generation, nil if
	// absent. A pod without a revision hash is at the update revision if its label [TemplateGenerationLabel] has this value
	// (R5). New pods of the update revision get the label.
	TemplateGeneration *int64

	// Selector of the pods. Required, not empty, and it must match the template's labels.
	Selector *metav1.LabelSelector
	// Template of the pods. Its node affinity, node selector, node name and tolerations decide which nodes run
	// a pod (P1 to P4).
	Template corev1.PodTemplateSpec

	// Strategy of updates. Default: RollingUpdate with maxUnavailable 1.
	Strategy Strategy
	// MinReadySeconds is how long a pod must have been Ready to count as available (B5). Not negative. Default: 0.
	MinReadySeconds int32
	// RevisionHistoryLimit is how many old revisions are kept (R4). Not negative. Default (nil): 10.
	RevisionHistoryLimit *int32
	// Burst bounds the creates and, separately, the deletes and the new in-place updates of one plan (M6): an integer
	// of at least 1, or a percentage of desired, rounded down but to no less than 1. Default (nil): 250.
	Burst *intstr.IntOrString
	// Lifecycle has the hooks that pods wait for before they are deleted, around in-place updates, and before they are
	// Normal (L rules). Default: none.
	Lifecycle lifecycle.Hooks
	// Overrides give the containers on some nodes other resources than the template (P8). Node annotations, which count
	// more, need nothing here. A changed override is rolled out like a changed template, on the nodes that it changes.
	// Default: none.
	Overrides []placement.Override
	// Predecessor is the set that this one takes over from. [Claim] then finds its pods too, and they count as outdated.
	// Default (nil): none.
	Predecessor *Predecessor
	// PreDownload pulls the images of the update revision ahead of the rollout (D rules). Default (nil): no pulls.
	PreDownload *predownload.Options
}

// Strategy says how nodes move from one revision to the next.
type Strategy struct {
	// Type is RollingUpdate (default, also for "") or OnDelete (T5).
	Type StrategyType
	// MaxUnavailable is how many nodes may lack a serving pod because of the rollout (B2, B3): an integer, or a
	// percentage of desired, rounded up. Default (nil): 1, or 0 if MaxSurge is set and not zero.
	MaxUnavailable *intstr.IntOrString
	// MaxSurge is how many nodes may hold a new pod that is not yet available beside their old one (B4): an
	// integer, or a percentage of desired, rounded up. Default (nil): 0. Not together with MaxUnavailable.
	MaxSurge *intstr.IntOrString
	// Partition is how many nodes are held at their old revision (T2): an integer, or a percentage, rounded down, of the
	// nodes that run the pod and those that may keep the one they have. Default (nil): 0.
	Partition *intstr.IntOrString
	// NodeSelector holds the nodes whose labels it does not match (T3). Default (nil): it matches all, as an empty
	// selector does.
	NodeSelector *metav1.LabelSelector
	// PartitionedScaling leaves the nodes that Partition would hold empty during a first installation (T7).
	// Default: false.
	PartitionedScaling bool
	// HoldRevision says at which revision a pod comes back that is lost on a node held by Partition or NodeSelector (T1). True:
	// at the revision that the node ran, as long as the lost pod is seen, else at the stable revision. A node without a pod,
	// also one that joins, then takes a place of Partition like one with an old pod (T2). Default (false): at the update
	// revision.
	HoldRevision bool
	// Method says whether pods are recreated or updated in place (I1). With in-place, MaxSurge must be 0. Default (""):
	// Recreate.
	//
	// Only under an in-place method do new pods get the readiness gate InPlaceUpdateReady, and no pod without it is updated in
	// place (I3). So the first update after a switch recreates all pods (InPlaceOnly holds them instead), and updates are in
	// place from the next one on: wait until that first rollout is done before you count on it, and switch to InPlaceOnly only
	// then.
	Method inplace.Method
	// InPlace says what may be updated in place, and how. Not used with Recreate.
	InPlace inplace.Options
	// Canary tries each new revision on a few nodes first (C rules). It cannot be combined with OnDelete. Taking it away ends
	// a trial: the update revision is rolled out, even one that has failed. Default (nil): no trial.
	Canary *canary.Options
	// SlowStart lets a rollout gather speed (B7). Default (nil): full speed from the start.
	SlowStart *SlowStart
	// MaxUnschedulable is how many nodes may be left out of the budgets because the scheduler finds no room for their pod,
	// their pod does not terminate, or they are unreachable (B8): an integer, or a percentage of desired, rounded up.
	// Default (nil): 0.
	MaxUnschedulable *intstr.IntOrString
	// Policy says how the rollout goes about the fleet. It takes no effect with OnDelete. Default (zero): no policy.
	Policy Policy
	// Paused stops the rollout: no node is begun. Begun nodes finish, and repair goes on (T4). Default: false.
	Paused bool
	// Frozen stops repair as well: in addition to what Paused does, no pod is created or deleted, and no revision is created,
	// renumbered or deleted (T4). Default: false.
	Frozen bool
}

// Policy groups the rules for fleets. Each is off if it is unset.
type Policy struct {
	// Outages leaves nodes out of the budgets that were down before their update, and leaves departing nodes alone (B9, M8).
	// Default (nil): nodes that are down count, and departing nodes are repaired and updated like any other.
	Outages *outage.Options
	// Domains bound how many nodes are disturbed at once by label, and in how many places, beside maxUnavailable or maxSurge
	// (B10). At most 16. Default (nil): none.
	Domains []domain.Domain
	// Stages open the fleet to a new revision one part after the other (T8). At most 64. Default (nil): all nodes are open.
	Stages []stage.Stage
	// Approved are the approvals of parts of stages that need one. Default (nil): none.
	Approved []stage.Approval
	// Expedite names a revision that passes the stages: its hash, the name of its ControllerRevision, or canary.Any for whatever
	// revision there is. Default (""): none does.
	Expedite string
	// Failures stop the rollout, or take it back, when it fails on too many nodes (F1 to F4). Default (nil): nodes that fail
	// count as unavailable, and nothing else follows.
	Failures *failure.Options
}

// SlowStart bounds the nodes under way, those that wait for a pod to be gone or for a new one to be available, by a limit that
// rises from Increase by Increase every Interval up to MaxParallel (B7). The zero value rises by one node a minute up to 250.
type SlowStart struct {
	// Interval between two steps of the limit. It must be positive. Default (0): one minute.
	Interval time.Duration
	// Increase of the limit at each step: an integer of at least 1, or a percentage of desired from 1%, rounded up.
	// Default (nil): 1.
	Increase *intstr.IntOrString
	// MaxParallel is the highest limit: an integer of at least 1, or a percentage of desired from 1%, rounded up.
	// Default (nil): 250.
	MaxParallel *intstr.IntOrString
}

// Predecessor is a set whose pods this one replaces: a DaemonSet that an ExtendedDaemonSet follows, or the other way
// round. Its pods count as outdated pods of their nodes, whatever revision they carry, and are replaced under the
// budgets. The predecessor must not create pods any more: delete it first, and leave its pods behind.
type Predecessor struct {
	// UIDs of the controllers of its pods: that of a DaemonSet, or those of an ExtendedDaemonSet's replica sets. Default
	// (none): the controllers are gone, and only pods without a controller are taken over.
	UIDs []types.UID
	// Selector of its pods. Pods without a controller that it matches are taken over, too. Default (nil): none.
	Selector *metav1.LabelSelector
}

// StrategyType names a way to update.
type StrategyType string

// The strategy types, spelled as apps/v1 spells them.
const (
	RollingUpdate StrategyType = "RollingUpdate"
	OnDelete      StrategyType = "OnDelete"
)

// CanaryLabel is on the pods of canary nodes while a revision is on trial, with the value "true", as the
// ExtendedDaemonSet sets it.
const CanaryLabel = "extendeddaemonsetreplicaset.datadoghq.com/canary"

// TemplateGenerationLabel is the label by which pods carried their revision before there were revision hashes (R5).
const TemplateGenerationLabel = "pod-template-generation"

// Defaults of a Spec.
const (
	DefaultNamespace            = "default"
	DefaultAPIVersion           = "apps/v1"
	DefaultKind                 = "DaemonSet"
	DefaultRevisionHistoryLimit = 10
	DefaultBurst                = 250
	DefaultMaxUnavailable       = 1
	DefaultSlowStartInterval    = time.Minute
	DefaultSlowStartIncrease    = 1
	DefaultSlowStartMaxParallel = 250
)

// Default returns a deep copy of the spec in which every unset field has its default. It does not validate: a wrong value
// stays as it is, for [Spec.Validate] to report.
func (s Spec) Default() Spec {
	s.Selector = s.Selector.DeepCopy()
	s.Template = *s.Template.DeepCopy()
	s.TemplateGeneration = clone(s.TemplateGeneration)
	s.RevisionHistoryLimit = clone(s.RevisionHistoryLimit)
	s.Burst = clone(s.Burst)
	s.Strategy.MaxUnavailable = clone(s.Strategy.MaxUnavailable)
	s.Strategy.MaxSurge = clone(s.Strategy.MaxSurge)
	s.Strategy.Partition = clone(s.Strategy.Partition)
	s.Strategy.NodeSelector = s.Strategy.NodeSelector.DeepCopy()
	s.Strategy.InPlace = s.Strategy.InPlace.DeepCopy()
	s.Strategy.MaxUnschedulable = clone(s.Strategy.MaxUnschedulable)
	s.Overrides = cloneOverrides(s.Overrides)
	if s.Predecessor != nil {
		s.Predecessor = &Predecessor{UIDs: slices.Clone(s.Predecessor.UIDs), Selector: s.Predecessor.Selector.DeepCopy()}
	}
	s.Lifecycle = s.Lifecycle.DeepCopy()

	setDefault(&s.Namespace, DefaultNamespace)
	setDefault(&s.APIVersion, DefaultAPIVersion)
	setDefault(&s.Kind, DefaultKind)
	setDefault(&s.Strategy.Type, RollingUpdate)
	setDefault(&s.RevisionHistoryLimit, new(int32(DefaultRevisionHistoryLimit)))
	setDefault(&s.Burst, new(intstr.FromInt32(DefaultBurst)))
	setDefault(&s.Strategy.MaxSurge, new(intstr.FromInt32(0)))
	setDefault(&s.Strategy.Partition, new(intstr.FromInt32(0)))
	setDefault(&s.Strategy.Method, inplace.Recreate)
	setDefault(&s.Strategy.MaxUnschedulable, new(intstr.FromInt32(0)))
	if s.Strategy.Canary != nil {
		s.Strategy.Canary = new(s.Strategy.Canary.Default())
	}
	if s.Strategy.SlowStart != nil {
		s.Strategy.SlowStart = s.Strategy.slowStart()
	}
	s.Strategy.Policy = s.Strategy.Policy.withDefaults()
	if s.PreDownload != nil {
		s.PreDownload = new(s.PreDownload.Default())
	}
	if s.Strategy.MaxUnavailable == nil {
		unavailable := intstr.FromInt32(DefaultMaxUnavailable)
		if !isZero(*s.Strategy.MaxSurge) {
			unavailable = intstr.FromInt32(0)
		}
		s.Strategy.MaxUnavailable = &unavailable
	}
	return s
}

func (p Policy) withDefaults() Policy {
	if p.Outages != nil {
		p.Outages = new(p.Outages.Default())
	}
	p.Domains = slices.Clone(p.Domains)
	for i := range p.Domains {
		p.Domains[i] = p.Domains[i].DeepCopy()
	}
	p.Stages, p.Approved = slices.Clone(p.Stages), slices.Clone(p.Approved)
	for i := range p.Stages {
		p.Stages[i] = p.Stages[i].DeepCopy()
	}
	if p.Failures != nil {
		p.Failures = new(p.Failures.Default())
	}
	return p
}

// slowStart returns the slow start with its defaults. If there is none, it returns one that has defaults only.
func (s Strategy) slowStart() *SlowStart {
	var slow SlowStart
	if s.SlowStart != nil {
		slow = *s.SlowStart
	}
	slow.Increase, slow.MaxParallel = clone(slow.Increase), clone(slow.MaxParallel)
	setDefault(&slow.Interval, DefaultSlowStartInterval)
	setDefault(&slow.Increase, new(intstr.FromInt32(DefaultSlowStartIncrease)))
	setDefault(&slow.MaxParallel, new(intstr.FromInt32(DefaultSlowStartMaxParallel)))
	return &slow
}

func cloneOverrides(overrides []placement.Override) []placement.Override {
	if overrides == nil {
		return nil
	}
	list := make([]placement.Override, len(overrides))
	for i, o := range overrides {
		o.NodeSelector = *o.NodeSelector.DeepCopy()
		containers := make(map[string]corev1.ResourceRequirements, len(o.Containers))
		for name, resources := range o.Containers {
			containers[name] = *resources.DeepCopy()
		}
		o.Containers = containers
		list[i] = o
	}
	return list
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// isZero reports whether v is 0 or "0%". A value that cannot be read is not zero.
func isZero(v intstr.IntOrString) bool {
	q, err := count.Parse(v)
	return err == nil && q.Value == 0
}
