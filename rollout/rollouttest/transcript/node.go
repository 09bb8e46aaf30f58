package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		for _, label := range labels {
			relabel(n, label)
		}
		for _, taint := range taints {
			retaint(n, taint)
		}
		s.setNode(n)
	}
	return nil
}

// node: node add NAME [label=k=v,…] [taint=k=v:Effect], node add 200 (n001 and so on), node remove NAME, node label NAME k=v|k-,
// node taint NAME k=v:Effect|k-, node annotate NAME k=v|k-, node cordon|uncordon|drain NAME, node down|up NAME,
// node unreachable|reachable NAME.
func (s *stage) node(a *arguments) error {
	verb, name := a.next(), a.next()
	if count, err := strconv.Atoi(name); err == nil && verb == "add" {
		for i := range count {
			s.setNode(kit.Node(fmt.Sprintf("n%03d", i+1)))
		}
		return nil
	}
	old := s.nodes[name]
	if (old == nil) != (verb == "add") {
		return fmt.Errorf("there is no node %s, or there is one already", name)
	}
	switch verb {
	case "add":
		n := kit.Node(name)
		for _, label := range a.list("label") {
			relabel(n, label)
		}
		for _, taint := range a.list("taint") {
			retaint(n, taint)
		}
		s.setNode(n)
	case "remove":
		delete(s.nodes, name)
		delete(s.down, name)
		s.cluster.RemoveNode(name)
	case "label":
		s.changeNode(name, func(n *corev1.Node) { relabel(n, a.next()) })
	case "taint":
		s.changeNode(name, func(n *corev1.Node) { retaint(n, a.next()) })
	case "annotate":
		s.changeNode(name, func(n *corev1.Node) { reannotate(n, a.next()) })
	case "cordon":
		s.changeNode(name, kit.Cordoned())
	case "uncordon":
		s.changeNode(name, kit.Uncordoned())
	case "drain":
		s.drain(name)
	case "unreachable":
		s.unreachable(name)
	case "reachable":
		s.reachable(name)
	case "down":
		s.changeNode(name, kit.NotReady())
		s.down[name] = true
		return s.hold()
	case "up":
		fresh := kit.Node(name)
		s.changeNode(name, func(n *corev1.Node) {
			n.Status = fresh.Status
			retaint(n, corev1.TaintNodeNotReady+"-")
		})
		delete(s.down, name)
	default:
		return fmt.Errorf("there is no node command %s", verb)
	}
	return nil
}

func (s *stage) setNode(n *corev1.Node) {
	s.nodes[n.Name] = n
	s.cluster.SetNode(n)
}

func (s *stage) changeNode(name string, change func(*corev1.Node)) {
	n := s.nodes[name].DeepCopy()
	change(n)
	s.setNode(n)
}

func relabel(object metav1.Object, label string) {
	labels := object.GetLabels()
	if key, ok := strings.CutSuffix(label, "-"); ok {
		delete(labels, key)
		return
	}
	key, value, _ := strings.Cut(label, "=")
	labels[key] = value
}

func reannotate(n *corev1.Node, annotation string) {
	if key, ok := strings.CutSuffix(annotation, "-"); ok {
		delete(n.Annotations, key)
		return
	}
	key, value, _ := strings.Cut(annotation, "=")
	kit.NodeAnnotation(key, value)(n)
}

func retaint(n *corev1.Node, taint string) {
	if key, ok := strings.CutSuffix(taint, "-"); ok {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		return
	}
	taint, effect, _ := strings.Cut(taint, ":")
	key, value, _ := strings.Cut(taint, "=")
	kit.Taint(key, value, corev1.TaintEffect(effect))(n)
}
