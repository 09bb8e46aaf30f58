package placement

import "strconv"

// Outcome is what a node is for the daemon pod. The zero value is Leave, so that a node that was not evaluated gets no
// pod.
type Outcome uint8

const (
	// Leave: no pod may start on the node and none may stay.
	Leave Outcome = iota
	// Keep: no pod may start on the node, a running one may stay (P3).
	Keep
	// Run: the node runs the pod (P2).
	Run
)

// String returns "leave", "keep" or "run".
func (o Outcome) String() string {
	switch o {
	case Leave:
		return "leave"
	case Keep:
		return "keep"
	case Run:
		return "run"
	default:
		return "Outcome(" + strconv.Itoa(int(o)) + ")"
	}
}

// MarshalText is String, so that a plan encoded as JSON reads in words.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Test names the placement test that a node failed (P5).
type Test uint8

const (
	// TestNone: no test failed. With Leave it means that nothing was evaluated.
	TestNone Test = iota
	// TestNoTemplate: the matcher was not compiled from a template.
	TestNoTemplate
	// TestNoNode: there was no node to evaluate.
	TestNoNode
	// TestNodeName: the template names another node.
	TestNodeName
	// TestNodeSelector: a label that the template's nodeSelector wants is missing or has another value.
	TestNodeSelector
	// TestNodeAffinity: no term of the required node affinity matches.
	TestNodeAffinity
	// TestTaint: the node has a taint that the pod does not tolerate.
	TestTaint
)

// String returns the test in the words of the pod spec, such as "nodeSelector".
func (t Test) String() string {
	switch t {
	case TestNone:
		return "none"
	case TestNoTemplate:
		return "no template"
	case TestNoNode:
		return "no node"
	case TestNodeName:
		return "nodeName"
	case TestNodeSelector:
		return "nodeSelector"
	case TestNodeAffinity:
		return "nodeAffinity"
	case TestTaint:
		return "taint"
	default:
		return "Test(" + strconv.Itoa(int(t)) + ")"
	}
}

// MarshalText is String.
func (t Test) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Effect is the effect of the taint that decided a verdict. Effects that keep no pod away have no value here.
type Effect uint8

const (
	// EffectNone: no taint decided.
	EffectNone Effect = iota
	// EffectNoSchedule: the taint keeps new pods away.
	EffectNoSchedule
	// EffectNoExecute: the taint also drives running pods away.
	EffectNoExecute
)

// String returns the effect as the API spells it, and "" for EffectNone.
func (e Effect) String() string {
	switch e {
	case EffectNone:
		return ""
	case EffectNoSchedule:
		return "NoSchedule"
	case EffectNoExecute:
		return "NoExecute"
	default:
		return "Effect(" + strconv.Itoa(int(e)) + ")"
	}
}

// MarshalText is String.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Verdict is the result of evaluating one node (P5). Two verdicts are equal (==) exactly when their outcome and reason are.
// Its strings are those of the template and of the node. The zero value is Leave with TestNone: the node was not evaluated.
type Verdict struct {
	Outcome Outcome
	// Test is the first failed test, in the order of the constants; TestNone exactly when the outcome is Run
	// (or the verdict is the zero value).
	Test Test
	// Effect is the taint's, for TestTaint: EffectNoSchedule with Keep and EffectNoExecute with Leave.
	Effect Effect
	// Field reports whether Key is a field of the node, not a label. It is set only with TestNodeAffinity.
	Field bool
	// Key is the label that the nodeSelector misses (the first such in sorted order), the key of the first
	// failing requirement of the first valid affinity term (its expressions before its fields, as written;
	// empty if no term can match any node), or the taint's key.
	Key string
	// Value is the node name or the label value that the template wants, or the taint's value.
	Value string
}

// String returns the reason in one phrase, without a trailing period.
func (v Verdict) String() string {
	switch v.Test {
	case TestNone:
		if v.Outcome == Run {
			return "node is eligible"
		}
		return "node was not evaluated"
	case TestNoTemplate:
		return "there is no pod template"
	case TestNoNode:
		return "there is no node"
	case TestNodeName:
		return "nodeName is " + strconv.Quote(v.Value)
	case TestNodeSelector:
		return "label " + v.Key + " is not " + strconv.Quote(v.Value)
	case TestNodeAffinity:
		return v.affinityPhrase()
	case TestTaint:
		return "taint " + v.taintPhrase() + " is not tolerated"
	default:
		return v.Test.String() + " failed"
	}
}

func (v Verdict) affinityPhrase() string {
	switch {
	case v.Field:
		return "required node affinity does not match (field " + v.Key + ")"
	case v.Key == "":
		return "required node affinity can match no node"
	default:
		return "required node affinity does not match (label " + v.Key + ")"
	}
}

func (v Verdict) taintPhrase() string {
	taint := v.Key
	if v.Value != "" {
		taint += "=" + v.Value
	}
	return taint + ":" + v.Effect.String()
}
