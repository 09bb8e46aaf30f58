// Package placement decides which nodes run a daemon pod, which may keep a running one, and which must be
// left, and builds the pod that a node gets.
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
// TargetNode is the way back: which node an existing pod, bound or not, belongs to.
//
// # Contract
//
// Every function is a function of its arguments: no I/O, clock, randomness or package state, and nothing
// depends on map iteration. Inputs are neither written nor retained, except that strings are kept; the
// template may be changed after Compile, and nodes may come straight from an informer cache. Nil arguments
// are answered, never with Run.
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
// # Differences from the controllers
//
// Kubernetes v1.36.3 and OpenKruise Advanced DaemonSet ignore invalid affinity terms silently; Compile and
// Validate report them, and the outcome is the same. Neither says why a node is not eligible; Verdict does
// (P5). TargetNode does not attribute a pod pinned to an empty name, which Kubernetes attributes to a node
// of that name; the API server accepts no such pod.
//
// The Datadog ExtendedDaemonSet adds a toleration that P1 does not; see package tolerations. OpenKruise can
// also bind pods by spec.nodeName instead of pinning them (P6); this package always pins and leaves binding
// to the scheduler.
package placement
