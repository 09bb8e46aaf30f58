package rollout

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// New validates the spec, fills in defaults and compiles it. It reports every mistake at once, as an aggregate of
// *field.Error with paths such as spec.strategy.maxSurge; errors.As finds them, and [FieldErrors] lists them.
func New(spec Spec) (*Planner, error) {
	spec = spec.Default()
	if errs := spec.Validate(field.NewPath("spec")); len(errs) > 0 {
		return nil, specError{errs.ToAggregate()}
	}
	return compile(spec)
}

// Warnings returns what is wrong with the spec although the API server takes it, with paths such as spec.template.spec.affinity:
// a bound of a Gt or Lt in the required node affinity that is no integer, so that its term matches no node (P4), a name of
// [inplace.Options].ServeOn that the template lacks, and a maxSurge beside which no second pod of the template can be bound to a
// node ([placement.Excludes]), so that no update would end. Nil: nothing is, as for a nil Planner.
func (p *Planner) Warnings() field.ErrorList {
	if p == nil {
		return nil
	}
	path := field.NewPath("spec")
	warnings := placement.Warnings(&p.spec.Template, path.Child("template"))
	for _, excluded := range p.Exclusions(&p.spec.Template, nil) {
		warnings = append(warnings, field.Invalid(path.Child("strategy", "maxSurge"), p.spec.Strategy.MaxSurge.String(),
			"no pod can be bound beside one of the same template: "+excluded.String()+" ("+excluded.Path+")"))
	}
	path = path.Child("strategy", "inPlace", "serveOn")
	for i, name := range p.spec.Strategy.InPlace.ServeOn {
		named := func(c corev1.Container) bool { return c.Name == name }
		pod := &p.spec.Template.Spec
		if !slices.ContainsFunc(pod.Containers, named) && !slices.ContainsFunc(pod.InitContainers, named) {
			warnings = append(warnings, field.NotFound(path.Index(i), name))
		}
	}
	return warnings
}

// Exclusions returns what keeps the scheduler from binding a new pod of the spec beside one that another revision's template has
// made, with the claims that are known ([placement.Excludes]). With maxSurge the update of such a node does not end (B4). Nil:
// nothing does, as far as it is known; without maxSurge, because then nothing is created beside such a pod; for a nil template,
// and for a nil Planner.
func (p *Planner) Exclusions(running *corev1.PodTemplateSpec, claims []*corev1.PersistentVolumeClaim) []placement.Exclusion {
	if p == nil || running == nil || !p.surges() {
		return nil
	}
	return placement.Excludes(atRevision(running, "running"), atRevision(&p.spec.Template, "new"), p.spec.Namespace, nil, claims)
}

// atRevision returns a template that also has the label of a revision, as the pods that are made of it. It shares memory with the
// given one.
func atRevision(template *corev1.PodTemplateSpec, hash string) *corev1.PodTemplateSpec {
	labelled := *template
	labelled.Labels = maps.Clone(template.Labels)
	if labelled.Labels == nil {
		labelled.Labels = make(map[string]string)
	}
	labelled.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	return &labelled
}

// Plan decides what to do next. If the snapshot breaks its contract, the error is a *SnapshotError and the Plan is zero. An
// object that cannot be understood is no error: it gets a Decision that says so, and nothing destructive is done about it.
// A Planner that is nil or not made by [New] fails, too.
func (p *Planner) Plan(snapshot Snapshot) (Plan, error) {
	plan, err := p.plan(snapshot, false, new(Workspace))
	return plan, snapshotError(err)
}

// plan plans for the pods of the snapshot, or with claims, for those of them that are claimed.
func (p *Planner) plan(snapshot Snapshot, claims bool, in *Workspace) (Plan, error) {
	if p == nil || p.resolver == nil {
		return Plan{}, errNoPlanner
	}
	if snapshot.Now.IsZero() {
		return Plan{}, &SnapshotError{Field: "Now", Problem: "must be set: the planner has no clock of its own"}
	}
	r := &run{Planner: p, snapshot: snapshot, claims: claims, workspace: in, remembered: snapshot.Memory.usable(),
		revisionsInFlight: setOf(snapshot.InFlight.Revisions), draft: draft{installsLeft: unlimited}}
	r.usesCanaryLabel = p.spec.Strategy.Canary != nil || len(r.remembered.Canary.Nodes) > 0
	if err := through(r); err != nil {
		return Plan{}, err
	}
	return r.plan, nil
}

// Pod builds the pod that a create asks for: the template with the daemon tolerations, pinned to the node, named by
// generateName, labelled with the revision hash and owned by the set. Under an in-place method it has the readiness gate
// InPlaceUpdateReady, without which it could not be updated in place (see [Strategy].Method), and with hooks that mark pods as
// not ready that of the hook (L4). It fails if the create names no node or no revision. The creates of a plan name both.
func (p *Planner) Pod(create Create) (*corev1.Pod, error) {
	if p == nil || p.resolver == nil {
		return nil, errNoPlanner
	}
	return p.pod(create)
}

var errNoPlanner = errors.New("planner: must come from rollout.New")

// compile prepares a spec that has its defaults and was validated.
func compile(spec Spec) (*Planner, error) {
	p := &Planner{spec: spec, failing: failure.Options{}.Default(), proving: outage.Options{}.Default()}
	maxExempt, maxFailed, quarantine := intstr.FromInt32(0), intstr.FromInt32(0), intstr.FromInt32(0)
	if outages := spec.Strategy.Policy.Outages; outages != nil && spec.Strategy.Type == RollingUpdate {
		p.outages, p.proving, maxExempt = outages, *outages, *outages.MaxExempt
	}
	if failures := spec.Strategy.Policy.Failures; failures != nil && spec.Strategy.Type == RollingUpdate {
		p.failures, p.failing, maxFailed, quarantine = failures, *failures, *failures.MaxFailed, *failures.Quarantine
	}
	for _, q := range []struct {
		to   *count.Quantity
		from intstr.IntOrString
	}{
		{&p.maxUnavailable, *spec.Strategy.MaxUnavailable},
		{&p.maxSurge, *spec.Strategy.MaxSurge},
		{&p.burst, *spec.Burst},
		{&p.partitionSize, *spec.Strategy.Partition},
		{&p.unschedulable, *spec.Strategy.MaxUnschedulable},
		{&p.maxExempt, maxExempt},
		{&p.failedLimit, maxFailed},
		{&p.quarantineLimit, quarantine},
		{&p.increase, *spec.Strategy.slowStart().Increase},
		{&p.maxParallel, *spec.Strategy.slowStart().MaxParallel},
	} {
		// The budgets of OnDelete are not validated, and not used.
		*q.to, _ = count.Parse(q.from)
	}
	var err error
	p.images = predownload.Images(&p.spec.Template)
	p.features = placement.Features(&p.spec.Template.Spec)
	for _, secret := range p.spec.Template.Spec.ImagePullSecrets {
		p.secrets = append(p.secrets, secret.Name)
	}
	p.rules = &fleet.Rules{
		Namespace: spec.Namespace, Name: spec.Name, Template: &p.spec.Template, Overrides: spec.Overrides,
		NodeSelector: labels.Everything(), CanaryLabel: CanaryLabel, Failures: p.failures,
	}
	if spec.Strategy.NodeSelector != nil {
		if p.rules.NodeSelector, err = metav1.LabelSelectorAsSelector(spec.Strategy.NodeSelector); err != nil {
			return nil, fmt.Errorf("spec.strategy.nodeSelector: %w", err)
		}
	}
	if spec.Strategy.Type == RollingUpdate { // OnDelete does not use policies
		if p.rules.Domains, err = domain.Compile(spec.Strategy.Policy.Domains); err != nil {
			return nil, fmt.Errorf("spec.strategy.policy.%w", err)
		}
		if p.rules.Stages, err = stage.Compile(spec.Strategy.Policy.Stages); err != nil {
			return nil, fmt.Errorf("spec.strategy.policy.%w", err)
		}
	}
	if p.rules.Predecessor, err = newPredecessor(spec); err != nil {
		return nil, err
	}
	if p.rules.Owner, p.noOwner = newOwner(spec); p.noOwner == nil {
		p.claimer = fleet.Claimer{Rule: claimRule(p.rules.Owner, p.rules.Predecessor), Claim: p.claim}
	}
	p.rules.Compiled, err = placement.CompileOverrides(spec.Namespace, spec.Name, &p.spec.Template, spec.Overrides)
	if err != nil {
		return nil, fmt.Errorf("spec.overrides: %w", err)
	}
	p.rules.Matcher, _ = placement.Compile(&p.spec.Template) // what is wrong with it is validated; the rest are warnings
	set := history.Set{Name: spec.Name, Namespace: spec.Namespace, UID: spec.UID, APIVersion: spec.APIVersion, Kind: spec.Kind}
	if p.resolver, err = history.Compile(set, &p.spec.Template); err != nil {
		return nil, fmt.Errorf("spec.template: %w", err)
	}
	p.gates, p.ledgers = gatesOf(p), ledgersOf(p)
	return p, nil
}

// through takes the nine steps. Each is one method (doc.go).
func through(r *run) error {
	if err := r.place(); err != nil { // 1
		return err
	}
	if err := r.join(); err != nil { // 2
		return err
	}
	if err := r.resolve(); err != nil { // 3
		return err
	}
	r.goal()     // 4
	r.classify() // 5
	r.repair()   // 6
	r.admit()    // 7
	r.act()      // 8
	r.report()   // 9
	return nil
}

// Plan is [Planner.Plan] in the memory of the Workspace. If it fails, the Decisions of the plan before may be overwritten all the
// same. A nil Workspace lends no memory.
func (w *Workspace) Plan(planner *Planner, snapshot Snapshot) (Plan, error) {
	if w == nil {
		return planner.Plan(snapshot)
	}
	defer w.release()
	plan, err := planner.plan(snapshot, false, w)
	return plan, snapshotError(err)
}
