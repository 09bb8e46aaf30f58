package outage_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/outage"
)

func TestOf(t *testing.T) {
	const hour = time.Hour
	graceful, maintenance := "GracefulNodeShutdownInProgress", "MaintenanceInProgress"
	rows := []struct {
		name, why string
		options   outage.Options
		node      *corev1.Node
		want      string
	}{
		{name: "nil", why: "nothing is out", want: "up"},
		{name: "ready", why: "B9: it is up", node: nodeOf(up), want: "up"},
		{name: "no condition", why: "B9: Ready is not True", node: nodeOf(), want: "out"},
		{name: "not ready", why: "B9: since its transition", node: nodeOf(down(hour)), want: "out for 1h0m0s"},
		{name: "unknown", why: "B9: as one that is not ready", node: nodeOf(condition("Ready", corev1.ConditionUnknown, hour)), want: "out for 1h0m0s"},
		{name: "not ready since nobody knows when", why: "B9: no evidence", node: nodeOf(down(-1)), want: "out"},
		{name: "marked for deletion", why: "M8", node: nodeOf(up, deletedNode(hour)), want: "departing for 1h0m0s"},
		{name: "marked with a grace period", why: "B9: since the request", node: nodeOf(up, deletedNode(hour), func(n *corev1.Node) {
			n.DeletionGracePeriodSeconds = new(int64(60))
		}), want: "departing for 1h1m0s"},
		{name: "marked with a negative grace period", why: "it is none", node: nodeOf(up, deletedNode(hour), func(n *corev1.Node) {
			n.DeletionGracePeriodSeconds = new(int64(-60))
		}), want: "departing for 1h0m0s"},
		{name: "cluster autoscaler", why: "M8", node: nodeOf(up, taint("ToBeDeletedByClusterAutoscaler", hour)), want: "departing for 1h0m0s"},
		{name: "karpenter", why: "M8: without a time", node: nodeOf(up, taint("karpenter.sh/disrupted", -1)), want: "departing"},
		{name: "out of service", why: "M8", node: nodeOf(up, taint("node.kubernetes.io/out-of-service", hour)), want: "departing for 1h0m0s"},
		{name: "another taint", why: "M8: it says nothing", node: nodeOf(up, taint("node.kubernetes.io/not-ready", hour)), want: "up"},
		{name: "a taint of the options", why: "M8", options: everything(), node: nodeOf(up, taint("example.com/drained", hour)), want: "departing for 1h0m0s"},
		{name: "the taint of other options", why: "M8: it is not asked for", node: nodeOf(up, taint("example.com/drained", hour)), want: "up"},
		{name: "a condition of the options as a taint", why: "they are two lists", options: everything(), node: nodeOf(up, taint("Drained", hour)), want: "up"},
		{name: "shutdown", why: "M8", node: nodeOf(up, condition(graceful, corev1.ConditionTrue, hour)), want: "departing for 1h0m0s"},
		{name: "maintenance", why: "M8", node: nodeOf(up, condition(maintenance, corev1.ConditionTrue, hour)), want: "departing for 1h0m0s"},
		{name: "no maintenance", why: "M8: only True says so", node: nodeOf(up, condition(maintenance, corev1.ConditionFalse, hour)), want: "up"},
		{name: "maintenance unknown", why: "M8: only True says so", node: nodeOf(up, condition(maintenance, corev1.ConditionUnknown, hour)), want: "up"},
		{name: "another condition", why: "M8: it says nothing", node: nodeOf(up, condition("MemoryPressure", corev1.ConditionTrue, hour)), want: "up"},
		{name: "a condition of the options", why: "M8", options: everything(), node: nodeOf(up, condition("Drained", corev1.ConditionTrue, hour)), want: "departing for 1h0m0s"},
		{name: "the condition of other options", why: "M8: it is not asked for", node: nodeOf(up, condition("Cordoned", corev1.ConditionTrue, hour)), want: "up"},
		{name: "drained", why: "M8: it is not out", node: nodeOf(up, condition("Drained", corev1.ConditionTrue, -1)), want: "up, draining"},
		{name: "draining", why: "M8: it is not out", node: nodeOf(up, condition("DrainInProgress", corev1.ConditionTrue, hour), condition("Drained", corev1.ConditionTrue, hour/2)), want: "up, draining for 1h0m0s"},
		{name: "no drain", why: "M8: only True says so", node: nodeOf(up, condition("DrainInProgress", corev1.ConditionFalse, hour)), want: "up"},
		{name: "drained, and down", why: "M8, B9: each says its own", node: nodeOf(down(hour), condition("Drained", corev1.ConditionTrue, 2*hour)), want: "out for 1h0m0s, draining for 2h0m0s"},
		{name: "maintenance planned", why: "M8: it stops nothing yet", node: nodeOf(up, condition("MaintenancePlanned", corev1.ConditionTrue, hour)), want: "up"},
		{name: "touched", why: "M8: Touch says what is done, not what is", options: outage.Options{Touch: true},
			node: nodeOf(up, taint("karpenter.sh/disrupted", -1)), want: "departing"},
		{name: "not ready, then departing", why: "B9: the earliest sign", node: nodeOf(down(2*hour), taint("karpenter.sh/disrupted", hour)), want: "departing for 2h0m0s"},
		{name: "departing, then not ready", why: "B9: the earliest sign", node: nodeOf(down(hour), taint("karpenter.sh/disrupted", 2*hour)), want: "departing for 2h0m0s"},
		{name: "an unknown sign and a known one", why: "B9: the earliest that has a time", node: nodeOf(down(hour), taint("karpenter.sh/disrupted", -1)), want: "departing for 1h0m0s"},
		{name: "a known sign and an unknown one", why: "B9: the earliest that has a time", node: nodeOf(down(-1), taint("karpenter.sh/disrupted", hour)), want: "departing for 1h0m0s"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		if got := sayOutage(row.options.Of(row.node)); got != row.want {
			t.Errorf("%s: got %q, want %q: %s", row.name, got, row.want, row.why)
		}
	}
}

// change is one call that tells an update of a pod.
type change func(*outage.Update)

func fresh(options ...podOption) change {
	return func(u *outage.Update) { u.NewPod(podOf(options...)) }
}

func outdated(options ...podOption) change {
	return func(u *outage.Update) { u.OutdatedPod(podOf(options...)) }
}

func requested(u *outage.Update) { u.Requested(noon()) }

func unseen(u *outage.Update) { u.Unseen() }

func accused(u *outage.Update) { u.Accuse() }

// updateOf is what the calls make of an update.
func updateOf(changes ...change) *outage.Update {
	var u outage.Update
	for _, c := range changes {
		c(&u)
	}
	return &u
}

func TestBegan(t *testing.T) {
	const hour = time.Hour
	rows := []struct {
		name, why string
		update    *outage.Update
		want      string
	}{
		{"no pods", "nothing has begun", updateOf(), "no"},
		{"nil pods", "they are passed over", updateOf(func(u *outage.Update) { u.NewPod(nil); u.OutdatedPod(nil) }), "no"},
		{"an outdated pod", "its update has not begun", updateOf(outdated()), "no"},
		{"an outdated pod that is deleted", "B9: when that was requested", updateOf(outdated(deleted(hour))), "1h0m0s"},
		{"without a grace period", "B9: nothing to take off", updateOf(outdated(func(p *corev1.Pod) { p.DeletionTimestamp = mark(hour) })), "1h0m0s"},
		{"with a grace period of a second", "B9: it counts", updateOf(outdated(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = mark(hour), new(int64(1))
		})), "1h0m1s"},
		{"with an endless grace period", "it must not overflow", updateOf(outdated(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = mark(0), new(int64(1)<<62)
		})), "1193046h28m16s"},
		{"a new pod", "B9: when it was created", updateOf(fresh()), "1h0m0s"},
		{"a new pod that is deleted", "B9: when it was created", updateOf(fresh(deleted(2 * hour))), "1h0m0s"},
		{"a new pod that was updated in place", "B9: by its annotation", updateOf(fresh(updatedInPlace(time.Minute))), "1m0s"},
		{"a new pod whose annotation cannot be read", "unknown is earliest", updateOf(fresh(), fresh(annotation("apps.kruise.io/inplace-update-state", "{"))), "yes"},
		{"in flight", "B9: now", updateOf(requested), "0s"},
		{"deleted, then created", "B9: the earliest", updateOf(outdated(deleted(2*hour)), fresh()), "2h0m0s"},
		{"created, then deleted", "B9: the earliest", updateOf(outdated(deleted(time.Minute)), fresh()), "1h0m0s"},
		{"a create or a patch in flight", "nobody knows since when its pod runs", updateOf(unseen), "yes"},
		{"two new pods", "B9: the earliest", updateOf(fresh(), fresh(created(2*hour))), "2h0m0s"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		got := "no"
		if at, ok := row.update.Began(); ok {
			if got = noon().Sub(at).String(); at.IsZero() {
				got = "yes"
			}
		} else if !at.IsZero() {
			got = "no, but at " + at.String()
		}
		if got != row.want {
			t.Errorf("%s: began %s, want %s: %s", row.name, got, row.want, row.why)
		}
	}
}

func TestExcuses(t *testing.T) {
	const hour, second = time.Hour, time.Second
	outFor := func(d time.Duration) outage.Outage { return outage.Outage{Out: true, Since: ago(d)} }
	unknown := outage.Outage{Out: true}
	rows := []struct {
		name, why string
		proven    time.Duration
		out       outage.Outage
		update    *outage.Update
		want      bool
	}{
		{name: "up", why: "there is nothing to excuse", out: outage.Outage{}, update: updateOf()},
		{name: "up, with a time", why: "there is nothing to excuse", out: outage.Outage{Since: ago(2 * hour)}, update: updateOf(fresh())},
		{name: "not begun", why: "B9: there is no b", out: outFor(0), update: updateOf(outdated()), want: true},
		{name: "not begun, unknown", why: "B9: there is no b", out: unknown, update: updateOf(outdated()), want: true},
		{name: "down before", why: "B9: t < b", out: outFor(hour + second), update: updateOf(fresh()), want: true},
		{name: "a tie", why: "B9: no evidence", out: outFor(hour), update: updateOf(fresh())},
		{name: "a tie, and accused", why: "P-B: no evidence against the update either", out: outFor(hour), update: updateOf(fresh(), accused), want: true},
		{name: "a tie with the revision, and accused", why: "P-B: no update began before it", out: outFor(hour),
			update: updateOf(fresh(created(2*hour)), func(u *outage.Update) { u.NotBefore(ago(hour)) }, accused), want: true},
		{name: "a tie with the revision", why: "B9: no evidence", out: outFor(hour),
			update: updateOf(fresh(created(2*hour)), func(u *outage.Update) { u.NotBefore(ago(hour)) })},
		{name: "a tie, accused and started", why: "B9: a kubelet has run it", out: outFor(hour), update: updateOf(fresh(noticed), accused)},
		{name: "down after, and accused", why: "B9: the update may have done it", out: outFor(hour - second), update: updateOf(fresh(), accused)},
		{name: "down before, and accused", why: "B9: t < b", out: outFor(hour + second), update: updateOf(fresh(), accused), want: true},
		{name: "a tie but for a part of a second", why: "B9: whole seconds", out: outFor(hour), update: updateOf(fresh(created(hour - second/2)))},
		{name: "down after", why: "B9: the update may have done it", out: outFor(hour - second), update: updateOf(fresh())},
		{name: "unknown", why: "B9: no evidence", out: unknown, update: updateOf(fresh())},
		{name: "down before, and started", why: "B9: a kubelet has run it", out: outFor(2 * hour), update: updateOf(fresh(noticed))},
		{name: "down before, and another was started", why: "B9: any of them", out: outFor(2 * hour), update: updateOf(fresh(noticed), fresh())},
		{name: "an outdated pod was started", why: "B9: that is not the new one", out: outFor(2 * hour), update: updateOf(fresh(), outdated(noticed)), want: true},
		{name: "deleted after", why: "B9: t < b", out: outFor(hour + second), update: updateOf(outdated(deleted(hour))), want: true},
		{name: "deleted before", why: "B9: the request counts, not the end of the grace period", out: outFor(hour - second), update: updateOf(outdated(deleted(hour)))},
		{name: "in flight, down before", why: "B9: t < now", out: outFor(second), update: updateOf(outdated(), requested), want: true},
		{name: "in flight, down now", why: "B9: a tie", out: outFor(0), update: updateOf(outdated(), requested)},
		{name: "a create or a patch in flight", why: "B9: its pod may run by now", out: outFor(2 * hour), update: updateOf(outdated(), unseen)},
		{name: "in a hook", why: "B9: its handlers may have done it", out: outFor(hour), update: updateOf(outdated(inState("PreparingDelete")))},
		{name: "the new pod is in a hook", why: "B9: it was created in it, and nobody has started it", out: outFor(2 * hour), update: updateOf(fresh(inState("PreparingNormal"))), want: true},
		{name: "in an unknown state", why: "B9: that may be a hook", out: outFor(hour), update: updateOf(outdated(inState("?")))},
		{name: "let go by its hook", why: "B9: it is in none any more", out: outFor(hour + second), update: updateOf(outdated(deleted(time.Minute), asked(hour))), want: true},
		{name: "down while its hook was asked", why: "B9: its handlers may have done it", out: outFor(hour), update: updateOf(outdated(deleted(time.Minute), asked(hour)))},
		{name: "let go by a hook asked nobody knows when", why: "B9: no evidence", out: outFor(hour), update: updateOf(outdated(deleted(time.Minute), inState("PreparingDelete")))},
		{name: "let go, in another hook", why: "B9: its handlers may have done it", out: outFor(time.Minute), update: updateOf(outdated(deleted(time.Minute), asked(time.Minute), inState("PreparingUpdate")))},
		{name: "down, then asked to let go", why: "B9: t < b", out: outFor(hour + second), update: updateOf(outdated(asked(hour))), want: true},
		{name: "asked to let go, then down", why: "B9: the hook's handlers may have done it", out: outFor(hour - second), update: updateOf(outdated(asked(hour)))},
		{name: "proven, and an outdated pod is in a hook", why: "B9: its handlers may have done it", proven: hour, out: outFor(0),
			update: updateOf(fresh(ran("main", hour)), outdated(asked(2*hour)))},
		{name: "proven, and an outdated pod has left its hook", why: "B9: the new pod has run since", proven: hour, out: outFor(0),
			update: updateOf(fresh(ran("main", hour)), outdated(asked(2*hour), deleted(2*hour))), want: true},
		{name: "in no hook", why: "B9: Normal is none", out: outFor(hour), update: updateOf(outdated(inState("Normal"))), want: true},
		{name: "prepared in place", why: "B9: it was taken out of service before", out: outFor(0), update: updateOf(outdated(preparing))},
		{name: "down, then prepared in place", why: "B9: t < b", out: outFor(second), update: updateOf(outdated(preparing)), want: true},
		{name: "one of two in a hook", why: "B9: any of them", out: outFor(hour), update: updateOf(outdated(inState("PreparingDelete")), outdated())},
		{name: "one of two prepared", why: "B9: any of them", out: outFor(0), update: updateOf(outdated(preparing), outdated(inState("Normal")))},
		{name: "updated in place after", why: "B9: nobody has started what is new", out: outFor(2 * time.Minute),
			update: updateOf(fresh(noticed, updatedInPlace(time.Minute), ran("main", hour), hasImage("old"))), want: true},
		{name: "updated in place before", why: "B9: that may have done it", out: outFor(second),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", hour), hasImage("old")))},
		{name: "started since its update in place", why: "B9: a kubelet has run what is new", out: outFor(2 * time.Minute),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", time.Minute), hasImage("old")))},
		{name: "started since its update in place, and waits", why: "B9: a kubelet has run what is new", out: outFor(2 * time.Minute),
			update: updateOf(fresh(updatedInPlace(time.Minute), restarted("main", second), hasImage("old")))},
		{name: "started since its update in place, and ended", why: "B9: a kubelet has run what is new", out: outFor(2 * time.Minute),
			update: updateOf(fresh(updatedInPlace(time.Minute), ended("main", second), hasImage("old")))},
		{name: "an init container started since", why: "B9: a kubelet has run what is new", out: outFor(2 * time.Minute),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", hour), hasImage("old"), initially(ran("init", second))))},
		{name: "its update in place is complete", why: "B9: a kubelet has done it without a start", out: outFor(2 * time.Minute),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", hour), hasImage("new")))},
		{name: "an annotation that cannot be read", why: "what cannot be read is no evidence", out: outFor(2 * hour),
			update: updateOf(fresh(annotation("apps.kruise.io/inplace-update-state", "{")))},
		{name: "proven", why: "B9: the container ran for ProvenAfter", proven: hour, out: outFor(0), update: updateOf(fresh(noticed, ran("main", hour))), want: true},
		{name: "not proven", why: "B9: by a second", proven: hour, out: outFor(second), update: updateOf(fresh(noticed, ran("main", hour)))},
		{name: "never proven", why: "B9: the default", out: outFor(0), update: updateOf(fresh(noticed, ran("main", hour)))},
		{name: "proven, and ended", why: "B9: as it ran for so long", proven: hour, out: outFor(0), update: updateOf(fresh(noticed, ended("main", hour))), want: true},
		{name: "proven, unknown", why: "B9: no evidence", proven: second, out: unknown, update: updateOf(fresh(noticed, ran("main", hour)))},
		{name: "proven in a hook", why: "B9: its handlers may have done it", proven: second, out: outFor(0), update: updateOf(fresh(ran("main", hour), inState("PreparingDelete")))},
		{name: "one of two containers is proven", why: "B9: all of them", proven: hour, out: outFor(0),
			update: updateOf(fresh(needsMore, ran("main", hour), ran("more", second)))},
		{name: "the other of two containers is proven", why: "B9: all of them", proven: hour, out: outFor(0),
			update: updateOf(fresh(needsMore, ran("main", second), ran("more", hour)))},
		{name: "one of two containers is missing", why: "B9: all of them", proven: hour, out: outFor(0), update: updateOf(fresh(needsMore, ran("main", hour)))},
		{name: "one of two containers waits", why: "B9: all of them", proven: hour, out: outFor(0), update: updateOf(fresh(needsMore, ran("main", hour), restarted("more", 2*hour)))},
		{name: "proven in an instant", why: "B9: more than 0 is enough", proven: 1, out: outFor(0), update: updateOf(fresh(noticed, ran("main", second))), want: true},
		{name: "its container waits", why: "B9: nobody knows for how long", proven: hour, out: outFor(0), update: updateOf(fresh(restarted("main", 2*hour)))},
		{name: "no containers", why: "B9: nothing has run", proven: hour, out: outFor(0), update: updateOf(fresh(func(p *corev1.Pod) { p.Spec.Containers = nil }))},
		{name: "two new pods", why: "B9: the other may have done it", proven: hour, out: outFor(0), update: updateOf(fresh(ran("main", hour)), fresh(ran("main", hour)))},
		{name: "proven beside an outdated pod", why: "B9: that has not done it", proven: hour, out: outFor(0), update: updateOf(outdated(), fresh(ran("main", hour))), want: true},
		{name: "proven before its update in place", why: "B9: that was another revision", proven: hour, out: outFor(0),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", 2*hour), hasImage("new")))},
		{name: "proven since its update in place", why: "B9: also in containers that went on", proven: time.Minute, out: outFor(0),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", 2*hour), hasImage("new"))), want: true},
		{name: "proven since a container started after it", why: "B9: not for as long as the update", proven: time.Minute, out: outFor(0),
			update: updateOf(fresh(updatedInPlace(time.Minute), ran("main", time.Minute-second), hasImage("new")))},
		{name: "proven, with an annotation that cannot be read", why: "what cannot be read is no evidence", proven: hour, out: outFor(0),
			update: updateOf(fresh(annotation("apps.kruise.io/inplace-update-state", "{"), ran("main", hour)))},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		if got := (outage.Options{ProvenAfter: row.proven}).Excuses(row.out, row.update); got != row.want {
			t.Errorf("%s: excused %t, want %t: %s", row.name, got, row.want, row.why)
		}
	}
}
