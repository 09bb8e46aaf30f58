package transcript

import "maps"

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

// SpecKeys lists the arguments of the command spec.
func SpecKeys() []string {
	var keys []string
	for _, known := range specArguments() {
		keys = append(keys, known.key)
	}
	return keys
}
