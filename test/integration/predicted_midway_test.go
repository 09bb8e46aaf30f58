package integration_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
	agent "github.com/daemonplan/daemonplan/test/integration/kubelet"
)

// moment is what happens at a time to a DaemonSet, in a simulation and in the cluster: events or a change, because which of the
// two the controller sees first is chance.
type moment struct {
	// happens does in the cluster what the events do in the simulation. Nil: nothing happens.
	events  []simulate.Event
	happens func()
	// change of the DaemonSet; nil: none.
	change func(*appsv1.DaemonSet)
	// meanwhile looks at the cluster, and does there what others than the DaemonSet controller do then. Nil: nothing.
	meanwhile func()
	// model adds to how kubelets behave.
	model []simulate.Kubelet
	// away is how many nodes lose a pod and are to have none any more. They count as down with the auditor, and not in a report.
	// fresh is how many never had a pod that served. They count in a report only.
	away, fresh int
	// chance: it depends on the order in which the controller takes nodes which of them end in which state.
	chance bool
}

// comesTo: a moment comes to this end, with these pods, in a simulation, and to the same in the cluster: pods, revisions and
// status, and how many pods were made and how many nodes were down.
func (w *predicted) comesTo(end simulate.End, pods string, m moment) {
	w.Helper()
	w.aged()
	run, report, counts := w.simulation(m)
	if got := summary(run.Pods()); got != pods || report.End != end || len(report.Unused) > 0 {
		w.Fatalf("predicted are %s, and the end %v, want %s, and %v; without effect: %v", got, report.End, pods, end, report.Unused)
	}
	w.audit.Begin()
	if m.happens != nil {
		m.happens()
	}
	if m.change != nil {
		w.change(m.change)
	}
	if m.meanwhile != nil {
		m.meanwhile()
	}
	ended := func() error { return w.hasEnded(pods, counts, run, m.chance) }
	w.waitFor(fmt.Sprintf("the end %s, with the status %+v", pods, counts), w.podsText, ended)
	w.stays("that is the end", 2*time.Second, ended)
	created, _, peak := w.counts()
	if created != report.Created || !w.isPeak(peak, report.Unavailable.Peak+m.away-m.fresh, report.Deleted) {
		w.Errorf("%d pods made, %d nodes down at once; predicted were %d, and %d down (%d more, %d less)", created, peak, report.Created,
			report.Unavailable.Peak, m.away, m.fresh)
	}
}

// isPeak reports whether so many nodes may have been down at once where so many were predicted, in an update that deletes so many
// pods. These controllers list their pods twice in a sync, to create some and to delete some. A pod that is gone in between is in
// neither count, and one more goes, which is chance. No more can than maxUnavailable allows at a time, and none before as many
// have gone.
func (w *predicted) isPeak(peak, predicted, deleted int) bool {
	more := 0
	if rolling := w.current().Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil {
		budget := rolling.MaxUnavailable.IntValue()
		more = min(max(deleted-budget, 0), budget)
	}
	return peak >= predicted && peak <= predicted+more
}

// aged waits until no pod can be made within the second of one that is there: of the two the controller would look at the first
// by name, which is chance.
func (w *predicted) aged() {
	w.Helper()
	w.waitFor("a second of no pod", w.podsText, func() error {
		for _, pod := range w.all() {
			if !pod.CreationTimestamp.Time.Before(time.Now().Truncate(time.Second)) {
				return fmt.Errorf("pod %s is new", pod.Name)
			}
		}
		return nil
	})
}

// simulation runs a moment, and returns the counts of the last status beside the report.
func (w *predicted) simulation(m moment) (*simulate.Simulation, simulate.Report, status.Counts) {
	w.Helper()
	change := m.change
	if change == nil {
		change = func(*appsv1.DaemonSet) {}
	}
	model := simulate.Model{Kubelets: append([]simulate.Kubelet{{Ready: simulate.Fixed(100 * time.Millisecond)}}, m.model...)}
	_, scenario := w.scenario(change, model, m.events...)
	run, err := simulate.New(scenario)
	if err != nil {
		w.Fatal(err)
	}
	var counts status.Counts
	report, err := run.Run(nil, func(_ *simulate.Simulation, step *simulate.Step) error {
		counts = step.Plan.Status.Counts
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return run, report, counts
}

// hasEnded reports what is not yet as a simulation ended.
func (w *predicted) hasEnded(pods string, counts status.Counts, run *simulate.Simulation, chance bool) error {
	are := w.each()
	ds := w.current()
	s := ds.Status
	said := status.Counts{
		Desired: s.DesiredNumberScheduled, Current: s.CurrentNumberScheduled, Misscheduled: s.NumberMisscheduled, Ready: s.NumberReady,
		Available: s.NumberAvailable, Unavailable: s.NumberUnavailable, Updated: s.UpdatedNumberScheduled,
	}
	var revisions []*appsv1.ControllerRevision
	for _, revision := range w.revisions() {
		revisions = append(revisions, &revision)
	}
	switch got, predicted := w.numbered(revisions), w.numbered(run.Revisions()); {
	case s.ObservedGeneration != ds.Generation:
		return errors.New("the change is not observed")
	case summary(are) != pods:
		return fmt.Errorf("there are %s", summary(are))
	case !chance && !maps.Equal(states(are), states(run.Pods())):
		return fmt.Errorf("on the nodes are %v, predicted were %v", states(are), states(run.Pods()))
	case said != counts:
		return fmt.Errorf("the status is %+v", said)
	case !slices.Equal(got, predicted):
		return fmt.Errorf("the revisions are %v, predicted were %v", got, predicted)
	}
	return nil
}

// state is the image tag of a pod, and how it is.
func state(pod *corev1.Pod) string {
	_, tag, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case pod.DeletionTimestamp != nil:
		return tag + " leaving"
	case pod.Spec.NodeName == "":
		return tag + " unbound"
	case ready:
		return tag + " ready"
	default:
		return tag + " unready"
	}
}

// each are the pods of the world.
func (w *predicted) each() []*corev1.Pod {
	w.Helper()
	var pods []*corev1.Pod
	for _, pod := range w.all() {
		pods = append(pods, &pod)
	}
	return pods
}

// summary says how many pods there are in each state, as "2 v1 ready, 5 v2 ready".
func summary(pods []*corev1.Pod) string {
	numbers := map[string]int{}
	for _, pod := range pods {
		numbers[state(pod)]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(numbers)) {
		parts = append(parts, fmt.Sprintf("%d %s", numbers[state], state))
	}
	return strings.Join(parts, ", ")
}

// states are those of the pods, by node: of several on one node sorted.
func states(pods []*corev1.Pod) map[string]string {
	states := map[string]string{}
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(state(a), state(b)) }) {
		node, _ := placement.TargetNode(pod)
		states[node] += state(pod) + ";"
	}
	return states
}

// numbered has the numbers and names of revisions, the oldest first. It leaves out the names of those that are made with
// libraries of another version, which write the data that a name is the hash of in another way.
func (w *predicted) numbered(revisions []*appsv1.ControllerRevision) []string {
	var names []string
	for _, revision := range revisions {
		number := fmt.Sprintf("%04d", revision.Revision)
		if w.kind.Group == appsv1.GroupName {
			number += " " + revision.Name
		}
		names = append(names, number)
	}
	slices.Sort(names)
	return names
}

// halfway comes to the middle of an update to v2 that waits for somebody: the first three nodes are updated.
func (w *predicted) halfway() {
	w.Helper()
	const updated = 3
	w.installed(int32(w.nodes), onDelete)
	w.change(tag("v2"))
	w.waitFor("the change", w.podsText, func() error {
		if ds := w.current(); ds.Status.ObservedGeneration != ds.Generation {
			return errors.New("it is not observed")
		}
		return nil
	})
	for i := range updated {
		w.eachPod(i, func(pod *corev1.Pod) error { return w.Delete(w.Context(), pod) })
	}
	w.waitFor("half of the update", w.podsText, func() error {
		if ready, _ := w.at("v2"); ready != updated || len(w.all()) != w.nodes || w.current().Status.NumberReady != int32(w.nodes) {
			return fmt.Errorf("%d pods are updated", ready)
		}
		return nil
	})
}

// onDelete is the strategy that leaves pods alone.
func onDelete(ds *appsv1.DaemonSet) {
	ds.Annotations = nil
	ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
}

// both makes several changes.
func both(changes ...func(*appsv1.DaemonSet)) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		for _, change := range changes {
			change(ds)
		}
	}
}

// desired waits until the controller knows how many nodes are to have a pod. It does not look at a node whose pod may stay
// although no new one may come, unless something else happens: a change of the DaemonSet does.
func (w *predicted) desired(nodes int32) {
	w.Helper()
	w.waitFor("the nodes", w.podsText, func() error {
		w.change(func(ds *appsv1.DaemonSet) { ds.Annotations = map[string]string{"look-at": time.Now().String()} })
		if n := w.current().Status.DesiredNumberScheduled; n != nodes {
			return fmt.Errorf("%d are to have a pod", n)
		}
		return nil
	})
}

// eachPod does something to the pods of a node.
func (w *predicted) eachPod(node int, do func(*corev1.Pod) error) {
	w.Helper()
	for _, pod := range w.all() {
		if name, _ := placement.TargetNode(&pod); name == w.node(node) {
			if err := do(&pod); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// with are the nodes that have a pod in the state.
func (w *predicted) with(wanted string) []int {
	w.Helper()
	var nodes []int
	for i := range w.nodes {
		w.eachPod(i, func(pod *corev1.Pod) error {
			if state(pod) == wanted {
				nodes = append(nodes, i)
			}
			return nil
		})
	}
	return nodes
}

// events are events of one kind on some nodes. They come when the simulation has seen what is down at its beginning.
func (w *predicted) events(event simulate.Event, nodes ...int) []simulate.Event {
	var events []simulate.Event
	for _, i := range nodes {
		event.Node, event.At = w.node(i), time.Second
		events = append(events, event)
	}
	return events
}

// tainted: nodes get a taint when an update is half done, one with an updated pod, one with an outdated one, and one without any.
// They have the taint until the update has ended, with the pods updated, and lose it then.
func (w *predicted) tainted(effect corev1.TaintEffect, strategy func(*appsv1.DaemonSet), updated string) {
	w.halfway()
	taint := corev1.Taint{Key: "dedicated", Effect: effect}
	nodes := []int{1, 5, 6}
	events := append(w.events(simulate.Event{What: simulate.TaintNode, Taint: taint}, nodes...),
		w.events(simulate.Event{What: simulate.DeletePod}, 6)...)
	before, away, more := "3 v1 ready, 3 v2 ready", 1, 1
	if effect == corev1.TaintEffectNoExecute {
		before, away, more = "2 v1 ready, 2 v2 ready", 3, 0
		events = events[:len(nodes)]
	}
	w.comesTo(simulate.EndDone, before, moment{events: events, away: away, happens: func() {
		for _, i := range nodes {
			w.editNode(w.node(i), func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) })
		}
		w.desired(4)
		w.eachPod(6, func(pod *corev1.Pod) error { return client.IgnoreNotFound(w.Delete(w.Context(), pod)) })
	}})
	// An outdated pod that a taint lets stay is deleted, and the new one must not come; with surge one may come that is never
	// bound.
	if strings.Contains(updated, "unbound") {
		more = 0
	}
	w.comesTo(simulate.EndDone, updated, moment{change: strategy, away: away + more})
	w.comesTo(simulate.EndDone, "7 v2 ready", moment{
		events: w.events(simulate.Event{What: simulate.UntaintNode, Taint: taint}, nodes...),
		happens: func() {
			for _, i := range nodes {
				w.editNode(w.node(i), func(n *corev1.Node) { n.Spec.Taints = nil })
			}
		},
	})
}

// evicted: two nodes lose their pods when an update is half done, an updated and an outdated one, and two more when it has ended:
// one pod each to the Eviction API, and one to a kubelet that is short of something.
func (w *predicted) evicted(strategy func(*appsv1.DaemonSet)) {
	w.halfway()
	lose := func(asked, failed int) moment {
		return moment{
			events: append(w.events(simulate.Event{What: simulate.DeletePod}, asked),
				w.events(simulate.Event{What: simulate.EvictPod}, failed)...),
			happens: func() {
				w.eachPod(asked, func(pod *corev1.Pod) error {
					return w.SubResource("eviction").Create(w.Context(), pod, &policyv1.Eviction{})
				})
				w.eachPod(failed, func(pod *corev1.Pod) error {
					kubelet.Evict(pod, time.Now())
					return w.Status().Update(w.Context(), pod)
				})
			},
		}
	}
	w.comesTo(simulate.EndDone, "3 v1 ready, 4 v2 ready", lose(1, 3))
	w.comesTo(simulate.EndDone, "2 v1 ready, 5 v2 ready", lose(4, 2))
	w.comesTo(simulate.EndDone, "7 v2 ready", moment{change: strategy})
	w.comesTo(simulate.EndDone, "7 v2 ready", lose(5, 6))
}

// revised: the template changes again when an update is half done. Pods of three revisions are there when the update goes on: to
// the newest, or back to the first.
func (w *predicted) revised(to string, strategy func(*appsv1.DaemonSet)) {
	w.halfway()
	w.comesTo(simulate.EndDone, "4 v1 ready, 3 v2 ready", moment{change: tag("v3")})
	w.comesTo(simulate.EndDone, "3 v1 ready, 2 v2 ready, 2 v3 ready", w.deletedByHand(2, 3))
	w.comesTo(simulate.EndDone, "7 "+to+" ready", moment{change: both(tag(to), strategy)})
}

// deletedByHand is the moment at which somebody deletes the pods of these nodes.
func (w *predicted) deletedByHand(nodes ...int) moment {
	return moment{events: w.events(simulate.Event{What: simulate.DeletePod}, nodes...), happens: func() {
		for _, i := range nodes {
			w.eachPod(i, func(pod *corev1.Pod) error { return w.Delete(w.Context(), pod) })
		}
	}}
}

// claims: the pods share a claim that only one pod may use. One of them runs, and gives the claim to another one when it is
// deleted.
func (w *predicted) claims(strategy func(*appsv1.DaemonSet), updated string) {
	meta := metav1.ObjectMeta{Name: w.namespace, Namespace: w.namespace, Annotations: map[string]string{
		"pv.kubernetes.io/bind-completed": "yes", // there is no controller that binds claims
	}}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, VolumeName: w.namespace, StorageClassName: new(""), Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	w.create(claim)
	w.create(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: modes, Capacity: size, ClaimRef: &corev1.ObjectReference{Name: claim.Name, Namespace: claim.Namespace, UID: claim.UID},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "example", VolumeHandle: "a"}},
	}})
	w.installed(1, strategy, func(ds *appsv1.DaemonSet) {
		ds.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}}}
	})
	served := map[int]bool{w.with("v1 ready")[0]: true}
	w.comesTo(simulate.EndStuck, updated, moment{change: tag("v2"), fresh: 3, chance: !strings.Contains(updated, "v1")})
	holder := append(w.with("v1 ready"), w.with("v2 ready")...)[0]
	served[holder] = true
	after := w.deletedByHand(holder)
	after.chance, after.fresh = true, w.nodes-len(served)
	w.comesTo(simulate.EndStuck, "1 v2 ready, 3 v2 unbound", after)
}

// unready: the pods of a new revision never become ready. The update stands still with as many of them as the budget lets it
// take, also when another node loses its pod then, until the template changes: back, or to one whose pods do.
func (w *predicted) unready(strategy func(*appsv1.DaemonSet), stands, evicted, to string) {
	behaviors.Store(w.namespace, func(pod *corev1.Pod) agent.Behavior {
		if strings.HasPrefix(state(pod), "v2 ") {
			return agent.StaysUnready
		}
		return agent.GetsReady
	})
	model := []simulate.Kubelet{{Image: "registry.example/agent:v2", NeverReady: new(true)}}
	w.installed(int32(w.nodes), strategy)
	w.comesTo(simulate.EndStuck, stands, moment{change: tag("v2"), model: model, chance: true})
	updating := w.with("v2 unready") // with surge beside an old pod
	old := slices.DeleteFunc(w.with("v1 ready"), func(node int) bool { return slices.Contains(updating, node) })
	lost := w.deletedByHand(old[0])
	lost.model = model
	w.comesTo(simulate.EndStuck, evicted, lost)
	w.comesTo(simulate.EndDone, "7 "+to+" ready", moment{change: tag(to)})
}

// joined: two nodes go when an update is half done, one with an updated pod and one with an outdated one, and another one joins.
func (w *predicted) joined(strategy func(*appsv1.DaemonSet)) {
	w.halfway()
	pool := simulate.Pool{Name: w.namespace + "-more", Nodes: 1, Labels: map[string]string{"world": w.namespace}}
	w.comesTo(simulate.EndDone, "3 v1 ready, 3 v2 ready", moment{
		events: append(w.events(simulate.Event{What: simulate.RemoveNode}, 1, 5),
			simulate.Event{What: simulate.AddNodes, At: time.Second, Join: pool}),
		happens: func() {
			w.removeNode(1)
			w.removeNode(5)
			w.addNode(pool.Name + "-00000")
			w.desired(6)
			w.collect(1)
			w.collect(5)
		},
		away: 2, fresh: 1,
	})
	w.comesTo(simulate.EndDone, "6 v2 ready", moment{change: strategy, away: 2})
}

// orphaned: a node has gone, and its pod is not collected yet, when an update with surge begins. So many pods are made before it
// is.
func (w *predicted) orphaned(made int) {
	w.installed(int32(w.nodes), rolling(0, 2))
	w.removeNode(0)
	w.desired(int32(w.nodes) - 1)
	plan, _ := w.predict(tag("v2"), simulate.Model{})
	if len(plan.Creates) != made || len(plan.Deletes) > 0 {
		w.Errorf("predicted are %d creates and %d deletes", len(plan.Creates), len(plan.Deletes))
	}
	w.comesTo(simulate.EndDone, "2 v2 ready", moment{change: tag("v2"), away: 1, meanwhile: func() {
		if made == 0 {
			w.stays("no pod is updated", 2*time.Second, func() error {
				if ready, unready := w.at("v2"); ready+unready > 0 {
					return fmt.Errorf("%d are", ready+unready)
				}
				return nil
			})
		}
		w.collect(0)
	}})
}

// removeNode takes a node away.
func (w *predicted) removeNode(i int) {
	w.Helper()
	if err := w.Delete(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node(i)}}); err != nil {
		w.Fatal(err)
	}
}

// collect does with the pods of a node that is gone what the pod garbage collector does after a while.
func (w *predicted) collect(node int) {
	w.Helper()
	w.eachPod(node, func(pod *corev1.Pod) error { return w.Delete(w.Context(), pod, client.GracePeriodSeconds(0)) })
}

// selected: with the template its node selector changes when an update is half done. Pods on nodes that no longer match go, that
// of a node whose label goes too, and all come back when the template no longer asks for the label.
func (w *predicted) selected(strategy func(*appsv1.DaemonSet)) {
	for _, i := range []int{0, 1, 4, 5} {
		w.editNode(w.node(i), func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
	}
	w.halfway()
	w.comesTo(simulate.EndDone, "4 v3 ready", moment{away: 3, change: both(strategy, tag("v3"), func(ds *appsv1.DaemonSet) {
		ds.Spec.Template.Spec.NodeSelector["disk"] = "ssd"
	})})
	w.comesTo(simulate.EndDone, "3 v3 ready", moment{
		events: w.events(simulate.Event{What: simulate.LabelNode, Labels: map[string]string{"disk": ""}}, 0),
		happens: func() {
			w.editNode(w.node(0), func(n *corev1.Node) { delete(n.Labels, "disk") })
		},
		away: 4,
	})
	w.comesTo(simulate.EndDone, "7 v4 ready", moment{change: both(tag("v4"), func(ds *appsv1.DaemonSet) {
		delete(ds.Spec.Template.Spec.NodeSelector, "disk")
	})})
}

// byHand: pods are updated as somebody deletes them, to the template of that moment: newer ones, and the first one again.
func (w *predicted) byHand() {
	w.installed(int32(w.nodes), onDelete)
	w.comesTo(simulate.EndDone, "7 v1 ready", moment{change: tag("v2")})
	w.comesTo(simulate.EndDone, "5 v1 ready, 2 v2 ready", w.deletedByHand(0, 1))
	w.comesTo(simulate.EndDone, "5 v1 ready, 2 v2 ready", moment{change: tag("v3")})
	w.comesTo(simulate.EndDone, "4 v1 ready, 1 v2 ready, 2 v3 ready", w.deletedByHand(1, 2))
	w.comesTo(simulate.EndDone, "4 v1 ready, 1 v2 ready, 2 v3 ready", moment{change: tag("v1")})
	w.comesTo(simulate.EndDone, "5 v1 ready, 2 v3 ready", w.deletedByHand(0, 3))
}
