package main

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// document is the plan as -o json and -o yaml print it. Codes appear by their names. Fields are only ever added.
type document struct {
	// Namespace and Name of the DaemonSet.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Now is the time that the plan is for, NextWake when to plan again at the latest; absent: when something changes.
	Now      string `json:"now"`
	NextWake string `json:"nextWake,omitempty"`
	// Status as the objects show it, before any action.
	Status status.Status `json:"status"`
	// Budget of the rollout, in nodes, and how many nodes count against it after this plan; that may be more.
	Budget budget `json:"budget"`
	// Revisions, the newest first.
	Revisions []revision `json:"revisions"`
	// Actions to take, in the order of the fields.
	Actions actions `json:"actions"`
	// Waits says which nodes wait for what.
	Waits []wait `json:"waits"`
	// Nodes has one entry per node, by name, and then one per pod on a node that is gone.
	Nodes []decision `json:"nodes"`
	// Warnings say what in the input makes the plan doubtful.
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
	Waiting        int32 `json:"waiting"`
}

type actions struct {
	Revisions []revisionAction `json:"revisions"`
	Patches   []podAction      `json:"patches"`
	Deletes   []podAction      `json:"deletes"`
	Creates   []podAction      `json:"creates"`
}

// revisionAction creates, renumbers or deletes a ControllerRevision.
type revisionAction struct {
	Verb   string `json:"verb"`
	Name   string `json:"name"`
	Number int64  `json:"number"`
}

// podAction acts on one pod, or creates one.
type podAction struct {
	Node     string          `json:"node"`
	Pod      string          `json:"pod,omitempty"`
	UID      string          `json:"uid,omitempty"`
	Revision string          `json:"revision,omitempty"`
	Reason   string          `json:"reason"`
	Type     string          `json:"type,omitempty"`  // of a patch
	Patch    json.RawMessage `json:"patch,omitempty"` // its data
}

type wait struct {
	Reason string `json:"reason"`
	Limit  string `json:"limit"`
	// Nodes that wait, and those that use the limit up.
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
}

func (r *result) encode(out io.Writer, format string) error {
	text, err := json.MarshalIndent(r.document(), "", "  ")
	if err == nil && format == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	if format == "json" {
		text = append(text, '\n')
	}
	_, err = out.Write(text)
	return err
}

func (r *result) document() document {
	p, spec := r.plan, r.set.Spec
	d := document{
		Namespace: spec.Namespace,
		Name:      spec.Name,
		Now:       timestamp(r.snapshot.Now),
		NextWake:  timestamp(p.NextWake),
		Status:    p.Status,
		Budget: budget{
			MaxUnavailable: p.Budget.MaxUnavailable, Unavailable: p.Budget.Unavailable,
			MaxSurge: p.Budget.MaxSurge, Surging: p.Budget.Surging,
			Burst: p.Budget.Burst, Waiting: p.Budget.Waiting,
		},
		Revisions: r.revisions(),
		Actions: actions{
			Revisions: []revisionAction{}, Patches: []podAction{}, Deletes: []podAction{}, Creates: []podAction{},
		},
		Waits:    []wait{},
		Nodes:    []decision{},
		Warnings: r.warnings(),
		Ignored:  r.input.ignored,
	}
	for _, a := range p.Revisions {
		d.Actions.Revisions = append(d.Actions.Revisions, revisionAction{a.Verb.String(), a.Name, a.Number})
	}
	for _, a := range p.Patches {
		d.Actions.Patches = append(d.Actions.Patches, podAction{
			Node: a.Node, Pod: a.Pod, UID: string(a.UID), Revision: a.Revision, Reason: a.Reason.String(),
			Type: string(a.Type), Patch: a.Data,
		})
	}
	for _, a := range p.Deletes {
		d.Actions.Deletes = append(d.Actions.Deletes, podAction{
			Node: a.Node, Pod: a.Pod, UID: string(a.UID), Revision: a.Revision, Reason: a.Reason.String(),
		})
	}
	for _, a := range p.Creates {
		d.Actions.Creates = append(d.Actions.Creates, podAction{Node: a.Node, Revision: a.Revision, Reason: a.Reason.String()})
	}
	for _, w := range p.Waits() {
		d.Waits = append(d.Waits, wait{w.Reason.String(), w.Limit.String(), w.Nodes, w.Because})
	}
	for i := range p.Decisions {
		d.Nodes = append(d.Nodes, decisionOf(&p.Decisions[i]))
	}
	return d
}

func decisionOf(d *rollout.Decision) decision {
	one := decision{
		Node: d.Node, Pod: d.Pod, Placement: d.Placement.Outcome.String(), State: d.State.String(),
		Target: d.Target.String(), Verb: d.Verb.String(), Reason: d.Reason.String(), Until: timestamp(d.Until),
	}
	if d.Limit != rollout.LimitNone {
		one.Limit = d.Limit.String()
	}
	return one
}
