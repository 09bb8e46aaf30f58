package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Which fields of an event have a meaning depends on its kind. A field that is set and has none is a mistake: whoever set it
// expected an effect.

// onNodes reports whether the event happens to nodes of the cluster, which have to be chosen.
func (w What) onNodes() bool {
	return w.known() && w != AddNodes && w != SetSpec && w != GiveCommands && w != ApproveStage && w != ExpediteRevision &&
		w != RetryRevision && w != CrashController && w != SetClock
}

// ends reports whether the event can be undone after some time (Event.For).
func (w What) ends() bool {
	return slices.Contains([]What{NodeNotReady, CordonNode, TaintNode, DrainNode, LabelNode, MaintainNode}, w)
}

func (w What) known() bool { return w > 0 && w < whats }

func (e *Event) validate(path *field.Path, s *Scenario, pools map[string]bool) field.ErrorList {
	errs := e.validateTimes(path)
	switch {
	case e.What == 0:
		return append(errs, field.Required(path.Child("what"), "says what happens, as in AddNodes"))
	case !e.What.known():
		return append(errs, field.NotSupported(path.Child("what"), e.What, whatNames[1:]))
	}
	errs = append(errs, e.validateNodes(path, pools)...)
	errs = append(errs, e.validateFor(path.Child("for"))...)
	errs = append(errs, e.validateChange(path)...)
	errs = append(errs, e.validateJoin(path.Child("join"))...)
	errs = append(errs, e.validateClock(path.Child("behind"))...)
	errs = append(errs, e.validateOrder(path)...)
	return append(errs, e.validateSpec(path, &s.Spec)...)
}

// validateOrder checks what is approved, and what is expedited.
func (e *Event) validateOrder(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch at := path.Child("approval"); {
	case e.What != ApproveStage && e.Approval != (stage.Approval{}):
		errs = append(errs, field.Forbidden(at, "is for ApproveStage"))
	case e.What == ApproveStage && e.Approval.Stage == "":
		errs = append(errs, field.Required(at.Child("stage"), "is what is approved"))
	case e.Approval.Revision == canary.Any:
		errs = append(errs, field.Invalid(at.Child("revision"), canary.Any,
			"must name one revision, or be unset for the one of that moment"))
	}
	if e.What != ExpediteRevision && e.What != RetryRevision && e.Revision != "" {
		errs = append(errs, field.Forbidden(path.Child("revision"), "is for ExpediteRevision and RetryRevision"))
	}
	return errs
}

func (e *Event) validateTimes(path *field.Path) field.ErrorList {
	errs := validateDuration(path.Child("at"), e.At)
	errs = append(errs, validateRecurrence(path.Child("every"), e.Every)...)
	until := validateDuration(path.Child("until"), e.Until)
	switch {
	case len(until) > 0 || e.Until == 0:
	case !e.Every.isSet():
		until = append(until, field.Forbidden(path.Child("until"), "is for events that recur: set every, too"))
	case e.Until < e.At:
		until = append(until, field.Invalid(path.Child("until"), e.Until.String(), "must not be before at"))
	}
	return append(errs, until...)
}

func (e *Event) validateNodes(path *field.Path, pools map[string]bool) field.ErrorList {
	var errs field.ErrorList
	forbid := func(is bool, name, why string) {
		if is {
			errs = append(errs, field.Forbidden(path.Child(name), why))
		}
	}
	if !e.What.onNodes() {
		why := e.What.String() + " does not happen to nodes that are there"
		forbid(e.Node != "", "node", why)
		forbid(e.Pool != "", "pool", why)
		forbid(len(e.Nodes) > 0, "nodes", why)
		forbid(e.Count != 0, "count", why)
		forbid(e.Share != 0, "share", why)
		return errs
	}
	errs = append(errs, validateCount(path.Child("count"), int64(e.Count))...)
	errs = append(errs, validateShare(path.Child("share"), e.Share)...)
	if e.Node != "" {
		why := "there is one node of that name"
		forbid(e.Pool != "", "pool", why)
		forbid(len(e.Nodes) > 0, "nodes", why)
		forbid(e.Count != 0, "count", why)
		forbid(e.Share != 0, "share", why)
		return errs
	}
	errs = append(errs, validatePool(path.Child("pool"), e.Pool, pools)...)
	errs = append(errs, validateLabels(path.Child("nodes"), e.Nodes)...)
	forbid(e.Count != 0 && e.Share != 0, "share", "count says how many nodes already")
	return errs
}

func (e *Event) validateFor(path *field.Path) field.ErrorList {
	errs := validateDistribution(path, e.For)
	if e.For.isSet() && !e.What.ends() {
		errs = append(errs, field.Forbidden(path, e.What.String()+" does not end by itself"))
	}
	return errs
}

// validateChange checks labels and taints.
func (e *Event) validateChange(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch labels := path.Child("labels"); {
	case e.What == LabelNode && len(e.Labels) == 0:
		errs = append(errs, field.Required(labels, "says which labels change"))
	case e.What == LabelNode:
		errs = append(errs, validateLabels(labels, e.Labels)...)
	case len(e.Labels) > 0:
		errs = append(errs, field.Forbidden(labels, "is for LabelNode; nodes chooses by labels"))
	}
	switch taint := path.Child("taint"); {
	case e.What == TaintNode || e.What == UntaintNode:
		errs = append(errs, validateTaint(taint, &e.Taint)...)
	case e.Taint != corev1.Taint{}:
		errs = append(errs, field.Forbidden(taint, "is for TaintNode and UntaintNode"))
	}
	return errs
}

func (e *Event) validateJoin(path *field.Path) field.ErrorList {
	if e.What == AddNodes {
		errs := e.Join.validate(path)
		if e.Join.Nodes == 0 {
			errs = append(errs, field.Required(path.Child("nodes"), "says how many nodes join"))
		}
		return errs
	}
	if !e.Join.isZero() {
		return field.ErrorList{field.Forbidden(path, "is for AddNodes")}
	}
	return nil
}

func (e *Event) validateClock(path *field.Path) field.ErrorList {
	if e.What != SetClock && e.Behind != 0 {
		return field.ErrorList{field.Forbidden(path, "is for SetClock")}
	}
	return validateDuration(path, e.Behind)
}

func (p *Pool) isZero() bool {
	return p.Name == "" && p.Nodes == 0 && p.Racks == 0 && p.Bandwidth == 0 &&
		max(len(p.Zones), len(p.Labels), len(p.Taints), len(p.Allocatable), len(p.Used), len(p.Images)) == 0
}

func (e *Event) validateSpec(path *field.Path, before *rollout.Spec) field.ErrorList {
	var errs field.ErrorList
	switch at := path.Child("spec"); {
	case e.What == SetSpec && e.Spec == nil:
		errs = append(errs, field.Required(at, "is what is put in force"))
	case e.What == SetSpec:
		errs = append(errs, validateSpec(at, e.Spec)...)
		old, now := before.Default(), e.Spec.Default()
		for _, id := range []struct{ name, old, now string }{
			{"name", old.Name, now.Name}, {"namespace", old.Namespace, now.Namespace}, {"uid", string(old.UID), string(now.UID)},
		} {
			if id.old != id.now {
				errs = append(errs, field.Invalid(at.Child(id.name), id.now,
					"must be that of the spec to begin with: it is one set"))
			}
		}
	case e.Spec != nil:
		errs = append(errs, field.Forbidden(at, "is for SetSpec"))
	}
	if e.What != GiveCommands && e.Commands != (canary.Commands{}) {
		errs = append(errs, field.Forbidden(path.Child("commands"), "is for GiveCommands"))
	}
	return errs
}
