package judge

import "strconv"

// Rule is one of those that are judged; see the package's documentation.
type Rule uint8

// The rules.
const (
	Budget Rule = iota + 1
	LetGo
	Surge
	Twins
	Stays
	Empty
	Thrash
	Stuck
	Trial
	Downgrade
	HandsOff
	InPlace
	Restart
	PreDelete
	UpdateHook
	Frozen
	Paused
	Held
	SlowStart
	Burst
	BackOff
	Departing
	Domain
	Stage
	Soak
	Failures
	Blame
	rules
)

var ruleNames = [rules]string{
	Budget: "budget", LetGo: "let go", Surge: "surge", Twins: "twins", Stays: "stays", Empty: "empty", Thrash: "thrash",
	Stuck: "stuck", Trial: "trial", Downgrade: "downgrade", HandsOff: "hands off", InPlace: "in place", Restart: "restart",
	PreDelete: "preDelete", UpdateHook: "inPlaceUpdate", Frozen: "frozen", Paused: "paused", Held: "held",
	SlowStart: "slow start", Burst: "burst", BackOff: "back-off", Departing: "departing", Domain: "domain",
	Stage: "stage", Soak: "soak", Failures: "failures", Blame: "blame",
}

// String is the name of the rule.
func (r Rule) String() string {
	if r == 0 || r >= rules {
		return "rule " + strconv.Itoa(int(r))
	}
	return ruleNames[r]
}

// Rules are all of them.
func Rules() []Rule {
	var list []Rule
	for r := Rule(1); r < rules; r++ {
		list = append(list, r)
	}
	return list
}
