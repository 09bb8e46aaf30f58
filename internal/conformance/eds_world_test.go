package conformance_test

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
)

// edsRole is the role of the recorded replica set in its set.
type edsRole uint8

const (
	edsActive      edsRole = iota // the only one
	edsStable                     // the active one, while another is tried
	edsOnTrial                    // the one on trial
	edsUndecided                  // no role: nothing is active
	edsSuperseded                 // no role: another one is active
	edsFilterAlone                // a recording of the filter, in which roles do not matter
)

// edsWorld is the content of a recording, read naively. The replica set that is reconciled is called "this", and one of which
// only the name is known "other".
type edsWorld struct {
	*edsCase
	role  edsRole
	nodes []*edsNode // by name; includes nodes that do not exist
}

// edsNode is a node with its pods.
type edsNode struct {
	name   string
	object *corev1.Node // nil: it does not exist
	// theirs and ours are whether the node runs the pod, with the tolerations that the controller adds and with those that we
	// add.
	theirs, ours placement.Outcome
	ignored      bool // the filter ignores the node
	canary       bool
	setting      *edsSetting
	pods         []*corev1.Pod // in the order of the recording
	given        bool          // the recording begins after the filter,
	kept         *corev1.Pod   // which kept this one
}

// edsTolerations are the tolerations that the controller adds, for any value and time.
var edsTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

func newEDSWorld(t *testing.T, c *edsCase, role edsRole) *edsWorld {
	t.Helper()
	w := &edsWorld{edsCase: c, role: role}
	matcher, _ := placement.Compile(&c.Input.Replica.Spec.Template)
	byName := make(map[string]*edsNode)
	for _, object := range c.Input.Nodes {
		n := &edsNode{
			name: object.Name, object: object, ours: matcher.Evaluate(object).Outcome,
			theirs:  edsPlacement(matcher, c.Input.Replica.Spec.Template.Spec.Tolerations, object),
			ignored: slices.Contains(c.Input.IgnoredNodes, object.Name),
			setting: c.Input.SettingByNode[object.Name],
		}
		if s := c.Input.Replica.Spec.Selector; s != nil {
			if selector, err := metav1.LabelSelectorAsSelector(s); err != nil || !selector.Matches(labels.Set(object.Labels)) {
				n.ours, n.theirs = placement.Leave, placement.Leave
			}
		}
		for _, s := range c.Input.Settings {
			if selector, err := metav1.LabelSelectorAsSelector(&s.Spec.NodeSelector); err == nil && n.setting == nil &&
				selector.Matches(labels.Set(object.Labels)) {
				n.setting = s
			}
		}
		byName[n.name] = n
	}
	canaries := c.Input.CanaryNodes
	if trial := c.Input.Set.Status.Canary; trial != nil {
		canaries = trial.Nodes
	}
	for _, name := range canaries {
		if n := byName[name]; n != nil {
			n.canary = role == edsStable || role == edsOnTrial
			n.ignored = n.ignored || role == edsStable
		}
	}
	add := func(name string, p *corev1.Pod) *edsNode {
		if byName[name] == nil {
			byName[name] = &edsNode{name: name, ours: placement.Leave, theirs: placement.Leave}
		}
		byName[name].pods = append(byName[name].pods, p)
		return byName[name]
	}
	for _, name := range slices.Sorted(maps.Keys(c.Input.PodByNode)) {
		byName[name].given = true
		if p := c.Input.PodByNode[name]; p != nil {
			add(name, p).kept = p
		}
	}
	for _, p := range slices.Concat(c.Input.PodsToCleanUp, c.Input.Pods) {
		if name, ok := placement.TargetNode(p); ok {
			add(name, p)
		}
	}
	w.nodes = slices.SortedFunc(maps.Values(byName), func(a, b *edsNode) int { return cmp.Compare(a.name, b.name) })
	return w
}

// edsPlacement returns whether the node runs the pod, with the tolerations that the controller adds.
func edsPlacement(matcher *placement.Matcher, own []corev1.Toleration, node *corev1.Node) placement.Outcome {
	bare := node.DeepCopy()
	bare.Spec.Taints = nil
	if matcher.Evaluate(bare).Outcome != placement.Run {
		return placement.Leave
	}
	outcome := placement.Run
	for _, taint := range node.Spec.Taints {
		tolerated := slices.ContainsFunc(slices.Concat(own, edsTolerations), func(t corev1.Toleration) bool {
			return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
				(t.Operator == corev1.TolerationOpExists ||
					(t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == taint.Value)
		})
		switch {
		case tolerated || taint.Effect == corev1.TaintEffectPreferNoSchedule:
		case taint.Effect == corev1.TaintEffectNoExecute:
			return placement.Leave
		default:
			outcome = placement.Keep
		}
	}
	return outcome
}

// edsRoleOf returns the role of the replica set by the status of the set.
func edsRoleOf(c *edsCase) edsRole {
	status, name := c.Input.Set.Status, c.Input.Replica.Name
	switch {
	case status.ActiveReplicaSet == "":
		return edsUndecided
	case status.ActiveReplicaSet == name && status.Canary != nil:
		return edsStable
	case status.ActiveReplicaSet == name:
		return edsActive
	case status.Canary != nil && status.Canary.ReplicaSet == name:
		return edsOnTrial
	default:
		return edsSuperseded
	}
}

// edsReady reports whether a pod is Ready. The controller checks nothing else.
func edsReady(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// edsStuck reports whether the controller takes the pod for stuck: the pod has not been bound for ten minutes, or is still there
// its grace period after the time at which it should have been gone.
func edsStuck(p *corev1.Pod, now time.Time) bool {
	if p.Spec.NodeName == "" && p.CreationTimestamp.Add(10*time.Minute).Before(now) {
		return true
	}
	grace := p.DeletionGracePeriodSeconds
	return marked(p) && grace != nil && p.DeletionTimestamp.Add(time.Duration(*grace)*time.Second).Before(now)
}

// edsUpToDate reports whether the controller considers the pod up to date for this replica set on the node.
func (w *edsWorld) edsUpToDate(n *edsNode, p *corev1.Pod) bool {
	nodeHash, has := p.Annotations[edsNodeHash]
	wanted := edsHashOf(n.object)
	return p.Annotations[edsHash] == w.Input.Replica.Spec.TemplateGeneration && p.Annotations[edsHash] != "" &&
		edsHasSetting(p, n.setting) && nodeHash == wanted && has == (wanted != "")
}

// edsResourceKey is the prefix of the annotations of nodes that give the set's containers other resources.
const edsResourceKey = "resources.extendeddaemonset.datadoghq.com/ns.agent."

// edsHashOf returns the hash of a node's resource annotations that the controller writes on pods.
func edsHashOf(node *corev1.Node) string {
	if node == nil {
		return ""
	}
	var all []string
	for key, value := range node.Annotations {
		if strings.HasPrefix(key, edsResourceKey) {
			all = append(all, key+"="+value)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	sum := md5.Sum([]byte(strings.Join(all, "")))
	return hex.EncodeToString(sum[:])
}

// edsHasSetting reports whether the pod has all resources that the setting names. It may have others, too.
func edsHasSetting(p *corev1.Pod, s *edsSetting) bool {
	if s == nil {
		return true
	}
	for _, c := range p.Spec.Containers {
		for _, wanted := range s.Spec.Containers {
			if wanted.Name != c.Name {
				continue
			}
			merged := c.Resources.DeepCopy()
			merged.Limits, merged.Requests = edsMerged(merged.Limits, wanted.Resources.Limits), edsMerged(merged.Requests,
				wanted.Resources.Requests)
			if !equality.Semantic.DeepEqual(*merged, c.Resources) {
				return false
			}
			break
		}
	}
	return true
}

func edsMerged(into, from corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range from {
		if into == nil {
			into = corev1.ResourceList{}
		}
		into[name] = quantity
	}
	return into
}

// edsWanted returns the resources that the node's container "agent" must get in place of the template's by P8. malformed reports
// that they cannot be read.
func edsWanted(n *edsNode) (wanted corev1.ResourceRequirements, malformed bool) {
	if n.setting != nil {
		for _, c := range n.setting.Spec.Containers {
			if c.Name == "agent" {
				wanted = c.Resources
			}
		}
	}
	if n.object == nil {
		return wanted, false
	}
	if value, ok := n.object.Annotations[edsResourceKey+"agent"]; ok {
		var own corev1.ResourceRequirements
		if json.Unmarshal([]byte(value), &own) != nil {
			return wanted, true
		}
		return own, false
	}
	return wanted, false
}

// edsGiven returns the resources that the pod was made with. If the pod has the hash of the node's annotation, they are the
// annotation's. With another hash they are not known.
func edsGiven(n *edsNode, p *corev1.Pod) (given corev1.ResourceRequirements, known bool) {
	if hash, ok := p.Annotations[edsNodeHash]; ok {
		if hash != edsHashOf(n.object) {
			return given, false
		}
		given, _ = edsWanted(n)
		return given, true
	}
	for _, c := range p.Spec.Containers {
		if c.Name == "agent" {
			given = c.Resources
		}
	}
	return given, true
}
