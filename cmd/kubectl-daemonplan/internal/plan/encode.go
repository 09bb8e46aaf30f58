package plan

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// Document is the plan in the form of -o json and -o yaml. Codes are printed by name. A new version may add fields, but removes
// none.
type Document struct {
	// Namespace and Name are those of the set. Its apiVersion shows which kind of DaemonSet it is; datadoghq.com/v1alpha1 is an
	// ExtendedDaemonSet.
	Namespace           string `json:"namespace"`
	Name                string `json:"name"`
	DaemonSetAPIVersion string `json:"daemonSetAPIVersion"`
	// Controller is whose plan it is: kubernetes, the DaemonSet controller of Kubernetes, kruise, that of OpenKruise, eds, that
	// of ExtendedDaemonSets, or daemonplan.
	Controller controllers.Name `json:"controller"`
	// Now is the time that the plan is for. NextWake is when to plan again at the latest; absent: not before something changes.
	Now      string `json:"now"`
	NextWake string `json:"nextWake,omitempty"`
	// Status is the status that the objects show, before any action.
	Status status.Status `json:"status"`
	// Budget is the budget of the rollout in nodes, and how many nodes count against it after this plan, which may be more.
	Budget budget `json:"budget"`
	// Canary is the state of the update revision's canary; absent if the strategy has none.
	Canary *trial `json:"canary,omitempty"`
	// Parts are those of the stages, in the order in which they are opened; absent while none is judged. StaleApprovals are
	// approvals of other revisions.
	Parts          []part     `json:"parts,omitempty"`
	StaleApprovals []approval `json:"staleApprovals,omitempty"`
	// Failures says on how many nodes the update revision has failed; absent if the policy does not watch failures.
	Failures *failures `json:"failures,omitempty"`
	// Overrides are the conflicts between settings, and the annotations of nodes that cannot be read.
	Overrides []override `json:"overrides,omitempty"`
	// Revisions are the revisions, the newest first.
	Revisions []Revision `json:"revisions"`
	// Diffs show what updates of the pods of this plan change, and whether that can be made in place. There are none if the set
	// recreates pods.
	Diffs []diff `json:"diffs,omitempty"`
	// Actions are the actions to take, in the order of the fields.
	Actions actions `json:"actions"`
	// ImagePullJobs are jobs of OpenKruise that pull ahead what this rollout needs, to be created once at its beginning. Use
	// either these jobs or the pulls among Actions, not both.
	ImagePullJobs []json.RawMessage `json:"imagePullJobs,omitempty"`
	// Waits shows which nodes wait for what.
	Waits []wait `json:"waits"`
	// Updating are the pods whose update in place is not complete, and Hooks those that wait for a hook, before any action.
	Updating []podWait `json:"updating,omitempty"`
	Hooks    []podWait `json:"hooks,omitempty"`
	// Nodes has one entry per node, by name, and then one per pod on a node that is gone.
	Nodes []decision `json:"nodes"`
	// Memory is what to pass to the next plan with --memory.
	Memory rollout.Memory `json:"memory"`
	// Warnings list what in the input makes the plan doubtful.
	Warnings []string `json:"warnings,omitempty"`
	// Ignored counts the objects of other kinds, by apiVersion (but for v1) and kind.
	Ignored map[string]int `json:"ignored,omitempty"`
}

type budget struct {
	MaxUnavailable int32 `json:"maxUnavailable"`
	Unavailable    int32 `json:"unavailable"`
	MaxSurge       int32 `json:"maxSurge"`
	Surging        int32 `json:"surging"`
	Burst          int32 `json:"burst"`
	Partition      int32 `json:"partition"`
	Partitioned    int32 `json:"partitioned"`
	// SlowStart is how many nodes may be under way now, and UnderWay how many were; absent without slow start.
	SlowStart int32 `json:"slowStart,omitempty"`
	UnderWay  int32 `json:"underWay,omitempty"`
	// MaxUnschedulable, MaxExempt and Failures.MaxQuarantined are how many nodes may be left out of the budget, and Exempt is
	// how many are. Of them ExemptOut are left out because they are down or departing.
	MaxUnschedulable int32 `json:"maxUnschedulable,omitempty"`
	MaxExempt        int32 `json:"maxExempt,omitempty"`
	Exempt           int32 `json:"exempt,omitempty"`
	ExemptOut        int32 `json:"exemptOut,omitempty"`
	Waiting          int32 `json:"waiting"`
}

type actions struct {
	Revisions []revisionAction `json:"revisions"`
	Patches   []podAction      `json:"patches"`
	Pulls     []pull           `json:"pulls"`
	Deletes   []podAction      `json:"deletes"`
	Creates   []podAction      `json:"creates"`
}

// revisionAction creates, renumbers, annotates or deletes a ControllerRevision.
type revisionAction struct {
	Verb   string `json:"verb"`
	Name   string `json:"name"`
	Number int64  `json:"number"`
	UID    string `json:"uid,omitempty"` // a precondition; absent for a create
	// Object is the object to create.
	Object *appsv1.ControllerRevision `json:"object,omitempty"`
	// Annotations are those to set, and RemoveAnnotations those to remove: they mark a revision as promoted or failed.
	Annotations       map[string]string `json:"annotations,omitempty"`
	RemoveAnnotations []string          `json:"removeAnnotations,omitempty"`
}

// podAction acts on one pod, or creates one.
type podAction struct {
	Node     string `json:"node"`
	Pod      string `json:"pod,omitempty"`
	UID      string `json:"uid,omitempty"` // a precondition
	Revision string `json:"revision,omitempty"`
	// RevisionName is the ControllerRevision that has the template of a pod to create.
	RevisionName string `json:"revisionName,omitempty"`
	Reason       string `json:"reason"`
	// Canary reports whether the node is one of the canary's. Resources are what the pod's containers get in place of the
	// template's.
	Canary    bool                                   `json:"canary,omitempty"`
	Resources map[string]corev1.ResourceRequirements `json:"resources,omitempty"`
	// Type is the type of a patch, such as application/strategic-merge-patch+json, and Data its data. Subresource is the
	// subresource of the pod to send it to, absent for the pod itself.
	Type        string          `json:"type,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Patch       json.RawMessage `json:"patch,omitempty"`
}

// pull starts the pull of an image on a node.
type pull struct {
	Node           string   `json:"node"`
	Image          string   `json:"image"`
	Revision       string   `json:"revision"`
	Secrets        []string `json:"secrets,omitempty"`
	TimeoutSeconds int64    `json:"timeoutSeconds"`
	BackoffLimit   int32    `json:"backoffLimit"`
}

type wait struct {
	Reason string `json:"reason"`
	Limit  string `json:"limit"`
	Size   int32  `json:"size,omitempty"` // the size of the limit, in nodes or actions
	// Nodes are those that wait, and Because those that use the limit up.
	Nodes   []string `json:"nodes"`
	Because []string `json:"because,omitempty"`
}

type decision struct {
	Node      string `json:"node"`
	Pod       string `json:"pod,omitempty"`
	Placement string `json:"placement"` // run, keep or leave
	State     string `json:"state"`
	Target    string `json:"target"`
	Verb      string `json:"verb"`
	Reason    string `json:"reason"`
	Limit     string `json:"limit,omitempty"`
	Until     string `json:"until,omitempty"`
	// Part is the part that the node waits for: its place in Parts, counted from 1.
	Part int32 `json:"part,omitempty"`
	// Unavailable reports whether the node counts against maxUnavailable after this plan, Surging whether it holds a place of
	// maxSurge.
	Unavailable bool `json:"unavailable,omitempty"`
	Surging     bool `json:"surging,omitempty"`
	// NotInPlace is why the pod is recreated, or held, instead of updated in place.
	NotInPlace string `json:"notInPlace,omitempty"`
	// Canary reports whether this is a canary node. Exempt reports whether the node is left out of the budget, against which it
	// would count, and Exemption by which rule: unschedulable, out (it is down or departing) or quarantined.
	Canary    bool   `json:"canary,omitempty"`
	Exempt    bool   `json:"exempt,omitempty"`
	Exemption string `json:"exemption,omitempty"`
	// Failed reports whether the update revision has failed on the node.
	Failed bool `json:"failed,omitempty"`
}

// Document is the plan as a value.
func (r *Result) Document() (Document, error) {
	p, spec := r.Plan, r.Spec
	jobs, err := r.imagePullJobs()
	if err != nil {
		return Document{}, err
	}
	d := Document{
		Namespace:           spec.Namespace,
		Name:                spec.Name,
		DaemonSetAPIVersion: spec.APIVersion,
		Controller:          r.By,

		Now:      timestamp(r.Snapshot.Now),
		NextWake: timestamp(p.NextWake),
		Status:   p.Status,
		Budget: budget{
			MaxUnavailable: p.Budget.MaxUnavailable, Unavailable: p.Budget.Unavailable,
			MaxSurge: p.Budget.MaxSurge, Surging: p.Budget.Surging,
			Partition: p.Budget.Partition, Partitioned: p.Budget.Partitioned,
			SlowStart: p.Budget.SlowStart, UnderWay: p.Budget.UnderWay,
			MaxUnschedulable: p.Budget.MaxUnschedulable, MaxExempt: p.Budget.MaxExempt,
			Exempt: p.Budget.Exempt, ExemptOut: p.Budget.ExemptOut,
			Burst: p.Budget.Burst, Waiting: p.Budget.Waiting,
		},
		Canary: r.trial(),
		Parts:  r.parts(), StaleApprovals: r.staleApprovals(),
		Failures:      r.failures(),
		Overrides:     r.overrides(),
		Revisions:     r.revisions(),
		Diffs:         r.diffs(),
		Actions:       r.actions(),
		ImagePullJobs: jobs,

		Waits:    []wait{},
		Updating: r.updating(),
		Hooks:    r.hookWaits(),
		Nodes:    []decision{},
		Memory:   p.Memory,
		Warnings: r.warnings(),
		Ignored:  r.Input.Ignored,
	}
	if note := r.By.Disobeyed(r.Set); note != "" {
		d.Warnings = append([]string{note}, d.Warnings...)
	}
	for _, w := range p.Waits() {
		d.Waits = append(d.Waits, wait{w.Reason.String(), w.Limit.String(), w.Size, w.Nodes, w.Because})
	}
	for i := range p.Decisions {
		d.Nodes = append(d.Nodes, r.decision(&p.Decisions[i]))
	}
	return d, nil
}

func (r *Result) actions() actions {
	p := r.Plan
	list := actions{
		Revisions: []revisionAction{}, Patches: []podAction{}, Pulls: []pull{}, Deletes: []podAction{}, Creates: []podAction{},
	}
	for _, a := range p.Revisions {
		list.Revisions = append(list.Revisions, revisionAction{
			Verb: a.Verb.String(), Name: a.Name, Number: a.Number, UID: string(a.UID), Object: a.Object,
			Annotations: a.Annotations, RemoveAnnotations: a.RemoveAnnotations,
		})
	}
	for _, a := range p.Patches {
		list.Patches = append(list.Patches, podAction{
			Node: a.Node, Pod: a.Pod, UID: string(a.UID), Revision: a.Revision, Reason: a.Reason.String(),
			Type: string(a.Type), Subresource: a.Subresource, Patch: a.Data,
		})
	}
	for _, a := range p.Pulls {
		list.Pulls = append(list.Pulls, pull{
			Node: a.Node, Image: a.Image, Revision: a.Revision, Secrets: a.Secrets,
			TimeoutSeconds: int64(a.Timeout / time.Second), BackoffLimit: a.BackoffLimit,
		})
	}
	for _, a := range p.Deletes {
		list.Deletes = append(list.Deletes, podAction{
			Node: a.Node, Pod: a.Pod, UID: string(a.UID), Revision: a.Revision, Reason: a.Reason.String(),
		})
	}
	names := make(map[string]string)
	for _, object := range r.revisionObjects() {
		names[history.HashOf(object)] = object.Name
	}
	for _, a := range p.Creates {
		list.Creates = append(list.Creates, podAction{
			Node: a.Node, Revision: a.Revision, RevisionName: names[a.Revision], Reason: a.Reason.String(),
			Canary: a.Canary, Resources: byContainer(a.Resources),
		})
	}
	return list
}

func (r *Result) decision(d *rollout.Decision) decision {
	one := decision{
		Node: d.Node, Pod: d.Pod, Placement: d.Placement.Outcome.String(), State: d.State.String(),
		Target: d.Target.String(), Verb: d.Verb.String(), Reason: d.Reason.String(), Until: timestamp(d.Until), Part: d.Part,
		Unavailable: d.Unavailable, Surging: d.Surging, NotInPlace: r.notInPlace(d), Canary: d.Canary, Exempt: d.Exempt(),
		Failed: d.Failed,
	}
	if d.Exempt() {
		one.Exemption = d.Exemption.String()
	}
	if d.Limit != rollout.LimitNone {
		one.Limit = d.Limit.String()
	}
	return one
}

// byContainer are the resources of each container.
func byContainer(list []placement.Resources) map[string]corev1.ResourceRequirements {
	if len(list) == 0 {
		return nil
	}
	resources := make(map[string]corev1.ResourceRequirements, len(list))
	for _, one := range list {
		resources[one.Container] = one.Resources
	}
	return resources
}
