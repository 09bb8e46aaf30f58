package conformance_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// edsSpec decodes the set, with another template if there is one. The error is that of Decode or New.
func edsSpec(set edsSet, template *corev1.PodTemplateSpec) (rollout.Spec, error) {
	if template != nil {
		set.Spec.Template = *template
	}
	data, err := json.Marshal(set)
	if err != nil {
		return rollout.Spec{}, err
	}
	decoded, err := manifest.Decode(data)
	if err != nil {
		return rollout.Spec{}, err
	}
	_, err = rollout.New(decoded.Spec)
	return decoded.Spec, err
}

// template returns the template of the replica set, in one of three revisions. It has a container even if the recording has none.
// A node selector of the replica set is in the template.
func (w *edsWorld) template(revision string) *corev1.PodTemplateSpec {
	template := w.Input.Replica.Spec.Template.DeepCopy()
	if len(template.Spec.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "repo/agent"}}
	}
	template.Spec.Containers[0].Image = "repo/agent:" + revision
	if s := w.Input.Replica.Spec.Selector; s != nil {
		if template.Spec.NodeSelector == nil {
			template.Spec.NodeSelector = make(map[string]string)
		}
		maps.Copy(template.Spec.NodeSelector, s.MatchLabels)
	}
	return template
}

// edsTranslated is a recording as input of our planner.
type edsTranslated struct {
	spec     rollout.Spec
	snapshot rollout.Snapshot
	hashes   map[string]string // by name in the recording
}

// translate makes the recording input of our planner. The error is why the spec is refused.
func (w *edsWorld) translate(t *testing.T) (edsTranslated, error) {
	t.Helper()
	set := w.Input.Set
	if set.Kind == "" { // a recording of the filter has no set
		set.APIVersion, set.Kind, set.Name, set.Namespace = "datadoghq.com/v1alpha1", "ExtendedDaemonSet", "agent", "ns"
	}
	out := edsTranslated{hashes: make(map[string]string)}
	var err error
	if out.spec, err = edsSpec(set, w.template(w.update())); err != nil {
		return out, err
	}
	out.spec.Overrides = w.overrides()
	out.spec.UID = cmp.Or(out.spec.UID, "uid-set")
	if _, err := rollout.New(out.spec); err != nil {
		return out, err
	}
	if w.role == edsFilterAlone { // the plan must show at once which nodes are empty
		out.spec.Strategy.SlowStart = nil
	}
	if w.role == edsStable || w.role == edsOnTrial || w.triedBefore() {
		w.canaryOf(&out.spec)
	}
	for i, revision := range []string{edsOld, edsThis, edsNewer}[:2+count(w.update() == edsNewer)] {
		spec := out.spec
		spec.Template = *w.template(revision)
		spec.Template.Labels, spec.Template.Annotations = out.spec.Template.Labels, out.spec.Template.Annotations
		object := kit.Revision(spec, int64(i+1))
		if object == nil {
			_, err := rollout.New(spec)
			t.Fatalf("%s: no revision: %v", w.Name, err)
		}
		out.hashes[revision] = object.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if revision == w.promoted() {
			object.Annotations = map[string]string{history.PromotedAnnotation: "2026-01-01T00:00:00Z"}
		}
		if revision == w.update() && w.role == edsOnTrial && w.Input.Replica.holds("Canary-Failed") {
			object.Annotations = map[string]string{history.FailedAnnotation: "OOMKilled"}
		}
		out.snapshot.Revisions = append(out.snapshot.Revisions, object)
	}
	out.snapshot.Now = w.now()
	out.snapshot.Nodes = w.labelled()
	for _, n := range w.nodes {
		for _, p := range n.pods {
			out.snapshot.Pods = append(out.snapshot.Pods, w.pod(n, p, out.hashes, out.spec))
		}
	}
	for _, p := range w.Input.Pods {
		if _, ok := placement.TargetNode(p); !ok {
			out.snapshot.Pods = append(out.snapshot.Pods, w.pod(&edsNode{}, p, out.hashes, out.spec))
		}
	}
	out.snapshot.Memory = w.memory(out.hashes[w.update()])
	return out, nil
}

// promoted returns the revision that was promoted.
func (w *edsWorld) promoted() string {
	switch w.role {
	case edsStable:
		return edsThis
	case edsOnTrial:
		return edsOld
	default:
		return w.update()
	}
}

// canaryOf gives the spec a canary of as many nodes as the recording's canary has, but at least one.
func (w *edsWorld) canaryOf(spec *rollout.Spec) {
	if spec.Strategy.Canary == nil {
		spec.Strategy.Canary = new(canary.Options)
	}
	spec.Strategy.Canary.Replicas = new(intstr.FromInt32(max(1, int32(len(w.canaryNodes())))))
}

// triedBefore reports whether some pod has the label of a canary, so that the set must have a canary.
func (w *edsWorld) triedBefore() bool {
	return slices.ContainsFunc(w.nodes, func(n *edsNode) bool { return slices.ContainsFunc(n.pods, edsLabelled) })
}

func (w *edsWorld) canaryNodes() (names []string) {
	for _, n := range w.nodes {
		if n.canary && n.ours == placement.Run {
			names = append(names, n.name)
		}
	}
	return names
}

// memory returns the memory that corresponds to the recorded conditions.
func (w *edsWorld) memory(update string) rollout.Memory {
	memory := rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: update, Began: w.now()}}
	replica := &w.Input.Replica
	if replica.holds("Active") {
		memory.Rollout.Began = replica.condition("Active").LastTransitionTime.Time
	}
	if w.role == edsStable || w.role == edsOnTrial {
		memory.Canary = canary.Record{Revision: update, Began: w.now(), Nodes: w.canaryNodes()}
		if w.role == edsOnTrial && replica.holds("Canary-Paused") {
			memory.Canary.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts,
				At: w.now().Add(-time.Minute)}
		}
	}
	return memory
}

const edsSettingLabel = "setting"

// overrides returns the settings. Where the recording gives them by node, the nodes get a label for that.
func (w *edsWorld) overrides() (list []placement.Override) {
	settings := slices.Clone(w.Input.Settings)
	byNode := len(settings) == 0
	for _, n := range w.nodes {
		if n.setting != nil && !slices.ContainsFunc(settings, func(s *edsSetting) bool { return s.Name == n.setting.Name }) {
			settings = append(settings, n.setting)
		}
	}
	for _, s := range settings {
		o := placement.Override{Name: s.Name, NodeSelector: s.Spec.NodeSelector,
			Containers: make(map[string]corev1.ResourceRequirements)}
		if byNode {
			o.NodeSelector = metav1.LabelSelector{MatchLabels: map[string]string{edsSettingLabel: s.Name}}
		}
		for _, c := range s.Spec.Containers {
			o.Containers[c.Name] = c.Resources
		}
		list = append(list, o)
	}
	return list
}

func (w *edsWorld) labelled() (nodes []*corev1.Node) {
	for _, n := range w.nodes {
		object := n.object
		if object == nil {
			continue
		}
		if len(w.Input.Settings) == 0 && n.setting != nil {
			object = object.DeepCopy()
			object.Labels = map[string]string{edsSettingLabel: n.setting.Name}
		}
		nodes = append(nodes, object)
	}
	return nodes
}

// pod returns the pod as this library would have made it: with the hash of its revision, and the digest of its resources.
func (w *edsWorld) pod(n *edsNode, p *corev1.Pod, hashes map[string]string, spec rollout.Spec) *corev1.Pod {
	p = p.DeepCopy()
	p.UID = types.UID("uid-" + p.Name)
	kit.ControlledBy(spec)(p)
	if hash := hashes[w.newModel().revision(p)]; hash != "" {
		if p.Labels == nil {
			p.Labels = make(map[string]string)
		}
		p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	}
	if w.role == edsFilterAlone { // in these recordings all pods are up to date
		return p
	}
	given, known := edsGiven(n, p)
	digest := "unknown"
	if known {
		digest = ""
		if !equality.Semantic.DeepEqual(given, corev1.ResourceRequirements{}) {
			digest = placement.Digest([]placement.Resources{{Container: "agent", Resources: given}})
		}
	}
	if digest != "" {
		if p.Annotations == nil {
			p.Annotations = make(map[string]string)
		}
		p.Annotations[placement.DigestAnnotation] = digest
	}
	return p
}

func (w *edsWorld) newModel() *edsModel { return newEDSModel(w, 0) }

// update returns the revision that the whole set is to end at.
func (w *edsWorld) update() string {
	if w.role == edsStable || w.role == edsSuperseded {
		return edsNewer
	}
	return edsThis
}

// edsRefused is the field for which the recording is refused; empty if it is not.
func (c *edsCase) refused() string {
	template := &c.Input.Replica.Spec.Template
	for i, t := range template.Spec.Tolerations {
		if t.Key == "" && t.Operator != corev1.TolerationOpExists {
			return fmt.Sprintf("spec.template.spec.tolerations[%d].operator", i)
		}
	}
	if len(placement.Validate(template, nil)) > len(placement.Warnings(template, nil)) { // what the API server takes is planned for
		return "spec.template.spec.affinity.nodeAffinity"
	}
	for _, s := range c.Input.Settings {
		for _, container := range s.Spec.Containers {
			for name, limit := range container.Resources.Limits {
				if request, ok := container.Resources.Requests[name]; ok && request.Cmp(limit) > 0 {
					return "spec.overrides[0].containers[" + container.Name + "]"
				}
			}
		}
	}
	return edsRefused(&c.Input.Set)
}

// edsRefused returns the field for which the strategy of the set is refused; empty if it is not. Decode refuses the interval.
func edsRefused(set *edsSet) string {
	r := set.Spec.Strategy.RollingUpdate
	bad := func(q *intstr.IntOrString, least, most int) bool {
		return peer.Unfit(q, most) || q != nil && least > 0 && peer.Zero(q)
	}
	switch {
	case r.SlowStartIntervalDuration != nil && r.SlowStartIntervalDuration.Duration <= 0:
		return "spec.strategy.rollingUpdate.slowStartIntervalDuration"
	case bad(r.MaxUnavailable, 1, 100):
		return "spec.strategy.maxUnavailable"
	case bad(r.MaxPodSchedulerFailure, 0, math.MaxInt32):
		return "spec.strategy.maxUnschedulable"
	case r.MaxParallelPodCreation != nil && *r.MaxParallelPodCreation < 1:
		return "spec.strategy.slowStart.maxParallel"
	case bad(r.SlowStartAdditiveIncrease, 1, math.MaxInt32):
		return "spec.strategy.slowStart.increase"
	case set.Spec.Strategy.Canary != nil && bad(set.Spec.Strategy.Canary.Replicas, 1, math.MaxInt32):
		return "spec.strategy.canary.replicas" // the controller takes a canary of no node, and promotes it when its duration is over
	default:
		return ""
	}
}
