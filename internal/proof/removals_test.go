package proof_test

// removal takes the code of one rule away.
type removal struct {
	rule string
	what string // is so without it
	file string
	// old is there exactly once, and becomes new. The new code is to compile, whatever it leaves unused.
	old, new string
	// test fails then, and names the rule: by its own name, or in what it says.
	test string
}

var removals = []removal{
	{
		rule: "P1", what: "the default tolerations are not added", file: "tolerations/defaults.go",
		old:  "range daemonDefaults {",
		new:  "range daemonDefaults[:0] {",
		test: "TestForDaemon/empty_spec",
	},
	{
		rule: "P2", what: "required node affinity is not looked at", file: "placement/matcher.go",
		old:  "affinity:  compileAffinity(requiredTerms(spec.Affinity)),",
		new:  "affinity:  nil,",
		test: "TestEvaluate/Exists_fails",
	},
	{
		rule: "P3", what: "no node is kept", file: "placement/matcher.go",
		old:  "Outcome: Keep, Test: TestTaint,",
		new:  "Outcome: Leave, Test: TestTaint,",
		test: "TestEvaluate/NoSchedule",
	},
	{
		rule: "P4", what: "an empty term is a term", file: "placement/affinity.go",
		old:  "len(source.MatchExpressions)+len(source.MatchFields) == 0 || len(unmatchable(source, nil)) > 0",
		new:  "len(unmatchable(source, nil)) > 0",
		test: "TestEvaluate/empty_term",
	},
	{
		rule: "P5", what: "the verdict names no key", file: "placement/affinity.go",
		old:  "return Verdict{Test: TestNodeAffinity, Key: t.labels[failed].key}",
		new:  "return Verdict{Test: TestNodeAffinity}",
		test: "TestEvaluate/invalid_and_failing_term",
	},
	{
		rule: "P6", what: "pods are not pinned", file: "placement/pod.go",
		old: `	pod.Spec.Affinity = Pin(template.Spec.Affinity, node)
`,
		new:  "",
		test: "TestPod",
	},
	{
		rule: "P7", what: "the pin is not read", file: "placement/pod.go",
		old:  "required := requiredTerms(pod.Spec.Affinity)",
		new:  "required := requiredTerms(nil)",
		test: "TestTargetNode/pinned",
	},
	{
		rule: "P8", what: "the digest is not compared", file: "rollout/queries.go",
		old:  "len(effect.Malformed) > 0 || p.Object.Annotations[placement.DigestAnnotation] == effect.Digest",
		new:  "true",
		test: "TestOverrideP8/changed",
	},
	{
		rule: "R1", what: "the data lacks its directive", file: "rollout/history/data.go",
		old: `	fields[patchKey] = patchReplace
`,
		new:  "",
		test: "TestConformanceRevisions",
	},
	{
		rule: "R2", what: "only equal bytes match", file: "rollout/history/resolve.go",
		old:  "if r.document == nil {",
		new:  "if true {",
		test: "TestResolveMatchesSemantically/another_order",
	},
	{
		rule: "R3", what: "a rollback keeps its number", file: "rollout/history/resolve.go",
		old:  "if update.Revision < next {",
		new:  "if false {",
		test: "TestResolve/rollback",
	},
	{
		rule: "R4", what: "nothing is trimmed", file: "rollout/history/trim.go",
		old:  "if excess <= 0 {",
		new:  "if true {",
		test: "TestResolve/trim_spares_carried",
	},
	{
		rule: "R5", what: "the generation label counts for nothing", file: "rollout/records.go",
		old:  "if facts.Traits.HasAny(fleet.Unhashed) && r.atGeneration(facts) {",
		new:  "if false {",
		test: "TestRevisionOfPodR5/generation",
	},
	{
		rule: "M1", what: "a create does not wait for a terminating pod", file: "rollout/queries.go",
		old:  "return !n.terminating && !n.leavesByHook || r.surges()",
		new:  "return true",
		test: "TestRepairM1Missing/terminating",
	},
	{
		rule: "M2", what: "no back-off", file: "rollout/repair.go",
		old:  "if ok, until := r.backoffs.due(key); !ok {",
		new:  "if ok, until := r.backoffs.due(key); false && !ok {",
		test: "TestRepairM2Finished",
	},
	{
		rule: "M3", what: "surplus pods stay", file: "rollout/repair.go",
		old:  "\t\tdefault:\n\t\t\tr.delete(i, j, VerbDelete, ReasonSurplus)",
		new:  "\t\tdefault:\n\t\t\tr.note(i, VerbWait, ReasonSurplus, nil)",
		test: "TestRepairM3Surplus",
	},
	{
		rule: "M4", what: "nodes are not vacated", file: "rollout/repair.go",
		old:  "r.delete(i, j, VerbDelete, ReasonLeaving)",
		new:  "r.note(i, VerbWait, ReasonLeaving, nil)",
		test: "TestRepairM4NotEligible",
	},
	{
		rule: "M5", what: "pods of vanished nodes stay", file: "rollout/repair.go",
		old:  "r.deleteStray(&d, p, ReasonNodeGone)",
		new:  "d.Reason = ReasonNodeGone",
		test: "TestRepairM5Strays",
	},
	{
		rule: "M6", what: "no burst", file: "rollout/ledgers.go",
		old:  "if *of == 0 {",
		new:  "if false {",
		test: "TestBudgetM6Burst",
	},
	{
		rule: "M7", what: "what repair creates holds no place", file: "rollout/pod_actions.go",
		old:  "n.creating = hash == r.goalHash(n)",
		new:  "n.creating = false",
		test: "TestBudgetB4MaxSurge/missing",
	},
	{
		rule: "M8", what: "no node departs", file: "rollout/goal.go",
		old:  "n.departing, n.draining = out.Departing, out.Draining && !out.Departing",
		new:  "n.draining = out.Draining && !out.Departing",
		test: "TestDepartingM8/nothing_is_begun",
	},
	{
		rule: "M8", what: "no node is drained", file: "rollout/goal.go",
		old:  "n.departing, n.draining = out.Departing, out.Draining && !out.Departing",
		new:  "n.departing = out.Departing",
		test: "TestDepartingM8/no_update_is_begun_on_a_drained_node",
	},
	{
		rule: "T1", what: "holdRevision brings nothing back", file: "rollout/queries_lost.go",
		old:  "if !r.spec.Strategy.HoldRevision || n.heldBy",
		new:  "if true || n.heldBy",
		test: "TestTargetT1HoldRevision",
	},
	{
		rule: "T2", what: "the partition holds nobody", file: "rollout/goal.go",
		old:  "n.heldBy = LimitPartition",
		new:  "n.heldBy = LimitNone",
		test: "TestTargetT2Partition",
	},
	{
		rule: "T3", what: "the selector holds nobody", file: "rollout/goal.go",
		old:  "n.heldBy = LimitNodeSelector",
		new:  "n.heldBy = LimitNone",
		test: "TestTargetT3NodeSelector",
	},
	{
		rule: "T9", what: "nodes that do not declare what the pod needs are updated", file: "rollout/goal.go",
		old:  "n.heldBy = LimitUndeclared",
		new:  "n.heldBy = LimitNone",
		test: "TestTargetT9DeclaredFeatures",
	},
	{
		rule: "T4", what: "paused begins nodes", file: "rollout/gates.go",
		old:  "return p.spec.Strategy.Paused }",
		new:  "return false }",
		test: "TestBudgetB3MaxUnavailable/paused",
	},
	{
		rule: "T5", what: "OnDelete updates", file: "rollout/goal.go",
		old:  "r.nodes[i].heldBy = LimitOnDelete",
		new:  "r.nodes[i].heldBy = LimitNone",
		test: "TestBudgetB3MaxUnavailable/OnDelete",
	},
	{
		rule: "T6", what: "nodes outside the canary go on", file: "rollout/goal.go",
		old: `		return !r.hasUpdate(n)
`,
		new: `		return false
`,
		test: "TestCanary/begins_on_one_node",
	},
	{
		rule: "T7", what: "a first installation fills every node", file: "rollout/goal.go",
		old:  "r.installsLeft = max(0, budget.Desired-budget.Partition-updated)",
		new:  "_ = updated",
		test: "TestTargetT7PartitionedScaling",
	},
	{
		rule: "T8", what: "every part is open", file: "rollout/stages.go",
		old:  "r.closeParts()\n		r.countFailed",
		new:  "r.countFailed",
		test: "TestStagesT8/ring_by_ring",
	},
	{
		rule: "B1", what: "percentages round down", file: "rollout/repair.go",
		old:  "r.maxUnavailable.RoundUp(",
		new:  "r.maxUnavailable.RoundDown(",
		test: "TestBudgetB3MaxUnavailable/percent",
	},
	{
		rule: "B2", what: "held nodes do not count", file: "rollout/queries.go",
		old:  "return !r.serving(&r.nodes[i]), notYet && r.surges()",
		new:  "return r.nodes[i].heldBy == LimitNone && !r.serving(&r.nodes[i]), notYet && r.surges()",
		test: "TestTargetT2Partition/broken_old_pods_are_held_too",
	},
	{
		rule: "B3", what: "maxUnavailable is not looked at", file: "rollout/ledgers.go",
		old:  "full := budget.Unavailable >= budget.MaxUnavailable || r.downIsFull()",
		new:  "full := false && budget == nil",
		test: "TestBudgetB3MaxUnavailable/at_the_limit",
	},
	{
		rule: "B3", what: "what was prepared needs no room", file: "rollout/ledgers.go",
		old:  "return limitIf(r.downIsFull(), LimitMaxUnavailable)",
		new:  "return LimitNone",
		test: "TestBudgetB3Prepared/prepared,_let_go_and_ready",
	},
	{
		rule: "B4", what: "maxSurge is not looked at", file: "rollout/ledgers.go",
		old:  "isReady && budget.Surging >= budget.MaxSurge && !",
		new:  "isReady && budget == nil && !",
		test: "TestBudgetB4MaxSurge/at_the_limit",
	},
	{
		rule: "B5", what: "Ready is available", file: "lifecycle/readiness.go",
		old:  "if at.After(now) {",
		new:  "if false {",
		test: "TestEvaluateB5/1_ns_short",
	},
	{
		rule: "B6", what: "ascending", file: "rollout/admit.go",
		old:  "for i := int32(len(r.nodes)) - 1; i >= 0; i-- {",
		new:  "for i := int32(0); i < int32(len(r.nodes)); i++ {",
		test: "TestBudgetB6Order/descending_by_name",
	},
	{
		rule: "B7", what: "slow start replaces at will", file: "rollout/slowstart.go",
		old:  "return !s.on || n.underWay || n.tookPlace || s.free > max(s.missing, 0)",
		new:  "return true",
		test: "TestSlowStartB7",
	},
	{
		rule: "B8", what: "nobody is left out", file: "rollout/queries_exempt.go",
		old:  "if left.unschedulable > 0 {",
		new:  "if false {",
		test: "TestExemptB8/unschedulable",
	},
	{
		rule: "B9", what: "every node that is out is left out", file: "rollout/outage/outage.go",
		old:  "case !u.someBegan:",
		new:  "case true:",
		test: "TestExcuses",
	},
	{
		rule: "B9", what: "nobody is left out", file: "rollout/queries_exempt.go",
		old:  "if left.out > 0 {",
		new:  "if false {",
		test: "TestOutagesB9/down_before_its_update",
	},
	{
		rule: "B10", what: "domains bound nothing", file: "rollout/ledgers.go",
		old:  "return limitIf(full && isReady && !r.takesBudget(d) && !d.Exempt(), LimitDomain)",
		new:  "return limitIf(full && d == nil, LimitDomain)",
		test: "TestDomainsB10/one_node_of_each_rack",
	},
	{
		rule: "I1", what: "InPlaceOnly recreates", file: "rollout/gates.go",
		old:  "return r.nodes[i].outdatedPod != none && r.findInPlace(i).obstructed(), LimitInPlaceOnly",
		new:  "return false, LimitInPlaceOnly",
		test: "TestInPlaceUpdate/no_readiness_gate,_in_place_only",
	},
	{
		rule: "I2", what: "any field of the spec can change", file: "inplace/diff.go",
		old: `	d.compare(Immutable, "spec", old, new)
`,
		new:  "",
		test: "TestDiffI2",
	},
	{
		rule: "I3", what: "the readiness gate is not asked for", file: "inplace/obstruction.go",
		old:  "case !hasGate(pod):",
		new:  "case false:",
		test: "TestObstruct",
	},
	{
		rule: "I4", what: "no grace period", file: "inplace/step.go",
		old:  "if until := since.Add(grace); until.After(b.now) {",
		new:  "if until := since.Add(grace); false {",
		test: "TestGracePeriodI4",
	},
	{
		rule: "I5", what: "the image is not waited for", file: "inplace/completion.go",
		old:  "if image && same && !wanted {",
		new:  "if false && !wanted {",
		test: "TestCompletedI5",
	},
	{
		rule: "L1", what: "finalizers hook nothing", file: "lifecycle/hook.go",
		old:  "if slices.Contains(pod.Finalizers, f) {",
		new:  "if false && slices.Contains(pod.Finalizers, f) {",
		test: "TestHookMatchesL1",
	},
	{
		rule: "L2", what: "hooked pods are deleted", file: "lifecycle/transition.go",
		old:  "if !h.PreDelete.Matches(pod) {",
		new:  "if true {",
		test: "TestTable",
	},
	{
		rule: "L3", what: "the hook before an update is not waited for", file: "lifecycle/transition.go",
		old:  "if t.From != Updating && (again || h.InPlaceUpdate.Matches(pod)) {",
		new:  "if false && again {",
		test: "TestTable",
	},
	{
		rule: "L4", what: "no pod is marked", file: "lifecycle/transition.go",
		old: `	h.mark(pod, &t)
`,
		new:  "",
		test: "TestConcurrentWritersL4",
	},
	{
		rule: "D1", what: "the first updated pods are not waited for", file: "predownload/select.go",
		old:  "case in.UpdatedReady < settings.minReady.RoundUp(in.Desired):",
		new:  "case false:",
		test: "TestSelect/not_enough_ready_pods",
	},
	{
		rule: "D2", what: "pulls go in ascending order", file: "rollout/pull.go",
		old:  "for i := int32(len(r.nodes)) - 1; i >= 0; i-- {",
		new:  "for i := int32(0); i < int32(len(r.nodes)); i++ {",
		test: "TestPreDownloadD1/where_the_update_waits",
	},
	{
		rule: "C1", what: "canary nodes are not spread", file: "rollout/canary/choose.go",
		old: `			cmp.Compare((*a).chosen, (*b).chosen),
`,
		new:  "",
		test: "TestChoose/spread",
	},
	{
		rule: "C2", what: "restarts do not delay the promotion", file: "rollout/canary/decide.go",
		old:  "record.elapsed(now) >= t.duration && now.Sub(record.Disturbed) >= t.noRestarts",
		new:  "record.elapsed(now) >= t.duration",
		test: "TestJudgeDisturbances/settling",
	},
	{
		rule: "C3", what: "nothing pauses by itself", file: "rollout/canary/decide.go",
		old:  "if f := t.trouble(now); f != nil {",
		new:  "if f := t.trouble(now); false {",
		test: "TestJudgePauses/cannot_start",
	},
	{
		rule: "C4", what: "too many restarts fail nothing", file: "rollout/canary/decide.go",
		old:  "case t.broken != nil:",
		new:  "case false:",
		test: "TestJudgeFails/six_restarts",
	},
	{
		rule: "C5", what: "validate comes before fail", file: "rollout/canary/decide.go",
		old: `case t.orders.fail:
		return Finding{Phase: Failed, Reason: ByCommand}
	case t.validate:
		return Finding{Phase: Idle, Reason: Validated}`,
		new: `case t.validate:
		return Finding{Phase: Idle, Reason: Validated}
	case t.orders.fail:
		return Finding{Phase: Failed, Reason: ByCommand}`,
		test: "TestJudgeCommands/fail",
	},
	{
		rule: "C6", what: "verdicts are not written down", file: "rollout/marks.go",
		old:  "if len(r.trial.Set)+len(r.trial.Remove) > 0 {",
		new:  "if false {",
		test: "TestCanaryMarks/promoted",
	},
	{
		rule: "C7", what: "a paused canary goes on", file: "rollout/gates.go",
		old:  "rests := r.trial.Phase == canary.Paused || r.trial.Phase == canary.Failed",
		new:  "rests := r.trial.Phase == canary.Failed",
		test: "TestCanaryJoined/paused,_other_resources",
	},
	{
		rule: "F1", what: "no deadline passes", file: "rollout/failures.go",
		old:  "n.failed = verdict.Failed",
		new:  "n.failed = false",
		test: "TestFailuresF/a_node_has_failed",
	},
	{
		rule: "F2", what: "none may fail", file: "rollout/failures.go",
		old:  "r.maxFailed = r.failedLimit.RoundDown(runs)",
		new:  "r.maxFailed = 0",
		test: "TestFailuresF/one_failure_is_tolerated",
	},
	{
		rule: "F3", what: "nothing follows", file: "rollout/failures.go",
		old:  "if r.failed <= r.maxFailed {",
		new:  "if true {",
		test: "TestFailuresF/a_node_has_failed",
	},
	{
		rule: "F4", what: "nothing is in quarantine", file: "rollout/queries_exempt.go",
		old:  "if left.quarantined > 0 && r.nodes[i].failed {",
		new:  "if false {",
		test: "TestFailuresF/quarantine",
	},
	{
		rule: "S1", what: "misscheduled nodes are not counted", file: "status/counts.go",
		old: `			c.Misscheduled++
`,
		new:  "",
		test: "TestAddS1",
	},
	{
		rule: "S2", what: "nothing is ever stuck", file: "status/summarize.go",
		old:  "case stuck(in):",
		new:  "case false:",
		test: "TestSummarizeStateS2/stuck",
	},
	{
		rule: "S3", what: "a completed rollout is reopened", file: "status/summarize.go",
		old:  "(seen || in.UpdateRevision == in.CompletedRevision)",
		new:  "seen",
		test: "TestSummarizeStateS2/latched,_node_down",
	},
	{
		rule: "S4", what: "no disruptions allowed", file: "status/summarize.go",
		old: `		DisruptionsAllowed: minus(in.MaxUnavailable, in.Unavailable),
`,
		new:  "",
		test: "TestDisruptionsAllowedS4",
	},
}
