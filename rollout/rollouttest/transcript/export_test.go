package transcript

import (
	"maps"

	"github.com/daemonplan/daemonplan/rollout"
)

// Commands lists the language, other names of commands included.
func Commands() []string {
	var names []string
	for _, v := range commands() {
		names = append(names, v.name)
	}
	for name := range maps.Keys(synonyms()) {
		names = append(names, name)
	}
	return names
}

// SpecAfter is the spec that the arguments of the command spec make of another.
func SpecAfter(spec rollout.Spec, arguments string) (rollout.Spec, error) {
	a := words(arguments)
	options, err := specOptions(&a)
	if err != nil {
		return spec, err
	}
	for _, option := range options {
		option(&spec)
	}
	return spec, a.rest()
}

// SpecKeys lists the arguments of the command spec.
func SpecKeys() []string {
	var keys []string
	for _, known := range specArguments() {
		keys = append(keys, known.key)
	}
	return keys
}
