package verify

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// kept is what a [Verifier] has from the snapshot before. It depends on nothing but the spec and the objects.
type kept struct {
	terms *terms
	nodes table[string, corev1.Node, nodeRecord, *nodeRecord]
	pods  table[types.UID, corev1.Pod, podRecord, *podRecord]
	// byName are the nodes in the order of their names, and kinds theirs, at the same places.
	byName []*nodeRecord
	kinds  []kind
	strays podList // the pods of no node, or of one that is not in the snapshot
	// templates are those of revisions, as they were asked for; nil: it cannot be read.
	templates map[*appsv1.ControllerRevision]*corev1.PodTemplateSpec

	room room
}

// template is the template of a revision of the snapshot; nil: it cannot be read. To decode it is a large part of a check.
func (k *kept) template(revision *appsv1.ControllerRevision) *corev1.PodTemplateSpec {
	template, ok := k.templates[revision]
	if !ok {
		template, _ = history.Template(revision)
		if k.templates == nil {
			k.templates = make(map[*appsv1.ControllerRevision]*corev1.PodTemplateSpec)
		}
		k.templates[revision] = template
	}
	return template
}

// room is where the records of one plan are made, in the place of those of the plan before.
type room struct {
	ofNodes     []node
	listOfNodes []*node
	ofPods      []pod
	listOfPods  []*pod
	podsOfNodes []*pod
	statements  []statement
	picks       []pick
	apart       []bool
}

// nodeRecord is what is kept of a node, and what this plan makes of it.
type nodeRecord struct {
	entry[corev1.Node]
	nodeFacts
	pods  podList // that are of it (P7)
	place int     // in the order of the names
	node  *node   // nil: it is not judged by itself
}

// podRecord is what is kept of a pod, and what this plan makes of it.
type podRecord struct {
	entry[corev1.Pod]
	podFacts
	known        bool        // it is in a list
	on           *nodeRecord // nil: a stray
	before, next *podRecord  // in the list
	pod          *pod        // nil: it is not judged by itself
}

// podList is a list of pods in no order that means anything. Whatever there are on a node, one comes or goes at the same cost.
type podList struct {
	first *podRecord
	count int
}

func (l *podList) add(r *podRecord) {
	if r.next = l.first; r.next != nil {
		r.next.before = r
	}
	l.first = r
	l.count++
}

func (l *podList) remove(r *podRecord) {
	if r.next != nil {
		r.next.before = r.before
	}
	if r.before != nil {
		r.before.next = r.next
	} else {
		l.first = r.next
	}
	r.before, r.next = nil, nil
	l.count--
}

// nodeFacts are what the object of a node says under the spec, whatever else there is.
type nodeFacts struct {
	name string
	// tried is the outcome by the template of the update revision, wherever the node is to end; triedTainted: a taint makes it
	// Leave.
	tried        placement.Outcome
	triedTainted bool
	cutOff       bool // it is unreachable (B8)
	concerned    bool // something overrides something there (P8)
	selected     bool // by the nodeSelector of the strategy (T3)
	undeclared   bool // it does not declare what a pod of the update revision needs (T9)
	outageFacts
	part part   // of the stages of the policy (T8)
	cell string // what tells it from others for the policy: the values of the domains that select it (B10), and its part
}

// podFacts are what the object of a pod says under the spec, whatever else there is, and whenever it is asked.
type podFacts struct {
	name string // of its node (P7); empty: not attributable
	hash string // of its revision; empty: none, or another set's
	// numbered: the deprecated generation tells whether it is of the update revision, and isNumber whether it is (R5).
	numbered, isNumber bool
	inherited          bool      // it is of the set that this one takes over from
	isDeleted          bool      // it is marked for deletion in the snapshot
	gone               time.Time // when it is to be gone then
	terminal           bool      // Failed or Succeeded
	failed             bool      // Failed
	ready              bool      // as B5 has it
	readySince         time.Time // by its condition; zero: that has none
	complete           bool      // its update in place is (I5), if there was any
	digest             string    // of overridden resources that it was created with (P8)
	unschedulable      bool      // the scheduler finds no room for it (B8)
	leaving            bool      // labelled as PreparingDelete (L2)
	preparing          bool      // labelled as PreparingUpdate (L3)
}

// read reads the objects that are new or have changed, and brings the records up to date.
func (v *verifier) read() {
	v.observeHistory()
	v.updates, v.newest = v.updateRevision()
	k := v.kept
	maps.DeleteFunc(k.templates, func(revision *appsv1.ControllerRevision, _ *corev1.PodTemplateSpec) bool {
		return !slices.Contains(v.snapshot.Revisions, revision)
	})
	for _, r := range k.nodes.changed {
		r.nodeFacts = v.readNode(r.object)
	}
	regroups := k.nodes.added || len(k.nodes.dropped) > 0
	if !regroups {
		for _, r := range k.pods.dropped {
			k.remove(r)
		}
		for _, r := range k.pods.changed {
			k.remove(r)
		}
	}
	k.nodes.forget()
	k.pods.forget()
	for _, r := range k.pods.changed {
		r.podFacts = v.readPod(r.object)
	}
	if regroups {
		k.regroup()
		return
	}
	for _, r := range k.pods.changed {
		k.add(r)
	}
	for _, r := range k.nodes.changed {
		k.settle(r)
	}
}

// add puts a pod among those of its node.
func (k *kept) add(r *podRecord) {
	r.known, r.on = true, k.nodes.byKey[r.name]
	k.listOf(r).add(r)
	k.settle(r.on)
}

// remove takes a pod out of the list in which it is, if any.
func (k *kept) remove(r *podRecord) {
	if !r.known {
		return
	}
	k.listOf(r).remove(r)
	k.settle(r.on)
	r.known, r.on = false, nil
}

func (k *kept) listOf(r *podRecord) *podList {
	if r.on == nil {
		return &k.strays
	}
	return &r.on.pods
}

// regroup begins anew with the places of the nodes and the pods of each, because there are other nodes than before.
func (k *kept) regroup() {
	k.byName = append(k.byName[:0], k.nodes.records...)
	slices.SortFunc(k.byName, func(a, b *nodeRecord) int { return cmp.Compare(a.name, b.name) })
	k.kinds = resized(k.kinds, len(k.byName))
	for i, r := range k.byName {
		r.place, r.pods = i, podList{}
	}
	k.strays = podList{}
	for _, r := range k.pods.records {
		r.before, r.next = nil, nil
		r.known, r.on = true, k.nodes.byKey[r.name]
		k.listOf(r).add(r)
	}
	for _, r := range k.byName {
		k.settle(r)
	}
}

func (v *verifier) readNode(object *corev1.Node) nodeFacts {
	facts := nodeFacts{
		name:      object.Name,
		cutOff:    isCutOff(object),
		concerned: v.overrides.concerns(object),
		selected:  v.nodeSelector.Matches(labels.Set(object.Labels)),

		undeclared:  !declaresAll(object, v.features),
		outageFacts: v.readOutage(object),
	}
	facts.part = v.partOf(object)
	facts.cell = v.cellOf(object) + v.cellOfPart(facts.part)
	facts.tried, facts.triedTainted = v.place(object)
	return facts
}
