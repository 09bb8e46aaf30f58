package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// edsReconcile is a recording of what the controller decides about the set: which replica set is active, and which is on trial.
type edsReconcile struct {
	Name     string   `json:"name"`
	Features []string `json:"features"`
	Input    struct {
		Now         time.Time        `json:"now"`
		Set         edsSet           `json:"extendedDaemonSet"`
		ReplicaSets []*edsReplicaSet `json:"replicaSets"`
		Nodes       []*corev1.Node   `json:"nodes"`
		DefaultMode string           `json:"defaultValidationMode"`
	} `json:"input"`
	Expect edsReconciled `json:"expect"`
}

type edsReconciled struct {
	Created []json.RawMessage `json:"createdReplicaSets"`
	Deleted []string          `json:"deletedReplicaSets"`
	Status  struct {
		ActiveReplicaSet string           `json:"activeReplicaSet"`
		State            string           `json:"state"`
		Canary           *edsCanaryStatus `json:"canary"`
	} `json:"status"`
	Image       string          `json:"image"`
	Error       string          `json:"error"`
	ByListOrder []edsReconciled `json:"observedOutcomes"`
}

// edsDecision is what is decided about the set. Revisions are identified by their image.
type edsDecision struct {
	active, trial string // images; empty: none
	state         string
	image         string // image of the set's template afterwards
	created       int    // number of replica sets that are created
	deleted       int
	ended         string // why the controller went no further
}

// These are the deliberate differences about the set. They are switches of the model.
const (
	edsOneCall = 1 << iota
	edsTooFew
	edsMustRun
	edsHaltedRests
	edsFailedStays
	edsPromotedIsGood
	edsLostActive
	edsHistoryLimit
	edsSpecIsTheUsers
	edsLeftInStatus
	edsSetRules // end
)

var edsSetEntries = map[int]edsEntry{
	edsOneCall: {"one-call", "T6",
		"the controller does nothing else in a call in which it sets defaults or creates a replica set"},
	edsTooFew: {"too-few-nodes", "C1",
		"the controller ends with an error if there are fewer nodes than canaries wanted; the canary has those there are"},
	edsMustRun: {"canary-must-run", "C2",
		"the controller's clock runs from the creation of the replica set, whatever runs on the nodes"},
	edsHaltedRests: {"halted-rests", "T4, C2",
		"the controller creates replica sets and promotes them while the rollout is frozen; the history rests"},
	edsFailedStays: {"failed-stays-failed", "C4, C5",
		"the controller promotes a failed canary once its duration is over or it is declared valid"},
	edsPromotedIsGood: {"promoted-is-good", "C6",
		"a replica set that is active, and once failed or was paused as a canary, makes the controller's state Canary Failed"},
	edsLostActive: {"lost-active", "C6",
		"without an active replica set the controller skips the canary; the stable revision is the one before in the history"},
	edsHistoryLimit: {"history-limit", "R4",
		"the controller deletes every replica set that no node is to run any more"},
	edsSpecIsTheUsers: {"spec-is-the-users", "C7",
		"the controller writes the active template over a failed one; a plan leaves the spec alone, and nodes at stable"},
	edsLeftInStatus: {"left-in-status", "C1",
		"the controller leaves a canary in the status of a set that has none any more; then nothing is on trial"},
}

// edsSetUnrecorded are entries that no recording here needs.
var edsSetUnrecorded = map[int]bool{edsLeftInStatus: true}

func (c *edsReconcile) recorded() edsDecision {
	e := c.Expect
	for _, o := range e.ByListOrder { // an error depends on the order of the nodes
		if o.Error == "" {
			e = o
		}
	}
	d := edsDecision{active: c.imageOf(e.Status.ActiveReplicaSet), state: e.Status.State, image: e.Image,
		created: len(e.Created), deleted: len(e.Deleted)}
	if e.Status.Canary != nil {
		d.trial = c.imageOf(e.Status.Canary.ReplicaSet)
	}
	if e.Error != "" {
		d.ended = strings.Fields(e.Error)[0]
	}
	return d
}

func (c *edsReconcile) replica(name string) *edsReplicaSet {
	for _, r := range c.Input.ReplicaSets {
		if r.Name == name && name != "" {
			return r
		}
	}
	return nil
}

func (c *edsReconcile) imageOf(name string) string {
	if r := c.replica(name); r != nil {
		return edsImage(r.Spec.Template)
	}
	return ""
}

func edsImage(t corev1.PodTemplateSpec) string { return t.Spec.Containers[0].Image }

// upToDate returns the replica set of the set's template.
func (c *edsReconcile) upToDate() *edsReplicaSet {
	for _, r := range c.Input.ReplicaSets {
		if equality.Semantic.DeepEqual(r.Spec.Template, c.Input.Set.Spec.Template) {
			return r
		}
	}
	return nil
}

func (c *edsReconcile) undefaulted() bool {
	return c.Input.Set.Spec.Strategy.RollingUpdate.MaxUnavailable == nil
}

func (c *edsReconcile) annotated(name string) string {
	return c.Input.Set.Annotations["extendeddaemonset.datadoghq.com/"+name]
}

// unchanged returns the decision that leaves all as it is, for that reason.
func (c *edsReconcile) unchanged(why string) edsDecision {
	s := c.Input.Set
	d := edsDecision{active: c.imageOf(s.Status.ActiveReplicaSet), state: s.Status.State, image: edsImage(s.Spec.Template),
		ended: why}
	if s.Status.Canary != nil {
		d.trial = c.imageOf(s.Status.Canary.ReplicaSet)
	}
	return d
}

// outcome returns what the controller decides, with some of our rules.
func (c *edsReconcile) outcome(rules int) edsDecision {
	on := func(r int) bool { return rules&r != 0 }
	options, strategy := c.options(), c.Input.Set.Spec.Strategy.Canary
	switch {
	case c.undefaulted() && !on(edsOneCall):
		return c.unchanged("")
	case options != nil && *options.AutoFail.MaxRestarts <= *options.AutoPause.MaxRestarts:
		return c.unchanged("canary")
	}
	upToDate, created := c.upToDate(), 0
	if upToDate == nil {
		created = 1
		if !on(edsOneCall) {
			d := c.unchanged("")
			d.created = 1
			return d
		}
		upToDate = new(edsReplicaSet)
		upToDate.Spec.Template = c.Input.Set.Spec.Template
		upToDate.CreationTimestamp.Time = c.Input.Now
	}
	active := c.replica(c.Input.Set.Status.ActiveReplicaSet)
	if active == nil && on(edsLostActive) {
		active = c.carried()
	}
	failed := strategy != nil && upToDate.holds("Canary-Failed")
	if on(edsPromotedIsGood) && active == upToDate {
		failed = false
	}
	paused := upToDate.holds("Canary-Paused") || c.annotated("canary-paused") == "true"
	valid := c.annotated("canary-valid") == upToDate.Name && upToDate.Name != ""
	frozen := c.annotated("rollout-frozen") == "true"
	halted := frozen || c.annotated("rolling-update-paused") == "true"
	current := active
	switch {
	case active == nil, strategy == nil:
		current = upToDate
	case failed && on(edsFailedStays):
	case valid:
		current = upToDate
	case !paused && c.over(upToDate, on(edsMustRun)) && (!halted || !on(edsHaltedRests)):
		current = upToDate
	}
	d := edsDecision{active: edsImage(current.Spec.Template), created: created, image: edsImage(c.Input.Set.Spec.Template),
		state: "Running"}
	for _, r := range c.Input.ReplicaSets {
		if r != current && r != upToDate && r.unused(c.Input.Now) && !on(edsHistoryLimit) {
			d.deleted++
		}
	}
	switch {
	case frozen:
		d.state = "Rollout frozen"
		if on(edsHaltedRests) {
			d.created = 0
		}
	case halted:
		d.state = "RollingUpdate Paused"
	}
	switch {
	case failed:
		d.state = "Canary Failed"
		if !on(edsSpecIsTheUsers) {
			d.image = d.active
		}
	case strategy == nil:
		if left := c.Input.Set.Status.Canary; left != nil && !on(edsLeftInStatus) {
			d.trial = c.imageOf(left.ReplicaSet)
		}
	case current == upToDate:
	case c.tooFew(upToDate) && !on(edsTooFew):
		deleted := d.deleted
		d = c.unchanged("unable")
		d.deleted = deleted
	default:
		d.trial, d.state = edsImage(upToDate.Spec.Template), "Canary"
		if paused {
			d.state = "Canary Paused"
		}
	}
	return d
}

// carried returns the replica set whose pods run, or once ran, in the cluster that we make up for a recording without an active
// one. The history of that cluster has it. There is none if more nodes have the pods of the set's template than a canary would.
func (c *edsReconcile) carried() *edsReplicaSet {
	update, runs := c.upToDate(), int32(len(c.Input.Nodes)-c.tainted())
	if o := c.options(); o != nil && update != nil && !update.holds("Canary-Failed") {
		if chosen := int32(len(c.chosen(update))); chosen == runs && chosen > canary.Size(*o, runs) {
			return nil // its pods are everywhere
		}
	}
	for _, r := range slices.Backward(c.Input.ReplicaSets) {
		if r != update {
			return r
		}
	}
	return nil
}

// unused reports whether the replica set counts no node, and has not failed in the last two minutes.
func (r *edsReplicaSet) unused(now time.Time) bool {
	return r.Status.Desired == 0 &&
		(!r.holds("Canary-Failed") || now.Sub(r.condition("Canary-Failed").LastTransitionTime.Time) >= 2*time.Minute)
}

// tooFew reports whether the controller needs canary nodes, and does not find enough, whatever the order in which it sees the nodes.
// A node that it has chosen stays so as long as the pod fits there, or if it does not exist.
func (c *edsReconcile) tooFew(upToDate *edsReplicaSet) bool {
	s := c.Input.Set.Spec.Strategy.Canary
	var have []string
	if chosen := c.Input.Set.Status.Canary; chosen != nil {
		have = chosen.Nodes
	}
	if peer.Scaled(s.Replicas, c.Input.Set.Status.Desired, 1) == len(have) {
		return false // it does not look for any
	}
	selector, err := metav1.LabelSelectorAsSelector(s.NodeSelector)
	if s.NodeSelector == nil || err != nil {
		selector = labels.Everything() // a selector that cannot be read is logged
	}
	found, fitting, chosen := len(have), map[string]int{}, map[string]int{}
	for _, n := range c.Input.Nodes {
		if !selector.Matches(labels.Set(n.Labels)) {
			continue
		}
		of, fits, has := s.antiAffinityOf(n), len(n.Spec.Taints) == 0, slices.Contains(have, n.Name)
		chosen[of] += 0 // the values of all nodes share the canary, of those that do not run the pod, too
		switch {
		case has && fits:
			chosen[of]++
		case has:
			found--
		case fits:
			fitting[of]++
		}
	}
	wanted := peer.Scaled(s.Replicas, upToDate.Status.Desired, 1)
	for of, count := range fitting {
		if len(s.NodeAntiAffinityKeys) > 0 {
			values := len(chosen)
			count = min(count, max(0, (wanted+values-1)/values-chosen[of]))
		}
		found += count
	}
	return found < wanted
}

// antiAffinityOf returns what nodes that share as few canaries as possible have in common.
func (s *edsCanary) antiAffinityOf(n *corev1.Node) string {
	var values []string
	for _, key := range s.NodeAntiAffinityKeys {
		values = append(values, n.Labels[key])
	}
	return strings.Join(values, "$")
}

// over reports whether the canary has lasted long enough by the controller's clock. With mustRun it must also have run for all
// that time, as our clock requires.
func (c *edsReconcile) over(r *edsReplicaSet, mustRun bool) bool {
	s := c.Input.Set.Spec.Strategy.Canary
	o := c.options()
	if s.ValidationMode == "manual" || s.ValidationMode == "" && o.Mode == canary.Manual {
		return false
	}
	end := r.CreationTimestamp.Add(*o.Duration)
	if last := r.condition("PodRestarting"); last != nil {
		if calm := last.LastUpdateTime.Add(*o.NoRestartsDuration); calm.After(end) {
			end = calm
		}
	}
	if mustRun {
		return c.ran(r) && !r.holds("Canary-Paused") && !end.After(c.Input.Now)
	}
	return end.Before(c.Input.Now)
}

// ran reports whether pods of the replica set have run on all canary nodes since it was created, in the cluster that we make up.
// There they run on the nodes that the status of the set names.
func (c *edsReconcile) ran(r *edsReplicaSet) bool {
	return c.options() != nil && r.Name != "" && len(c.chosen(r)) >= int(canary.Size(*c.options(),
		int32(len(c.Input.Nodes)-c.tainted())))
}

// chosen returns the canary nodes that the status names for the replica set.
func (c *edsReconcile) chosen(r *edsReplicaSet) (names []string) {
	s := c.Input.Set.Status.Canary
	if s == nil || s.ReplicaSet != r.Name {
		return nil
	}
	for _, n := range c.Input.Nodes {
		if slices.Contains(s.Nodes, n.Name) && len(n.Spec.Taints) == 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// tainted returns how many nodes do not run the pod.
func (c *edsReconcile) tainted() (number int) {
	for _, n := range c.Input.Nodes {
		number += int(count(len(n.Spec.Taints) > 0))
	}
	return number
}

// options returns the options of the canary, with defaults; nil if there is none.
func (c *edsReconcile) options() *canary.Options {
	s := c.Input.Set.Spec.Strategy.Canary
	if s == nil {
		return nil
	}
	o := canary.Options{Replicas: s.Replicas, Mode: canary.Mode(s.ValidationMode)}
	if o.Mode == "" {
		o.Mode = canary.Mode(c.Input.DefaultMode)
	}
	if s.Duration != nil {
		o.Duration = &s.Duration.Duration
	}
	if s.NoRestartsDuration != nil {
		o.NoRestartsDuration = &s.NoRestartsDuration.Duration
	}
	if s.AutoPause != nil {
		o.AutoPause.MaxRestarts = s.AutoPause.MaxRestarts
	}
	if s.AutoFail != nil {
		o.AutoFail.MaxRestarts = s.AutoFail.MaxRestarts
	}
	return new(o.Default())
}

// TestConformanceEDSReconcileModel compares the model with what was recorded.
func TestConformanceEDSReconcileModel(t *testing.T) {
	for _, c := range edsLines[edsReconcile](t, "eds-reconcile") {
		if got, want := c.outcome(0), c.recorded(); got != want {
			t.Errorf("%s %v:\n got %+v\nwant %+v", c.Name, c.Features, got, want)
		}
	}
}
