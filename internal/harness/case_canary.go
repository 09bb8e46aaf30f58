package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// What a scenario has of what the Datadog ExtendedDaemonSet adds, in words.

func (s Case) writeCanary(b *strings.Builder) {
	strategy := s.Spec.Strategy
	if o := strategy.Canary; o != nil {
		d := o.Default()
		fmt.Fprintf(b, " canary{%s %s", d.Replicas, d.Mode)
		for _, d := range []struct {
			name string
			set  *time.Duration
		}{
			{"duration", d.Duration}, {"noRestarts", d.NoRestartsDuration}, {"maxSlowStart", d.AutoPause.MaxSlowStartDuration},
			{"maxRestartsDuration", d.AutoFail.MaxRestartsDuration}, {"timeout", d.AutoFail.CanaryTimeout},
		} {
			if d.set != nil {
				fmt.Fprintf(b, " %s=%v", d.name, *d.set)
			}
		}
		if d.NodeSelector != nil {
			fmt.Fprintf(b, " on{%s}", metav1.FormatLabelSelector(d.NodeSelector))
		}
		if len(d.NodeAntiAffinityKeys) > 0 {
			fmt.Fprintf(b, " spread%v", d.NodeAntiAffinityKeys)
		}
		fmt.Fprintf(b, " pause=%v>%d fail=%v>%d", !d.AutoPause.Disabled, *d.AutoPause.MaxRestarts,
			!d.AutoFail.Disabled, *d.AutoFail.MaxRestarts)
		for _, command := range [][2]string{
			{"pause", d.Commands.Pause}, {"unpause", d.Commands.Unpause}, {"validate", d.Commands.Validate},
			{"fail", d.Commands.Fail}, {"retry", d.Commands.Retry},
		} {
			if command[1] != "" {
				fmt.Fprintf(b, " %s!%s", command[0], command[1])
			}
		}
		b.WriteByte('}')
	}
	if slow := strategy.SlowStart; slow != nil {
		fmt.Fprintf(b, " slowStart{%v %v %v}", slow.Interval, slow.Increase, slow.MaxParallel)
	}
	if q := strategy.MaxUnschedulable; q != nil {
		fmt.Fprintf(b, " maxUnschedulable=%s", q)
	}
	s.writeOutages(b)
	for _, o := range s.Spec.Overrides {
		fmt.Fprintf(b, " override %s{%s -%v", o.Name, metav1.FormatLabelSelector(&o.NodeSelector), s.Snapshot.Now.Sub(o.Created))
		for _, name := range sortedKeys(o.Containers) {
			fmt.Fprintf(b, " %s", containers([]corev1.Container{{Name: name, Resources: o.Containers[name]}}))
		}
		b.WriteByte('}')
	}
}

func (w writer) marks(r *appsv1.ControllerRevision) {
	for _, key := range []string{
		history.PromotedAnnotation, history.FailedAnnotation, history.RetriedAnnotation, history.CompletedAnnotation,
	} {
		if value, ok := r.Annotations[key]; ok {
			fmt.Fprintf(w, " %s=%q", key, value)
		}
	}
}

func (w writer) overrides(n *corev1.Node) {
	for _, key := range sortedKeys(n.Annotations) {
		if container, ok := strings.CutPrefix(key, placement.OverrideAnnotationPrefix); ok {
			fmt.Fprintf(w, " resources{%s %s}", container, n.Annotations[key])
		}
	}
}

func (w writer) trial(p *corev1.Pod) {
	if digest, ok := p.Annotations[placement.DigestAnnotation]; ok {
		fmt.Fprintf(w, " digest=%s", digest)
	}
	if value, ok := p.Labels[rollout.CanaryLabel]; ok {
		fmt.Fprintf(w, " canary=%s", value)
	}
	if p.Status.StartTime != nil {
		fmt.Fprintf(w, " started -%v", w.now.Sub(p.Status.StartTime.Time))
	}
	for _, status := range p.Status.ContainerStatuses {
		if status.RestartCount > 0 {
			fmt.Fprintf(w, " restarts{%s %d", status.Name, status.RestartCount)
			if ended := status.LastTerminationState.Terminated; ended != nil {
				fmt.Fprintf(w, " %s -%v", ended.Reason, w.now.Sub(ended.FinishedAt.Time))
			}
			w.WriteByte('}')
		}
		if waiting := status.State.Waiting; waiting != nil {
			fmt.Fprintf(w, " waits{%s %s}", status.Name, waiting.Reason)
		}
	}
	if kubelet.ConditionStatus(p, corev1.PodScheduled) == corev1.ConditionFalse {
		w.WriteString(" unschedulable")
	}
	if p.Status.Reason != "" {
		fmt.Fprintf(w, " %s", p.Status.Reason)
	}
}

func (w writer) record(m rollout.Memory) {
	if m.Rollout.Stable != "" {
		fmt.Fprintf(w, " stable=%q", w.hash(m.Rollout.Stable))
	}
	if m.Canary.Revision == "" && len(m.Canary.Nodes) == 0 {
		return
	}
	text, err := json.Marshal(m.Canary)
	if err == nil { // it is: a record always encodes
		fmt.Fprintf(w, " canary%s", text)
	}
}
