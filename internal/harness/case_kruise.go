package harness

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// What a scenario has of what OpenKruise's Advanced DaemonSet adds, in words.

func (s Case) writeKruise(b *strings.Builder) {
	strategy := s.Spec.Strategy
	if strategy.Method != "" {
		fmt.Fprintf(b, " %s", strategy.Method)
	}
	if objects.UpdatesInPlace(&s.Spec) {
		o := strategy.InPlace
		fmt.Fprintf(b, "{resize=%v env=%v cgroupV1=%v grace=%ds}", o.Resize, o.EnvFromMetadata, o.CgroupV1, o.GracePeriodSeconds)
	}
	for _, h := range []struct {
		name string
		hook *lifecycle.Hook
	}{
		{"preDelete", s.Spec.Lifecycle.PreDelete},
		{"inPlaceUpdate", s.Spec.Lifecycle.InPlaceUpdate},
		{"preNormal", s.Spec.Lifecycle.PreNormal},
	} {
		if h.hook != nil {
			fmt.Fprintf(b, " %s{%v %v marks=%v}", h.name, h.hook.Labels, h.hook.Finalizers, h.hook.MarkPodNotReady)
		}
	}
	if p := s.Spec.PreDownload; p != nil {
		d := p.Default()
		fmt.Fprintf(b, " preDownload{parallelism=%s minUpdatedReadyPods=%s timeout=%ds limit=%d}",
			d.Parallelism, d.MinUpdatedReadyPods, d.TimeoutSeconds, *d.BackoffLimit)
	}
	if Kruise(&s.Spec) {
		fmt.Fprintf(b, " template{%s}", containers(s.Spec.Template.Spec.Containers))
		meta := s.Spec.Template.ObjectMeta
		fmt.Fprintf(b, " labels=%v annotations=%v finalizers=%v", meta.Labels, meta.Annotations, meta.Finalizers)
	}
}

func (w writer) kruise(p *corev1.Pod) {
	if state := lifecycle.StateOf(p); state != "" {
		fmt.Fprintf(w, " state=%s", state)
	}
	if len(p.Finalizers) > 0 {
		fmt.Fprintf(w, " finalizers=%v", p.Finalizers)
	}
	if len(p.Spec.ReadinessGates) == 0 {
		return
	}
	fmt.Fprintf(w, " gates=%v labels=%v", p.Spec.ReadinessGates, p.Labels)
	fmt.Fprintf(w, " spec{%s}", containers(p.Spec.Containers))
	for _, status := range p.Status.ContainerStatuses {
		fmt.Fprintf(w, " runs{%s %s ready=%v}", status.Name, status.Image, status.Ready)
	}
	for _, key := range []string{inplace.StateKey, inplace.GraceKey} {
		if text, ok := p.Annotations[key]; ok {
			fmt.Fprintf(w, " %s", text)
		}
	}
}

func containers(list []corev1.Container) string {
	var words []string
	for i := range list {
		c := &list[i]
		word := []string{c.Name, c.Image}
		for _, part := range []struct {
			name string
			list corev1.ResourceList
		}{{"requests", c.Resources.Requests}, {"limits", c.Resources.Limits}} {
			for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if quantity, ok := part.list[name]; ok {
					word = append(word, fmt.Sprintf("%s.%s=%s", part.name, name, quantity.String()))
				}
			}
		}
		for _, env := range c.Env {
			word = append(word, "$"+env.Name)
		}
		words = append(words, strings.Join(word, " "))
	}
	return strings.Join(words, "; ")
}
