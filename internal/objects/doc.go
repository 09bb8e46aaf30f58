// Package objects makes the nodes, pods, revisions and specs of tests. Package rollouttest offers its users options that are
// made of this; what only this project's own tests need is here alone: pods in the middle of an in-place update or of a hook,
// nodes that recover, options of rarely used fields.
//
// A function that returns a function of a node, a pod or a spec is an option, and can be given wherever package rollouttest
// takes one:
//
//	rollouttest.Pod("agent-a", rollouttest.Of(spec), rollouttest.OnNode("a"), objects.InState(lifecycle.PreparingDelete))
//
// # Contract
//
// An option writes to the object under construction only, and replaces maps and slices that other objects may share. Arguments
// must not be nil. Nothing reads a clock: what has an instant by default has it from [Noon].
package objects
