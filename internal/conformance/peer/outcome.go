package peer

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is a decision of a controller, phase by phase, with all that the phases could have chosen instead.
type Outcome struct {
	Status Counters
	// Manage and Roll are what repairs, and what updates. A sync of the real controller does one of them; both see the same.
	Manage, Roll Phase
	// Failed: the update phase ended with an error and did nothing.
	Failed bool
}

// Phase is what a phase creates, by the name of the node, and what it does to pods: see [Fate.To].
type Phase struct{ Creates, Fates Act }

// Act is what a phase does for sure, and how many of which others it picks freely.
//
//	0 <= Count <= len(From)
type Act struct {
	Must, From []string
	Count      int
}

// Possible lists all that may be done.
func (a *Act) Possible() []string { return slices.Concat(a.Must, a.From) }

// picked lists what of the act is among names.
func (a *Act) picked(names []string) []string {
	return slices.DeleteFunc(a.Possible(), func(s string) bool { return !slices.Contains(names, s) })
}

// And does both. Choices of both are taken for one.
func (a Act) And(b Act) Act {
	return Act{Must: slices.Concat(a.Must, b.Must), From: slices.Concat(a.From, b.From), Count: a.Count + b.Count}
}

// String returns the outcome in an order of its own, so that equal outcomes have equal strings.
func (o Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %v", o.Status)
	for _, a := range []struct {
		what string
		act  Act
	}{
		{"manage creates", o.Manage.Creates}, {"manage", o.Manage.Fates},
		{"roll creates", o.Roll.Creates}, {"roll", o.Roll.Fates},
	} {
		if len(a.act.Must) > 0 {
			fmt.Fprintf(&b, "; %s %v", a.what, slices.Sorted(slices.Values(a.act.Must)))
		}
		if a.act.Count > 0 {
			fmt.Fprintf(&b, "; %s %d of %v", a.what, a.act.Count, slices.Sorted(slices.Values(a.act.From)))
		}
	}
	if o.Failed {
		b.WriteString("; roll failed")
	}
	return b.String()
}

// Permits reports whether what was decided is exactly what both phases do, for one of their choices.
func (o Outcome) Permits(d Decided) bool {
	return o.Status == d.Status &&
		Permits(o.Manage.Creates, o.Roll.Creates, d.Creates) && Permits(o.Manage.Fates, o.Roll.Fates, d.Fates)
}

// OneSync returns what one sync of the controller does of both phases: what repairs, and if of that nothing was created and
// deleted, what updates. What was done is known where it could choose.
func (o Outcome) OneSync(did Decided) Outcome {
	creates := o.Manage.Creates.Possible()
	created := slices.ContainsFunc(did.Creates, func(node string) bool { return slices.Contains(creates, node) })
	deleted := slices.ContainsFunc(did.Fates, func(fate string) bool {
		return FateOf(fate) == Deleted && slices.Contains(o.Manage.Fates.Possible(), fate)
	})
	if created || deleted {
		o.Roll = Phase{}
	}
	return o
}

// Decision returns what the controller decides, for one of its choices: in one sync the first phase that has anything to do, or,
// with union, both together.
func (o Outcome) Decision(union bool) Decided {
	chosen := func(a Act) []string { return append(slices.Clone(a.Must), a.From[:min(a.Count, len(a.From))]...) }
	d := Decided{Status: o.Status, Creates: chosen(o.Manage.Creates), Fates: chosen(o.Manage.Fates)}
	if union || len(d.Creates)+len(d.Fates) == 0 {
		d.Creates = append(d.Creates, chosen(o.Roll.Creates)...)
		d.Fates = append(d.Fates, chosen(o.Roll.Fates)...)
		slices.Sort(d.Creates)
		slices.Sort(d.Fates)
		d.Creates, d.Fates = slices.Compact(d.Creates), slices.Compact(d.Fates)
	}
	return d
}

// Permits reports whether ours is the union of all that a and b must do, a.Count of a.From and b.Count of b.From. Both
// may choose the same, and what the other must do.
func Permits(a, b Act, ours []string) bool {
	must := make(map[string]bool)
	for _, s := range slices.Concat(a.Must, b.Must) {
		if must[s] = true; !slices.Contains(ours, s) {
			return false
		}
	}
	var byA, byB, onlyA, onlyB, either int
	seen := make(map[string]bool)
	for _, s := range ours {
		if seen[s] {
			return false
		}
		seen[s] = true
		inA, inB := a.Count > 0 && slices.Contains(a.From, s), b.Count > 0 && slices.Contains(b.From, s)
		byA += int(count(inA))
		byB += int(count(inB))
		switch {
		case must[s]:
		case inA && inB:
			either++
		case inA:
			onlyA++
		case inB:
			onlyB++
		default:
			return false
		}
	}
	return byA >= a.Count && byB >= b.Count && onlyA <= a.Count && onlyB <= b.Count &&
		onlyA+onlyB+either <= a.Count+b.Count
}
