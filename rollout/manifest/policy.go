package manifest

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// PolicyAnnotation is the annotation, on an object of any supported kind, whose value is the policy of the rollout in YAML or
// JSON: Strategy.Policy. The controllers of these kinds ignore it.
const PolicyAnnotation = "daemonplan.io/policy"

// maxPolicySize in bytes is what the API server takes of all annotations of an object together.
const maxPolicySize = 256 << 10

// policyForm is how a policy is written. Its fields have the names of those of rollout.Policy. Null is as good as leaving a field
// out.
type policyForm struct {
	Outages  *outagesForm   `json:"outages"`
	Domains  []domainForm   `json:"domains"`
	Stages   []stageForm    `json:"stages"`
	Approved []approvalForm `json:"approved"`
	Expedite string         `json:"expedite"`
	Failures *failuresForm  `json:"failures"`
}

// outagesForm is outage.Options.
type outagesForm struct {
	MaxExempt   *intstr.IntOrString `json:"maxExempt"`
	ProvenAfter *metav1.Duration    `json:"provenAfter"`
	Taints      []string            `json:"taints"`
	Conditions  []string            `json:"conditions"`
	Touch       bool                `json:"touch"`
}

// domainForm is domain.Domain.
type domainForm struct {
	Selector *metav1.LabelSelector `json:"selector"`
	Key      string                `json:"key"`
	Max      *intstr.IntOrString   `json:"max"`
	AtOnce   int32                 `json:"atOnce"`
}

// stageForm is stage.Stage.
type stageForm struct {
	Name      string                `json:"name"`
	Selector  *metav1.LabelSelector `json:"selector"`
	Key       string                `json:"key"`
	Tolerance *intstr.IntOrString   `json:"tolerance"`
	Soak      *metav1.Duration      `json:"soak"`
	Approval  bool                  `json:"approval"`
}

// failuresForm is failure.Options.
type failuresForm struct {
	Deadline    *metav1.Duration    `json:"deadline"`
	MaxRestarts *int32              `json:"maxRestarts"`
	MaxFailed   *intstr.IntOrString `json:"maxFailed"`
	Action      string              `json:"action"`
	Retry       string              `json:"retry"`
	Quarantine  *intstr.IntOrString `json:"quarantine"`
}

func (f *failuresForm) options() *failure.Options {
	o := failure.Options{
		MaxRestarts: f.MaxRestarts, MaxFailed: f.MaxFailed, Action: failure.Action(f.Action), Retry: f.Retry,
		Quarantine: f.Quarantine,
	}
	if f.Deadline != nil {
		o.Deadline = f.Deadline.Duration
	}
	return &o
}

// approvalForm is stage.Approval.
type approvalForm struct {
	Stage    string `json:"stage"`
	Value    string `json:"value"`
	Revision string `json:"revision"`
}

func (f *stageForm) stage() stage.Stage {
	s := stage.Stage{Name: f.Name, Selector: f.Selector, Key: f.Key, Tolerance: f.Tolerance, Approval: f.Approval}
	if f.Soak != nil {
		s.Soak = f.Soak.Duration
	}
	return s
}

func (f *policyForm) policy() rollout.Policy {
	policy := rollout.Policy{Expedite: f.Expedite}
	if f.Failures != nil {
		policy.Failures = f.Failures.options()
	}
	if o := f.Outages; o != nil {
		policy.Outages = &outage.Options{MaxExempt: o.MaxExempt, Taints: o.Taints, Conditions: o.Conditions, Touch: o.Touch}
		if o.ProvenAfter != nil {
			policy.Outages.ProvenAfter = o.ProvenAfter.Duration
		}
	}
	for _, d := range f.Domains {
		policy.Domains = append(policy.Domains, domain.Domain{Selector: d.Selector, Key: d.Key, Max: d.Max, AtOnce: d.AtOnce})
	}
	for i := range f.Stages {
		policy.Stages = append(policy.Stages, f.Stages[i].stage())
	}
	for _, a := range f.Approved {
		policy.Approved = append(policy.Approved, stage.Approval(a))
	}
	return policy
}

// policyOf reads the policy in the annotations of an object; the zero policy if there is none. Whether its values make sense is
// for New to say. Nobody but this library reads the annotation, so that an unknown field is a mistake, other than elsewhere in a
// manifest: a policy that is ignored without a word is worse than none.
func policyOf(annotations map[string]string) (rollout.Policy, field.ErrorList) {
	text, at := annotations[PolicyAnnotation], annotation(PolicyAnnotation)
	if len(text) > maxPolicySize {
		return rollout.Policy{}, field.ErrorList{field.TooLong(at, "", maxPolicySize)}
	}
	object, err := yaml.YAMLToJSONStrict([]byte(text))
	root, another := onlyDocument(text)
	if twice := root.keysGivenTwice(at); len(twice) > 0 {
		return rollout.Policy{}, twice
	}
	if err == nil {
		err = another
	}
	if err != nil {
		detail := "must be YAML or JSON: " + yamlMessage([]byte(text), err)
		return rollout.Policy{}, field.ErrorList{field.Invalid(at, shortened(text), detail)}
	}
	var form policyForm
	found := inspect(object, &form, at)
	mistakes := found.mistyped
	for _, u := range found.unknown {
		detail := "unknown field; known are " + strings.Join(u.known, ", ")
		mistakes = append(mistakes, &field.Error{Type: field.ErrorTypeForbidden, Field: u.path, Detail: detail})
	}
	for _, e := range mistakes {
		e.Detail += root.mention(strings.TrimPrefix(e.Field, at.String()))
	}
	if len(mistakes) == 0 {
		if err := json.Unmarshal(object, &form); err != nil { // what is not found above would be new
			mistakes = field.ErrorList{field.Invalid(at, shortened(text), err.Error())}
		}
	}
	if len(mistakes) > 0 {
		return rollout.Policy{}, mistakes
	}
	return form.policy(), nil
}
