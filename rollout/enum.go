package rollout

import "fmt"

// The enumerations have a text form, their String, so that a plan encoded as JSON has words and not numbers. The numbers may
// change between versions, the words do not.

// MarshalText is String, but fails for a value that was never declared.
func (s NodeState) MarshalText() ([]byte, error) { return marshal(stateNames[:], s) }

// MarshalText is String, but fails for a value that was never declared.
func (t Target) MarshalText() ([]byte, error) { return marshal(targetNames[:], t) }

// MarshalText is String, but fails for a value that was never declared.
func (v Verb) MarshalText() ([]byte, error) { return marshal(verbNames[:], v) }

// MarshalText is String, but fails for a value that was never declared.
func (e Exemption) MarshalText() ([]byte, error) { return marshal(exemptionNames[:], e) }

// MarshalText is String, but fails for a value that was never declared.
func (l Limit) MarshalText() ([]byte, error) { return marshal(limitNames[:], l) }

// MarshalText is String, but fails for a value that was never declared.
func (r Reason) MarshalText() ([]byte, error) { return marshal(reasonNames[:], r) }

// MarshalText is String, but fails for a value that was never declared.
func (v RevisionVerb) MarshalText() ([]byte, error) { return marshal(revisionVerbNames[:], v) }

func marshal[T ~uint8](names []string, v T) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("%T: %d was never declared", v, v)
	}
	return []byte(names[v]), nil
}

// name looks an enumeration value up in its table. A value that was never declared reads "unknown".
func name[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}
