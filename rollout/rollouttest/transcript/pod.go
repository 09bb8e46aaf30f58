package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// onPod is the command that does to a pod what "pod VERB POD" does.
func onPod(verb string) func(*stage, *arguments) error {
	return func(s *stage, a *arguments) error {
		*a = append(arguments{verb}, *a...)
		return s.pod(a)
	}
}

// pod: pod add NODE name=x [revision=r1] [owner=none] [created=-2h] [state=ready|started|pending],
// pod delete|ready|unready|fail|crash|evict POD, pod label POD k=v|k-, pod finalizer POD name|name-.
//
// POD is the name of a pod, or of a node that holds just one. delete is what kubectl delete does, fail lets the pod Fail,
// unready its readiness probe, until ready lets it succeed: that also starts a pod at once that is bound. crash ends its first
// container once, evict is what a kubelet does that is short of memory. label and finalizer are for a user's controller that
// sees to hooks by hand.
func (s *stage) pod(a *arguments) error {
	verb, name := a.next(), a.next()
	if verb == "add" {
		return s.addPod(a, name)
	}
	p, err := s.findPod(name)
	if err != nil {
		return err
	}
	switch verb {
	case "crash", "evict":
		if does := map[string]func(string) bool{"crash": s.cluster.Crash, "evict": s.cluster.Evict}[verb]; !does(p.Name) {
			return errors.New("the pod does not run")
		}
		return nil
	}
	p = p.DeepCopy()
	switch verb {
	case "delete":
		kit.Terminating(s.cluster.Now())(p)
	case "fail":
		kubelet.Fail(p, s.cluster.Now())
	case "ready":
		if p.Spec.NodeName == "" || lifecycle.Terminal(p) {
			return errors.New("the pod does not run")
		}
		kit.Ready(s.cluster.Now())(p)
		delete(s.failing, p.UID)
	case "unready":
		p.Status.Phase = corev1.PodRunning
		kubelet.Unready(p, s.cluster.Now())
		for _, c := range p.Status.ContainerStatuses {
			kubelet.SetContainerReady(p, c.Name, false)
		}
		s.failing[p.UID] = true
	case "label":
		if err := relabel(p, a.next()); err != nil {
			return err
		}
	case "finalizer":
		name := a.next()
		rest, off := strings.CutSuffix(name, "-")
		if rest == "" {
			return errors.New("which finalizer is not said")
		}
		p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == rest })
		if !off {
			p.Finalizers = append(p.Finalizers, name)
		}
	default:
		return fmt.Errorf("there is no pod command %s", verb)
	}
	s.cluster.SetPod(p)
	return nil
}

func (s *stage) addPod(a *arguments, node string) error {
	options := []kit.PodOption{kit.Of(s.cluster.Spec()), kit.OnNode(node)}
	switch state := a.named("state"); state {
	case "", "ready":
	case "started":
		options = append(options, kit.Ready(s.cluster.Now()))
	case "pending":
		options = append(options, kit.PinnedTo(node))
	default:
		return fmt.Errorf("unknown state %s", state)
	}
	if revision := a.named("revision"); revision != "" {
		hash := s.hashed(revision)
		if s.hashes[hash] == "" {
			return fmt.Errorf("there is no revision %s", revision)
		}
		options = append(options, kit.AtRevision(hash))
	}
	name := a.named("name")
	if node == "" || name == "" {
		return errors.New("a pod is added to a node, and has a name")
	}
	p := kit.Pod(name, options...)
	switch owner := a.named("owner"); owner {
	case "":
	case "none":
		p.OwnerReferences = nil
	default:
		return fmt.Errorf("unknown owner %s", owner)
	}
	created, err := a.duration("created")
	if err != nil {
		return err
	}
	kit.Created(s.cluster.Now().Add(created))(p)
	s.cluster.SetPod(p)
	return nil
}

func (s *stage) findPod(name string) (*corev1.Pod, error) {
	var found []*corev1.Pod
	for _, p := range s.cluster.Snapshot().Pods {
		if node, _ := placement.TargetNode(p); p.Name == name || node == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d pods are called so or are on a node called so", len(found))
	}
	return found[0], nil
}
