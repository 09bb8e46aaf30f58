package canary

import "strings"

// orders are the commands that name the revision on trial.
type orders struct {
	pause, unpause, validate, fail, retry bool
}

// sort separates the commands that name the revision, by its hash or by the name of its ControllerRevision, from the stale
// ones, which name another revision (C5).
func (c Commands) sort(revision, name string) (orders, []string) {
	var o orders
	var stale []string
	for _, command := range []struct {
		verb, value string
		given       *bool
	}{
		{"pause", c.Pause, &o.pause},
		{"unpause", c.Unpause, &o.unpause},
		{"validate", c.Validate, &o.validate},
		{"fail", c.Fail, &o.fail},
		{"retry", c.Retry, &o.retry},
	} {
		if command.value == "" {
			continue
		}
		target := command.value
		if command.given == &o.retry {
			target, _, _ = strings.Cut(target, "/")
		}
		if target == Any || target != "" && (target == revision || target == name) {
			*command.given = true
		} else {
			stale = append(stale, command.verb+" "+command.value)
		}
	}
	return o, stale
}
