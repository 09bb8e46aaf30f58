package peer

import (
	"slices"
	"strings"
)

// Fate is what happens to a pod.
type Fate string

// The fates of pods. Preparing: the pod is marked for its preDelete hook instead of being deleted.
const (
	Deleted   Fate = "delete"
	InPlace   Fate = "inPlace"
	Preparing Fate = "preparingDelete"
	TakenBack Fate = "takenBack" // no controller but ours does that
)

// To joins the fate with the name of the pod that has it.
func (f Fate) To(pod string) string { return string(f) + " " + pod }

// Of is To for several pods.
func (f Fate) Of(pods ...string) (fates []string) {
	for _, p := range pods {
		fates = append(fates, f.To(p))
	}
	return fates
}

// Among lists the pods that have the fate.
func (f Fate) Among(fates []string) (pods []string) {
	for _, s := range fates {
		if pod, ok := strings.CutPrefix(s, string(f)+" "); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// FateOf returns the fate in an action, empty for the create of a pod.
func FateOf(action string) Fate {
	kind, _, pod := strings.Cut(action, " ")
	if !pod {
		return ""
	}
	return Fate(kind)
}

// kindsOf lists the fates in the actions, each once.
func kindsOf(actions []string) (kinds []Fate) {
	for _, a := range actions {
		kinds = append(kinds, FateOf(a))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// actions returns those of a kind.
func (f Fate) actions(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return FateOf(a) != f })
}
