package harness

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// What a pod at rest should be like.

// wentBack is the hash of the stable revision if the update revision is marked as failed, and not as promoted; else it is
// empty.
func (c *Cluster) wentBack() string {
	if c.spec.Strategy.Canary == nil {
		return ""
	}
	failed, stable := false, (*appsv1.ControllerRevision)(nil)
	for _, revision := range c.revisions {
		_, rejected := revision.Annotations[history.FailedAnnotation]
		switch {
		case objects.Holds(revision, &c.spec.Template) && history.Promoted(revision):
			return ""
		case objects.Holds(revision, &c.spec.Template):
			failed = failed || rejected
		case history.Promoted(revision) && (stable == nil || revision.Revision > stable.Revision):
			stable = revision
		}
	}
	if !failed || stable == nil {
		return ""
	}
	return history.HashOf(stable)
}

// resourced reports whether the pod records the resources that are overridden for its node (P8). While an annotation cannot be
// read, whatever it records will do.
func (r *rest) resourced(p *corev1.Pod) bool {
	name, ok := placement.TargetNode(p)
	node := r.nodes[name]
	if !ok || node == nil {
		return true
	}
	by := objects.Effect(&r.spec, r.template(p), node)
	return len(by.Malformed) > 0 || p.Annotations[placement.DigestAnnotation] == by.Digest
}

// lacking returns the labels of the pod's revision that the pod has not got.
func (r *rest) lacking(p *corev1.Pod) map[string]string {
	labels := map[string]string{}
	for _, revision := range r.revisions {
		template, err := history.Template(revision)
		if err != nil || history.HashOf(revision) != objects.RevisionOf(p) {
			continue
		}
		for key, value := range template.Labels {
			if _, ok := p.Labels[key]; !ok {
				labels[key] = value
			}
		}
	}
	return labels
}

// template is the one that a pod at its node's target revision was made from.
func (r *rest) template(p *corev1.Pod) *corev1.PodTemplateSpec {
	if r.stable != "" {
		for _, revision := range r.revisions {
			if template, err := history.Template(revision); err == nil && history.HashOf(revision) == objects.RevisionOf(p) {
				return template
			}
		}
	}
	return &r.spec.Template
}

// finished tells what a pod at rest still waits for, or is not.
func (r *rest) finished(p *corev1.Pod) error {
	switch state := lifecycle.StateOf(p); state {
	case lifecycle.PreparingNormal, lifecycle.PreparingUpdate, lifecycle.Updating, lifecycle.Updated, lifecycle.PreparingDelete:
		return fmt.Errorf("which is still %s", state)
	case lifecycle.Normal, "":
	}
	if completion := inplace.Completed(p); !completion.Done {
		return fmt.Errorf("whose in-place update is not complete: %v", completion.Waits)
	}
	if r.updated[p.UID] && r.current(p) {
		return r.asTemplate(p)
	}
	return nil
}

// asTemplate compares a pod that was updated in place with what a new one would be.
func (r *rest) asTemplate(p *corev1.Pod) error {
	template := r.template(p)
	like := &corev1.Pod{Spec: *template.Spec.DeepCopy()}
	anyResources := false
	if node := r.nodes[p.Spec.NodeName]; node != nil {
		by := objects.Effect(&r.spec, template, node)
		by.Apply(like)
		anyResources = len(by.Malformed) > 0 // a pod then keeps what it was made with (P8), whatever digest it records
	}
	hooked := map[string]bool{}
	hooks := r.spec.Lifecycle
	for _, hook := range []*lifecycle.Hook{hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal} {
		if hook != nil {
			for key := range hook.Labels {
				hooked[key] = true // its controller puts it on and takes it off
			}
		}
	}
	for _, key := range sortedKeys(template.Labels) {
		has, ok := p.Labels[key]
		want := template.Labels[key]
		lacked, missing := r.lacked[p.UID][key]
		if excused := !ok && (r.released[p.UID] || missing && lacked == want); has != want && !hooked[key] && !excused {
			return fmt.Errorf("which has label %s=%s instead of %s", key, has, want)
		}
	}
	for _, key := range sortedKeys(template.Annotations) {
		if want := template.Annotations[key]; p.Annotations[key] != want {
			return fmt.Errorf("which has annotation %s=%s instead of %s", key, p.Annotations[key], want)
		}
	}
	for i := range kubelet.Count(like) {
		want := kubelet.Container(like, i)
		at := 0
		for at < kubelet.Count(p) && kubelet.Container(p, at).Name != want.Name {
			at++
		}
		if at == kubelet.Count(p) {
			return fmt.Errorf("which has no container %s", want.Name)
		}
		switch has := kubelet.Container(p, at); {
		case has.Image != want.Image:
			return fmt.Errorf("whose container %s has image %s instead of %s", want.Name, has.Image, want.Image)
		case !anyResources && !objects.SameResources(want.Resources, has.Resources):
			return fmt.Errorf("whose container %s has resources %v instead of %v", want.Name, has.Resources, want.Resources)
		case len(kubelet.Resized(p, at)) > 0:
			return fmt.Errorf("whose container %s does not have the resources of its spec", want.Name)
		}
	}
	for _, want := range template.Spec.Tolerations {
		same := func(has corev1.Toleration) bool { return equality.Semantic.DeepEqual(has, want) }
		if !slices.ContainsFunc(p.Spec.Tolerations, same) {
			return fmt.Errorf("which lacks the toleration %v", want)
		}
	}
	return nil
}
