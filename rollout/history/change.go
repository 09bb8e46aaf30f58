package history

import (
	"slices"
	"strconv"
)

// Op is what happened to a value.
type Op uint8

const (
	// Changed: the value is there before and after, and is another one.
	Changed Op = iota
	// Added: the value is there only after.
	Added
	// Removed: the value is there only before.
	Removed
	// Moved: the elements of a list are the same, named alike, but stand in another order.
	Moved
)

// String returns the name of the operation.
func (o Op) String() string {
	switch o {
	case Changed:
		return "changed"
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Moved:
		return "moved"
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// Why is why a change restarts pods, or does not.
type Why uint8

const (
	// Different: the values mean different things.
	Different Why = iota
	// Equivalent: the change is one of spelling, or of an empty value that was added or removed (R2). It is the only
	// reason for which nothing restarts.
	Equivalent
	// Order: the order of the list counts.
	Order
	// Unknown: this API version does not have the field, so nothing can be said of what the change means.
	Unknown
	// Invalid: this API version cannot read one of the values.
	Invalid
)

// String returns the reason in a few words.
func (w Why) String() string {
	switch w {
	case Different:
		return "different"
	case Equivalent:
		return "equivalent"
	case Order:
		return "order"
	case Unknown:
		return "unknown field"
	case Invalid:
		return "unreadable value"
	}
	return "Why(" + strconv.Itoa(int(w)) + ")"
}

// Change is one difference between two templates.
type Change struct {
	// Path leads to the value within the template: spec.containers[main].image. Elements of lists have in brackets what
	// identifies them (a name, a port, a mount path), where that is unambiguous in both lists, else their index. Keys of
	// maps stand in brackets, too: metadata.labels[app]. "." is the template as a whole. A path that begins with "$."
	// leads to what a revision stores beside its template.
	Path string
	Op   Op
	// Old and New are the values as JSON on one line; Old is "" for Added, New for Removed. For Moved they are
	// the lists of what identifies the elements.
	Old, New string
	// Restarts reports whether pods must be replaced or updated for this change. It is false only if both values mean the
	// same.
	Restarts bool
	Why      Why
}

// String renders a change on one line: spec.containers[main].image: "agent:v1" -> "agent:v2" (restarts).
func (c Change) String() string {
	var text string
	switch c.Op {
	case Added:
		text = c.Path + ": added " + c.New
	case Removed:
		text = c.Path + ": removed " + c.Old
	case Moved:
		text = c.Path + ": order " + c.Old + " -> " + c.New
	default:
		text = c.Path + ": " + c.Old + " -> " + c.New
	}
	switch {
	case !c.Restarts:
		return text + " (restarts nothing)"
	case c.Why == Unknown, c.Why == Invalid:
		return text + " (restarts: " + c.Why.String() + ")"
	}
	return text + " (restarts)"
}

// Restarts reports whether any of the changes restarts pods.
func Restarts(changes []Change) bool {
	return slices.ContainsFunc(changes, func(change Change) bool { return change.Restarts })
}
