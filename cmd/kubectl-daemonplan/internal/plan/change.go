package plan

import (
	"strconv"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/tolerations"
)

// change is one value that changes.
type change struct {
	// Kind is image, limit, request, toleration, label, annotation or variable.
	Kind string `json:"kind"`
	// Container is the container that changes, or "the pod"; empty for tolerations, labels and annotations.
	Container string `json:"container,omitempty"`
	// Name is the name of the resource, the label, the annotation or the variable.
	Name string `json:"name,omitempty"`
	// Op is changed, added or dropped. A variable itself does not change, but restarts its container because it reads metadata
	// that does. Its Op is "reads label" or "reads annotation", and New is the key of that metadata.
	Op  string `json:"op"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

const (
	opChanged = "changed"
	opAdded   = "added"
	opDropped = "dropped"
)

// String is the change in one line.
func (c change) String() string {
	what := c.Kind
	switch c.Kind {
	case "limit", "request":
		what = c.Name + " " + c.Kind
	case "image", "toleration":
	default:
		what += " " + c.Name
	}
	if c.Container != "" {
		what += " of " + c.Container
	}
	before, after := c.Old, c.New
	if c.Kind == "label" || c.Kind == "annotation" { // labels and annotations may have empty values
		before, after = strconv.Quote(before), strconv.Quote(after)
	}
	switch c.Op {
	case opChanged:
		return what + ": " + before + " -> " + after
	case opAdded:
		return what + ": added " + after
	case opDropped:
		return what + ": dropped"
	default:
		return what + ": " + c.Op + " " + after
	}
}

// inPlaceChanges lists what an update changes, in the order of the library.
func inPlaceChanges(u *inplace.Update) []change {
	list := []change{}
	for _, c := range u.Images {
		list = append(list, change{Kind: "image", Container: c.Container, Op: opChanged, Old: c.Old, New: c.New})
	}
	for _, c := range u.Resources {
		kind := "request"
		if c.Limit {
			kind = "limit"
		}
		one := change{
			Kind: kind, Container: c.Container, Name: string(c.Resource), Op: opChanged, Old: c.Old.String(), New: c.New.String(),
		}
		if c.Added {
			one.Op, one.Old = opAdded, ""
		}
		if c.Container == "" {
			one.Container = "the pod"
		}
		list = append(list, one)
	}
	for _, t := range u.Tolerations {
		list = append(list, change{Kind: "toleration", Op: opAdded, New: tolerations.Text(t)})
	}
	list = append(list, metadataChanges("label", u.Labels)...)
	list = append(list, metadataChanges("annotation", u.Annotations)...)
	for _, e := range u.Env {
		op := "reads label"
		if e.Annotation {
			op = "reads annotation"
		}
		list = append(list, change{Kind: "variable", Container: e.Container, Name: e.Variable, Op: op, New: e.Key})
	}
	return list
}

func metadataChanges(kind string, from []inplace.MetadataChange) []change {
	var list []change
	for _, c := range from {
		op := opChanged
		switch {
		case c.Added:
			op = opAdded
		case c.Dropped:
			op = opDropped
		}
		list = append(list, change{Kind: kind, Name: c.Key, Op: op, Old: c.Old, New: c.New})
	}
	return list
}
