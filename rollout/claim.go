package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/selectors"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// newPredecessor compiles what recognizes the pods of the set that this one takes over from. Nil: there is no such set.
func newPredecessor(spec Spec) (*fleet.Predecessor, error) {
	if spec.Predecessor == nil {
		return nil, nil
	}
	p := &fleet.Predecessor{UIDs: spec.Predecessor.UIDs}
	var err error
	if p.Own, err = selectors.Compile(spec.Selector); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if p.Selector, err = selectors.Compile(spec.Predecessor.Selector); err != nil { // nil selects nothing
		return nil, fmt.Errorf("spec.predecessor.selector: %w", err)
	}
	return p, nil
}

// Claims says which pods belong to the set, and which references to it are to be set or removed. Each slice is ordered by pod
// name, then UID.
type Claims struct {
	// Pods of the set: those it controls, and those to adopt. Pass them to [Snapshot].
	Pods []*corev1.Pod
	// Adopt lists those of Pods that have no controller and match the selector: give them the set's controller reference, with
	// [AdoptPatch].
	Adopt []*corev1.Pod
	// Old lists the pods of the predecessor among Pods. They are replaced under the budgets; until then their controller
	// reference stays as it is.
	Old []*corev1.Pod
	// Release lists pods that the set controls although the selector does not match them any more: take the reference away,
	// with [ReleasePatch]. They are not among Pods.
	Release []*corev1.Pod
}

// Claim finds the pods that belong to the set. The controller reference decides, and for pods without one the selector. Pods
// of other namespaces and other controllers are left out. An object without a namespace counts as one in the default
// namespace.
//
// A terminating pod without a controller is not adopted, because it will be gone soon; the controllers do the same. A
// terminating pod of the set is not released either, because it holds its node until it is gone (M1); there the Kubernetes
// controller differs.
//
// If the spec has a predecessor, the predecessor's pods in the namespace belong to the set, too: those that it controls, and
// those without a controller that its selector matches and the set's does not.
//
// Claim fails if the set's selector is missing or empty, if a selector is malformed, and on a nil pod.
func Claim(spec Spec, pods []*corev1.Pod) (Claims, error) {
	owner, err := newOwner(spec)
	if err != nil {
		return Claims{}, err
	}
	own, adopt, release, err := claimAll(owner, "Pods", pods)
	if err != nil {
		return Claims{}, err
	}
	claims := Claims{Pods: own, Adopt: adopt, Release: release}
	old, err := newPredecessor(spec)
	if err != nil {
		return Claims{}, err
	}
	setDefault(&spec.Namespace, DefaultNamespace)
	for _, pod := range pods {
		if cmp.Or(pod.Namespace, DefaultNamespace) == spec.Namespace && old.Owns(pod) {
			claims.Old = append(claims.Old, pod)
		}
	}
	slices.SortStableFunc(claims.Old, byName)
	claims.Pods = append(claims.Pods, claims.Old...)
	slices.SortStableFunc(claims.Pods, byName)
	return claims, nil
}

// Claimed is what [Planner.ClaimAndPlan] returns.
type Claimed struct {
	// Plan is made of the pods and revisions that belong to the set.
	Plan Plan
	// Pods are the claims on the pods, as [Claim] returns them, but for the order of Claims.Pods, which means nothing.
	Pods Claims
	// Revisions are the claims on the revisions, as [ClaimRevisions] returns them.
	Revisions RevisionClaims
}

// ClaimAndPlan finds the pods and revisions that belong to the set, as [Claim] and [ClaimRevisions] do, and plans with them. Pods
// and Revisions of the snapshot are all those of the set's namespace, as a cache lists them. With a Reading of ClaimAndPlan, pods
// that it knows are not matched against selectors again.
//
// It fails as [Claim], [ClaimRevisions] and [Planner.Plan] do. The claims are of no use then.
func (p *Planner) ClaimAndPlan(snapshot Snapshot) (Claimed, error) {
	return p.claimAndPlan(snapshot, new(Workspace))
}

func (p *Planner) claimAndPlan(snapshot Snapshot, in *Workspace) (Claimed, error) {
	if p == nil || p.resolver == nil {
		return Claimed{}, errNoPlanner
	}
	if p.noOwner != nil {
		return Claimed{}, p.noOwner
	}
	claimed, err := p.readAndPlan(snapshot, in)
	if snapshot.Reading != nil && (err != nil || hasTwins(claimed.Pods.Release)) {
		// The claims of a Reading have an order of their own. What is wrong is said as of the caller's list.
		snapshot.Reading = nil
		return p.readAndPlan(snapshot, in)
	}
	return claimed, err
}

// hasTwins reports whether of pods in order two have one name and UID, as a broken cache may list them.
func hasTwins(pods []*corev1.Pod) bool {
	for i := 1; i < len(pods); i++ {
		if byName(pods[i-1], pods[i]) == 0 {
			return true
		}
	}
	return false
}

// readAndPlan claims, with the Reading of the snapshot if there is one, and plans.
func (p *Planner) readAndPlan(snapshot Snapshot, in *Workspace) (Claimed, error) {
	revisions, err := claimRevisions(p.rules.Owner, snapshot.Revisions)
	if err != nil {
		return Claimed{}, err
	}
	listed := snapshot.Revisions
	snapshot.Revisions = revisions.Revisions
	plan, err := p.plan(snapshot, true, in)
	if err != nil {
		return Claimed{}, snapshotError(listedAt(err, "Revisions", snapshot.Revisions, listed))
	}
	pods := plan.Reading.claimFacts()
	// The caller may change the lists, and the Reading keeps them.
	claimed := Claimed{Plan: plan, Revisions: revisions, Pods: Claims{
		Pods: slices.Clone(pods.Own), Adopt: slices.Clone(pods.Adopt), Old: slices.Clone(pods.Old),
		Release: slices.Clone(pods.Release),
	}}
	for _, list := range [][]*corev1.Pod{claimed.Pods.Adopt, claimed.Pods.Old, claimed.Pods.Release} {
		slices.SortStableFunc(list, byName)
	}
	return claimed, nil
}

// claim returns how a pod belongs to the set, or to its predecessor.
func (p *Planner) claim(pod *corev1.Pod) fleet.Claim {
	if claim := p.rules.Owner.Claim(pod); claim != fleet.Foreign {
		return claim
	}
	if cmp.Or(pod.Namespace, DefaultNamespace) == p.rules.Owner.Namespace && p.rules.Predecessor.Owns(pod) {
		return fleet.Old
	}
	return fleet.Foreign
}

// claimRule describes what claims on pods depend on beside the pods.
func claimRule(o *fleet.Owner, old *fleet.Predecessor) string {
	rule := fmt.Sprintf("%q %q %q", o.Namespace, o.UID, o.Selector.String())
	if old != nil {
		rule += fmt.Sprintf(" %q %q %t", old.UIDs, old.Selector.String(), old.Selector.Empty())
	}
	return rule
}

// RevisionClaims says which revisions belong to the set, as [Claims] does for pods.
type RevisionClaims struct {
	// Revisions of the set: those it controls, and those to adopt. Pass them to [Snapshot].
	Revisions []*appsv1.ControllerRevision
	// Adopt lists those of Revisions that have no controller: give them the set's controller reference, with [AdoptPatch].
	Adopt []*appsv1.ControllerRevision
	// Release lists revisions that the set controls although the selector does not match them any more. They are not among
	// Revisions.
	Release []*appsv1.ControllerRevision
}

// ClaimRevisions finds the revisions that belong to the set, by the rules of [Claim], but without regard to a predecessor.
func ClaimRevisions(spec Spec, revisions []*appsv1.ControllerRevision) (RevisionClaims, error) {
	owner, err := newOwner(spec)
	if err != nil {
		return RevisionClaims{}, err
	}
	return claimRevisions(owner, revisions)
}

func claimRevisions(owner *fleet.Owner, revisions []*appsv1.ControllerRevision) (RevisionClaims, error) {
	own, adopt, release, err := claimAll(owner, "Revisions", revisions)
	if err != nil {
		return RevisionClaims{}, err
	}
	return RevisionClaims{Revisions: own, Adopt: adopt, Release: release}, nil
}

func claimAll[T interface {
	comparable
	metav1.Object
}](owner *fleet.Owner, list string, objects []T) (own, adopt, release []T, err error) {
	var missing T
	for i, object := range objects {
		if object == missing {
			return nil, nil, nil, snapshotError(wrong(list, i, "must not be nil"))
		}
		switch owner.Claim(object) {
		case fleet.Adopted:
			adopt = append(adopt, object)
			own = append(own, object)
		case fleet.Owned:
			own = append(own, object)
		case fleet.Released:
			release = append(release, object)
		case fleet.Foreign, fleet.Old:
		}
	}
	for _, claimed := range [][]T{own, adopt, release} {
		slices.SortStableFunc(claimed, byName)
	}
	return own, adopt, release, nil
}

func newOwner(spec Spec) (*fleet.Owner, error) {
	setDefault(&spec.Namespace, DefaultNamespace)
	owner := &fleet.Owner{Namespace: spec.Namespace, UID: spec.UID}
	selector, err := selectors.Compile(spec.Selector)
	if err != nil {
		return owner, fmt.Errorf("spec.selector: %w", err)
	}
	if spec.Selector == nil || selector.Empty() {
		return owner, errors.New("spec.selector: must be set and must not be empty")
	}
	owner.Selector = selector
	return owner, nil
}

// ClaimAndPlan is [Planner.ClaimAndPlan] in the memory of the Workspace, as Plan is [Planner.Plan].
func (w *Workspace) ClaimAndPlan(planner *Planner, snapshot Snapshot) (Claimed, error) {
	if w == nil {
		return planner.ClaimAndPlan(snapshot)
	}
	defer w.release()
	return planner.claimAndPlan(snapshot, w)
}

// listedAt returns an error about a claimed object as one about the same object in the list that it was claimed from.
func listedAt[T comparable](err error, list string, claimed, listed []T) error {
	if of, ok := errors.AsType[*fleet.Error](err); ok && of.List == list && of.Index != none {
		return wrong(list, slices.Index(listed, claimed[of.Index]), of.Problem)
	}
	return err
}
