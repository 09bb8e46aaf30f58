package peer

// Explain finds rules that make the model of the controller permit what was decided, of which none can be left out. Each is left
// out in turn, the last of the table first, if the model permits it without; so where rules can stand in for each other, the
// earlier ones are taken. What the model does not permit with all rules is unexplained, however much it looks like the
// controller.
func (s *Situation) Explain(d Decided) (needed RuleSet, ok bool) {
	if !s.Outcome(AllRules, d).Permits(d) {
		return 0, false
	}
	needed = AllRules
	for before := RuleSet(0); before != needed; {
		before = needed
		for r := Rules; r > 0; r-- {
			if without := needed &^ (1 << (r - 1)); without != needed && s.Outcome(without, d).Permits(d) {
				needed = without
			}
		}
	}
	return needed, true
}

// Matters reports whether the rule alone changes what the controller would do.
func (s *Situation) Matters(r Rule, d Decided) bool {
	return s.Outcome(0, d).String() != s.Outcome(1<<r, d).String()
}
