package integration_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var removeGuards = flag.Bool("guards", false, "take what the controller takes care of away, and run the test that must fail then")

// removal takes something away that the controller takes care of.
type removal struct {
	what string // is so without it
	file string // in examples/controller/controller, unless it has a path
	// old is there exactly once, and becomes new.
	old, new string
	test     string
}

var removals = []removal{
	{
		what: "requests are forgotten", file: "observe.go",
		old:  "seen.InFlight, _ = s.tracker.Observe(seen.Now, all, revisions)",
		new:  "_, _ = s.tracker.Observe(seen.Now, all, revisions)",
		test: "TestWatchLag",
	},
	{
		what: "a lost answer counts as a refusal", file: "../../../rollout/inflight/tracker.go",
		old:  "case MaybeExecuted(err):",
		new:  "case false:",
		test: "TestLostAnswers",
	},
	{
		what: "a lost request is waited for as if it had been answered", file: "execute.go",
		old:  "	e.tracker.LostAfter = e.LostAfter\n",
		new:  "	e.tracker.LostAfter = e.LostAfter + 1e12\n",
		test: "TestStorms",
	},
	{
		what: "deletes go by name", file: "execute.go",
		old:  "return e.Delete(ctx, pod, client.Preconditions{UID: &action.UID})",
		new:  "return e.Delete(ctx, pod)",
		test: "TestNamesakeIsNotDeleted",
	},
	{
		what: "the status goes by name", file: "kind.go",
		old:  "		{\"op\": \"test\", \"path\": \"/metadata/uid\", \"value\": object.GetUID()},\n",
		new:  "",
		test: "TestNamesakeGetsNoStatus",
	},
	{
		what: "all creates are sent at once", file: "execute.go",
		old:  "range plan.Batches() {",
		new:  "range [][]rollout.Create{plan.Creates} {",
		test: "TestRefusedPods",
	},
	{
		what: "the next batch follows one that failed", file: "execute.go",
		old:  "			errs = append(errs, err)\n			break\n",
		new:  "			errs = append(errs, err)\n",
		test: "TestRefusedPods",
	},
	{
		what: "a failed patch keeps no other back", file: "execute.go",
		old:  "		if err != nil {\n			return err\n		}\n		e.did(\"Patched\"",
		new:  "		_ = err\n		e.did(\"Patched\"",
		test: "TestPatchesOfAPodKeepTheirOrder",
	},
	{
		what: "the plan goes on without its revision", file: "execute.go",
		old:  "if err != nil && action.Verb == rollout.CreateRevision {",
		new:  "if false {",
		test: "TestNoPodsWithoutTheirRevision",
	},
	{
		what: "nobody comes back after a conflict", file: "reconcile.go",
		old:  "return reconcile.Result{RequeueAfter: soon}, nil",
		new:  "return reconcile.Result{}, nil",
		test: "TestConflictIsTriedAgain",
	},
	{
		what: "a namespace that is going is tried again", file: "reconcile.go",
		old:  "apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):",
		new:  "false && apierrors.IsGone(err):",
		test: "TestNamespaceGoes",
	},
	{
		what: "a conflict is an error", file: "execute.go",
		old:  "apierrors.IsConflict(err) || ",
		new:  "",
		test: "TestConflictIsTriedAgain",
	},
	{
		what: "the cache is believed before an adoption", file: "observe.go",
		old:  "if len(pods.Adopt)+len(revisions.Adopt) > 0 {",
		new:  "if false {",
		test: "TestNothingIsAdoptedByOneThatIsGone",
	},
	{
		what: "the status is written whether it says something new or not", file: "reconcile.go",
		old:  `err != nil || string(change) == "{}" {`,
		new:  `err != nil || string(change) == "" {`,
		test: "TestQuietWhenDone",
	},
	{
		what: "heartbeats wake all sets", file: "watch.go",
		old:  ", builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})",
		new:  ", builder.WithPredicates(predicate.Funcs{})",
		test: "TestQuietWhenDone",
	},
	{
		what: "the memory of the cache is taken", file: "reconcile.go",
		old:  "if !s.resumed {",
		new:  "if true {",
		test: "TestBackOffWithALateCache",
	},
	{
		what: "only owned pods wake their set", file: "watch.go",
		old:  "return err == nil && len(claims.Pods)+len(claims.Release) > 0",
		new:  "return err == nil && len(claims.Pods)-len(claims.Adopt)-len(claims.Old) > 0",
		test: "TestPredecessorWakes",
	},
	{
		what: "nothing is repaired while the spec is invalid", file: "reconcile.go",
		old:  "if s.planner == nil || !r.Kind.Repairs() {",
		new:  "if true {",
		test: "TestInvalidSpec",
	},
	{
		what: "a rollout goes on while the spec is invalid", file: "set.go",
		old:  "	spec.Strategy.Paused = true\n",
		new:  "",
		test: "TestInvalidSpecStopsARollout",
	},
	{
		what: "conditions stay without a plan", file: "kind.go",
		old:  "		status.Forget()\n",
		new:  "",
		test: "TestInvalidSpecAfterARestart",
	},
	{
		what: "mistakes come in any order", file: "../../../internal/selectors/selectors.go",
		old:  "for _, key := range slices.Sorted(maps.Keys(set)) {",
		new:  "for key := range set {",
		test: "TestManyMistakes",
	},
	{
		what: "times are compared as structs", file: "set.go",
		old:  "	func(a, b time.Time) bool { return a.Equal(b) },\n",
		new:  "",
		test: "TestOverrides",
	},
	{
		what: "whatever is not found is gone", file: "../../../rollout/inflight/answer.go",
		old:  " && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)",
		new:  " || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)",
		test: "TestUnknownSubresource",
	},
	{
		what: "typed objects are cached", file: "kind.go",
		old:  "	return ofKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))",
		new:  "	return &v1alpha1.PlannedDaemonSet{}",
		test: "TestObjectsThatCannotBeUnderstood",
	},
	{
		what: "unknown fields are dropped", file: "kind.go",
		old:  "manifest.Object{JSON: data}.DecodeStrict(&set)",
		new:  "manifest.Object{JSON: data}.Decode(&set)",
		test: "TestObjectsThatCannotBeUnderstood",
	},
	{
		what: "a name that is taken is asked for again", file: "execute.go",
		old:  "	e.carry.Memory = e.carry.Memory.Collided()\n",
		new:  "	_ = e.carry.Memory.Collided()\n",
		test: "TestRevisionNameIsTaken",
	},
	{
		what: "both replicas act", file: "../../../test/integration/harness_test.go",
		old:  "options.LeaderElection, options.LeaderElectionResourceLockInterface = true, lock",
		new:  "_ = lock",
		test: "TestTwoReplicas",
	},
	{
		what: "pulls that were asked for are not remembered", file: "pull.go",
		old:  "seen.InFlight.Pulls = append(seen.InFlight.Pulls, started.Request)",
		new:  "_ = started",
		test: "TestPullsWithALateCache",
	},
	{
		what: "what was pulled is believed when the kubelet says so", file: "pull.go",
		old:  "progress.InFlight, progress.WithImages(seen.Nodes)",
		new:  "progress.InFlight, seen.Nodes",
		test: "TestPullsByPods",
	},
	{
		what: "pods that cannot be adopted keep everything back", file: "observe.go",
		old:  "err != nil && !isNormal(err) && isRefused(err) {",
		new:  "err != nil && ctx.Err() != nil {",
		test: "TestAdoptionIsRefused",
	},
	{
		what: "pods that may well be the set's are left out", file: "observe.go",
		old:  "err != nil && !isNormal(err) && isRefused(err) {",
		new:  "err != nil && !isNormal(err) {",
		test: "TestAdoptionConflicts",
	},
	{
		what: "mistakes are told in full", file: "../api/v1alpha1/spec.go",
		old:  "if len(condition.Message) > longestMessage {",
		new:  "if len(condition.Message) < 0 {",
		test: "TestLongMistake",
	},
	{
		what: "a label makes a pull", file: "../../../predownload/attempt.go",
		old:  "	if set == \"\" || ",
		new:  "	if owners = nil; set == \"\" || len(owners) > 0 && ",
		test: "TestPullLabelOnPodsOfTheSet",
	},
	{
		what: "any revision of the name will do", file: "execute.go",
		old:  "mine := len(claims.Revisions) == 1 && live.DeletionTimestamp == nil",
		new:  "mine := claims.Adopt == nil || true",
		test: "TestRevisionWithoutLabels",
	},
	{
		what: "nobody cleans up after pulls", file: "pull.go",
		old:  "return p.object.GetDeletionTimestamp() != nil || !ended",
		new:  "return ended || true",
		test: "TestPullsByPods",
	},
	{
		what: "domains in the custom resource are dropped", file: "../api/v1alpha1/spec.go",
		old:  "range p.Domains {",
		new:  "range p.Domains[:0] {",
		test: "TestDomains/Recreate",
	},
	{
		what: "one domain is as good as several", file: "../api/v1alpha1/spec.go",
		old:  "range p.Domains {",
		new:  "range p.Domains[:1] {",
		test: "TestDomains/Recreate",
	},
	{
		what: "stages in the custom resource are dropped", file: "../api/v1alpha1/spec.go",
		old:  "range p.Stages {",
		new:  "range p.Stages[:0] {",
		test: "TestStages/Recreate",
	},
	{
		what: "a stage needs no approval", file: "../api/v1alpha1/spec.go",
		old:  "Tolerance: s.Tolerance, Approval: s.Approval}",
		new:  "Tolerance: s.Tolerance}",
		test: "TestStages/Recreate",
	},
	{
		what: "approvals in the custom resource are dropped", file: "../api/v1alpha1/spec.go",
		old:  "range p.Approved {",
		new:  "range p.Approved[:0] {",
		test: "TestStages/Recreate",
	},
	{
		what: "no stage soaks", file: "../api/v1alpha1/spec.go",
		old:  "converted.Soak = s.Soak.Duration.Duration",
		new:  "converted.Soak = 0 * s.Soak.Duration.Duration",
		test: "TestStages/Recreate",
	},
	{
		what: "the memory in the status is not read", file: "reconcile.go",
		old:  "s.carry.Memory, s.resumed = stored, true",
		new:  "_, s.resumed = stored, true",
		test: "TestStages/Recreate",
	},
	{
		what: "failures in the custom resource are dropped", file: "../api/v1alpha1/spec.go",
		old:  "policy.Failures = p.Failures.options()",
		new:  "_ = p.Failures.options()",
		test: "TestFailures/Crashes",
	},
	{
		what: "too many failures only pause", file: "../api/v1alpha1/spec.go",
		old:  "Action: failure.Action(f.Action), ",
		new:  "",
		test: "TestFailures/Crashes",
	},
	{
		what: "a retry is not heard", file: "../api/v1alpha1/spec.go",
		old:  " Retry: f.Retry,",
		new:  "",
		test: "TestFailures/Crashes",
	},
	{
		what: "the condition does not say who has failed", file: "../../../rollout/report.go",
		old:  "	if r.isGivenUp() {\n		return r.gaveUpBefore()\n	}\n	if r.failed",
		new:  "	if r.failed",
		test: "TestFailures/Crashes",
	},
	{
		what: "the plan is not asked when to come back", file: "reconcile.go",
		old:  "plan.RequeueAfter(r.Clock.Now(), s.giveUp(), seen.pullsDue)",
		new:  "new(rollout.Plan).Sleep(r.Clock.Now(), s.giveUp(), seen.pullsDue)",
		test: "TestPullsByPods",
	},
}

// TestRemovals takes each away: the test that is about it fails. Without -guards it sees to it only that there is what is taken
// away.
func TestRemovals(t *testing.T) {
	if *removeGuards && os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("-guards needs the cluster that KUBEBUILDER_ASSETS names")
	}
	for _, r := range removals {
		t.Run(r.what, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("..", "..", "examples", "controller", "controller", filepath.FromSlash(r.file)))
			if err != nil {
				t.Fatal(err)
			}
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(was), r.old); n != 1 || r.old == r.new {
				t.Fatalf("%s has this %d times, not once: the code has moved on, find it again\n%s", r.file, n, r.old)
			}
			if *removeGuards {
				fails(t, r.test, file, strings.Replace(string(was), r.old, r.new, 1))
			}
		})
	}
}

// fails runs the test with other code in a file.
func fails(t *testing.T, test, file, changed string) {
	t.Helper()
	dir := t.TempDir()
	code, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if strings.HasSuffix(file, "_test.go") {
		code = filepath.Join(dir, "changed_test.go")
	}
	files, err := json.Marshal(map[string]map[string]string{"Replace": {file: code}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{code: []byte(changed), overlay: files} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "test", "-vet=off", "-count=1", "-overlay="+overlay, "-run=^"+test+"$", ".", "-args", "-patience=20s").CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s passes without it", test)
	case !strings.Contains(string(out), "--- FAIL: "+test):
		t.Errorf("%s does not run:\n%s", test, out)
	}
}
