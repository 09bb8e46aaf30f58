package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/objects"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// join adds the nodes of the command fleet.
func (s *stage) join(a *arguments) error {
	word := a.next()
	count, err := strconv.Atoi(word)
	if err != nil || count < 1 {
		return fmt.Errorf("%s must be a number of nodes", word)
	}
	name := cmp.Or(a.named("name"), "n")
	zones, labels, taints := a.list("zones"), a.list("label"), a.list("taint")
	for i := range count {
		n := kit.Node(fmt.Sprintf("%s%03d", name, i+1))
		if s.nodes[n.Name] != nil {
			return fmt.Errorf("there is a node %s already", n.Name)
		}
		if len(zones) > 0 {
			kit.Label(corev1.LabelTopologyZone, zones[i%len(zones)])(n)
		}
		if err := prepare(n, labels, taints); err != nil {
			return err
		}
		s.setNode(n)
	}
	return nil
}

// prepare labels and taints a node that joins.
func prepare(n *corev1.Node, labels, taints []string) error {
	for _, label := range labels {
		if err := relabel(n, label); err != nil {
			return err
		}
	}
	for _, taint := range taints {
		if err := retaint(n, taint); err != nil {
			return err
		}
	}
	return nil
}

// node: node add NAME [label=k=v,…] [taint=k=v:Effect], node add 200 (n001 and so on), node remove NAME, node label NAME k=v|k-,
// node taint NAME k=v:Effect|k:Effect-|k-, node annotate NAME k=v|k-, node cordon|uncordon|drain NAME, node down|up NAME,
// node unreachable|reachable NAME, node depart|return NAME, node condition NAME type|type-, node kubelet NAME v1.37.2
// [declares=FEATURE,…].
func (s *stage) node(a *arguments) error {
	verb, name := a.next(), a.next()
	if count, err := strconv.Atoi(name); err == nil && verb == "add" {
		if count < 1 {
			return fmt.Errorf("%s must be a name or a number of nodes", name)
		}
		for i := range count {
			s.setNode(kit.Node(fmt.Sprintf("n%03d", i+1)))
		}
		return nil
	}
	switch known := s.nodes[name] != nil; {
	case name == "":
		return errors.New("which node is not said")
	case !known && verb != "add":
		return fmt.Errorf("there is no node %s", name)
	case known && verb == "add":
		return fmt.Errorf("there is a node %s already", name)
	}
	switch verb {
	case "add":
		n := kit.Node(name)
		if err := prepare(n, a.list("label"), a.list("taint")); err != nil {
			return err
		}
		s.setNode(n)
	case "remove":
		delete(s.nodes, name)
		delete(s.down, name)
		s.heed(name)
		s.cluster.RemoveNode(name)
	case "label":
		return s.tryNode(name, func(n *corev1.Node) error { return relabel(n, a.next()) })
	case "taint":
		return s.tryNode(name, func(n *corev1.Node) error { return retaint(n, a.next()) })
	case "annotate":
		return s.tryNode(name, func(n *corev1.Node) error { return reannotate(n, a.next()) })
	case "cordon":
		s.changeNode(name, kit.Cordoned())
	case "uncordon":
		s.changeNode(name, objects.Uncordoned())
	case "drain":
		s.drain(name)
	case "unreachable":
		s.changeNode(name, kit.Unreachable())
		s.changeNode(name, objects.NodeCondition(corev1.NodeReady, corev1.ConditionUnknown, s.cluster.Now()))
		s.silence(name)
		s.loseReadiness(name)
	case "down":
		s.changeNode(name, kit.NotReady())
		s.changeNode(name, objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, s.cluster.Now()))
		s.down[name] = true
		s.silence(name)
		return s.hold()
	case "up", "reachable":
		s.changeNode(name, objects.Recovered(s.cluster.Now()))
		delete(s.down, name)
		s.heed(name)
	case "condition":
		kind, isTrue := a.next(), corev1.ConditionTrue
		if cut, ends := strings.CutSuffix(kind, "-"); ends {
			kind, isTrue = cut, corev1.ConditionFalse
		}
		if kind == "" {
			return errors.New("which condition is not said")
		}
		s.changeNode(name, objects.NodeCondition(corev1.NodeConditionType(kind), isTrue, s.cluster.Now()))
	case "kubelet":
		version := a.next()
		if version == "" {
			return errors.New("which version its kubelet has is not said")
		}
		s.changeNode(name, kit.Kubelet(version, a.list("declares")...))
	case "depart":
		s.changeNode(name, objects.NodeCondition(maintenance, corev1.ConditionTrue, s.cluster.Now()))
	case "return":
		s.changeNode(name, objects.NodeCondition(maintenance, corev1.ConditionFalse, s.cluster.Now()))
	default:
		return fmt.Errorf("there is no node command %s", verb)
	}
	return nil
}

// maintenance is the condition of a node that somebody has taken out of service for a while, which makes it departing (M8).
const maintenance = corev1.NodeMaintenanceInProgress

func (s *stage) setNode(n *corev1.Node) {
	s.nodes[n.Name] = n
	s.cluster.SetNode(n)
}

func (s *stage) changeNode(name string, change func(*corev1.Node)) {
	n := s.nodes[name].DeepCopy()
	change(n)
	s.setNode(n)
}

// tryNode is changeNode for a change that may be refused.
func (s *stage) tryNode(name string, change func(*corev1.Node) error) error {
	n := s.nodes[name].DeepCopy()
	if err := change(n); err != nil {
		return err
	}
	s.setNode(n)
	return nil
}

// change splits key=value, or key- for one that is to go.
func change(text string) (key, value string, off bool, err error) {
	if key, ok := strings.CutSuffix(text, "-"); ok && key != "" && !strings.Contains(key, "=") {
		return key, "", true, nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return "", "", false, fmt.Errorf("%q must be key=value or key-", text)
	}
	return key, value, false, nil
}

func relabel(object metav1.Object, label string) error {
	key, value, off, err := change(label)
	switch {
	case err != nil:
		return err
	case off:
		delete(object.GetLabels(), key)
	case object.GetLabels() == nil:
		object.SetLabels(map[string]string{key: value})
	default:
		object.GetLabels()[key] = value
	}
	return nil
}

func reannotate(n *corev1.Node, annotation string) error {
	key, value, off, err := change(annotation)
	switch {
	case err != nil:
		return err
	case off:
		delete(n.Annotations, key)
	default:
		objects.NodeAnnotation(key, value)(n)
	}
	return nil
}

// retaint adds a taint, or takes one away as kubectl does: by its key, or by key and effect, whatever its value.
func retaint(n *corev1.Node, taint string) error {
	text, off := strings.CutSuffix(taint, "-")
	pair, name, named := strings.Cut(text, ":")
	key, value, valued := strings.Cut(pair, "=")
	effect := corev1.TaintEffect(name)
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	anyEffect := off && !named && !valued
	if key == "" || !anyEffect && !slices.Contains(effects, effect) {
		return fmt.Errorf("%q must be key=value:Effect, key:Effect or key-, key:Effect-", taint)
	}
	if !off {
		kit.Taint(key, value, effect)(n)
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool {
		return t.Key == key && (anyEffect || t.Effect == effect)
	})
	if len(left) == len(n.Spec.Taints) {
		return fmt.Errorf("node %s has no taint %s", n.Name, text)
	}
	n.Spec.Taints = left
	return nil
}
