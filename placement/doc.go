// Package placement decides which nodes run a daemon pod, which may keep a running one, and which must be
// left, and builds the pod that a node gets, with other resources than the template's where a node is to have
// them (P8).
//
// A template is compiled once and then evaluated against any number of nodes:
//
//	matcher, err := placement.Compile(&set.Spec.Template)
//	if err != nil {
//		// Mistakes in the nodeSelector or the required node affinity. The matcher still works (P4).
//	}
//	for _, node := range nodes {
//		verdict := matcher.Evaluate(node)
//		switch verdict.Outcome {
//		case placement.Run: // create placement.Pod(&set.Spec.Template, node.Name) if it is missing
//		case placement.Keep: // leave a running pod alone, start none
//		case placement.Leave: // delete what is there; verdict.String() says why
//		}
//	}
//
// TargetNode goes the other way: it returns the node to which an existing pod belongs, bound or not.
//
// Overrides are compiled once for a template, too:
//
//	overrides, err := placement.CompileOverrides(set.Namespace, set.Name, &set.Spec.Template, list)
//	if err != nil {
//		// Mistakes in the list. The others still count.
//	}
//	evaluator := overrides.Evaluator() // for this pass over the nodes
//	for _, node := range nodes {
//		overridden := evaluator.Evaluate(node) // also says which conflict, and which cannot be read
//		overridden.Apply(pod)                  // of a pod that is to be created there
//		// A pod of this template that is there already is outdated if its annotation DigestAnnotation is not
//		// overridden.Digest, unless there is something in overridden.Malformed.
//	}
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state, and nothing
// depends on map iteration. Inputs are neither written nor retained, except that strings are kept; the
// template may be changed after Compile, and nodes may come straight from an informer cache. Nil arguments
// are answered, never with Run. There are two exceptions to not writing: Overridden.Apply writes to its pod,
// and an Evaluator remembers results, which changes none of its answers.
//
// # Guarantees
//
// Outcomes are those of rules P1 to P4, which are the Kubernetes controller's: Run where its
// NodeShouldRunDaemonPod says "should run", Run or Keep where it says "should continue running". This is
// held by recorded decisions of the controller and by properties against k8s.io/component-helpers,
// including what looks odd: an empty toleration covers every taint with an empty value; an empty affinity
// term matches nothing; a matchField for anything but metadata.name reads as empty; spec.unschedulable
// without the taint counts for nothing, and neither do taints with unknown effects.
//
// Matcher.Evaluate does not allocate. Its cost is one map lookup for each label that the template asks for,
// and nothing else depends on the size of the template or the node, the node's taints excepted.
//
// The order of overrides changes nothing. Each container is decided by itself: the node's annotation, else
// the newest override that matches the node and has the container, of equally old ones the one whose name sorts
// last, else the template. An override that gives a container the amounts that it has anyway, in whatever
// spelling, counts as none: it adds nothing to the digest, and no pod is restarted when it comes or goes. A pod
// that is created now is up to date now. Two nodes have the same digest if and only if their pods get the same
// resources. The form of the digest stays the same in all versions.
//
// An annotation is taken literally or not at all: JSON with exactly the fields limits, requests and claims, as
// the API server spells them, each once, of which a pod can be created. Anything else is reported, changes
// nothing for new pods, and leaves running ones alone. No annotation takes long to read, however it is written.
//
// # Differences from the controllers
//
// Kubernetes v1.37.2 and OpenKruise Advanced DaemonSet ignore invalid affinity terms silently; Compile and
// Validate report them, and the outcome is the same. Neither says why a node is not eligible; Verdict does
// (P5). TargetNode does not attribute a pod pinned to an empty name, which Kubernetes attributes to a node
// of that name; the API server accepts no such pod.
//
// Only the ExtendedDaemonSet has overrides: its settings, and the annotation, whose key is the same here. Here
// settings conflict by container and node; there one that meets another on one node is out of use on all, also if
// the other is for another set, and one invalid selector puts all settings of a namespace out of use. There a pod
// that a setting and an annotation override is replaced for ever, a setting that is gone or names less goes
// unnoticed, and a changed annotation restarts pods even if it only reads differently or is for a container that
// does not exist. There an annotation that cannot be read is dropped without a word, and the pod is replaced by
// one with the template's resources. An annotation of which it knows no field takes all resources away there, and is
// malformed here. All of this is held by recorded cases. Annotations are decoded alike: fields in any case count, unknown
// ones do not. Further, it overrides no init containers; here they are containers like the others.
//
// The Datadog ExtendedDaemonSet adds a toleration that P1 does not; see package tolerations. OpenKruise can
// also bind pods by spec.nodeName instead of pinning them (P6); this package always pins and leaves binding
// to the scheduler. The ExtendedDaemonSet does either, and pins by adding the field to every term that the
// template requires.
package placement
