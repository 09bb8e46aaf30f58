package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Pod is a pod in one line, as the kubectl plugin of ExtendedDaemonSet lists it.
type Pod struct {
	// Name of the pod; empty for a canary node without one.
	Name string
	// Node the pod is bound or pinned to (P7); empty if there is none.
	Node string
	// Revision is the name of the revision whose hash the pod carries, or the hash; empty if it carries none.
	Revision string
	// ReadyContainers is the number of ready ones among all Containers, without init containers. Waiting are the names of
	// those that are not ready.
	ReadyContainers, Containers int
	Waiting                     []string
	// Phase of the pod.
	Phase corev1.PodPhase
	// Reason is why the pod is not ready, or why there is no pod. Empty: the pod is ready.
	Reason string
	// Restarts of all containers, those of init containers included.
	Restarts int32
	// NodeReady is the condition Ready of the node: True, False or Unknown; empty if it has none, or does not exist.
	NodeReady corev1.ConditionStatus
	// Created is when the pod was created, Now the time at which its age is shown. Zero: not known.
	Created, Now time.Time
}

// CanaryPods returns the pods of the revision that is on trial, or has failed, terminating ones too, and a line for each
// canary node that has none: by node, name and UID. Nil if nothing is on trial.
func CanaryPods(v View) []Pod {
	if !v.onTrial() {
		return nil
	}
	hash := v.tried()
	list := v.pods(func(pod *corev1.Pod) bool { return hash != "" && revisionOf(pod) == hash })
	if v.Plan.Canary.Phase == canary.Failed { // they are to be without
		return list
	}
	taken := make(map[string]bool)
	for _, pod := range list {
		taken[pod.Node] = true
	}
	ready := v.nodesReady()
	for _, node := range v.Plan.Canary.Nodes {
		if !taken[node] {
			list = append(list, Pod{
				Node: node, Reason: v.Plan.Because(v.decision(node)), NodeReady: ready[node], Now: v.Snapshot.Now,
			})
		}
	}
	slices.SortStableFunc(list, comparePods)
	return list
}

// NotReadyPods returns the pods of the set that are not ready, terminating ones too, by node, name and UID.
func NotReadyPods(v View) []Pod {
	return v.pods(func(pod *corev1.Pod) bool { return !lifecycle.Ready(pod) || pod.DeletionTimestamp != nil })
}

// pods are those that are meant, in order.
func (v *View) pods(meant func(*corev1.Pod) bool) []Pod {
	var chosen []*corev1.Pod
	for _, pod := range v.Snapshot.Pods {
		if pod != nil && meant(pod) {
			chosen = append(chosen, pod)
		}
	}
	slices.SortFunc(chosen, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	ready := v.nodesReady()
	names := make(map[string]string)
	for _, revision := range v.revisions() {
		hash := history.HashOf(revision)
		names[hash] = cmp.Or(names[hash], revision.Name)
	}
	var list []Pod
	for _, pod := range chosen {
		list = append(list, v.pod(pod, names, ready))
	}
	slices.SortStableFunc(list, comparePods)
	return list
}

func comparePods(a, b Pod) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name))
}

func (v *View) pod(pod *corev1.Pod, names map[string]string, ready map[string]corev1.ConditionStatus) Pod {
	one := Pod{
		Name: pod.Name, Revision: cmp.Or(names[revisionOf(pod)], revisionOf(pod)),
		Phase: pod.Status.Phase, Reason: v.notReady(pod),
		Created: pod.CreationTimestamp.Time, Now: v.Snapshot.Now,
	}
	one.Node, _ = placement.TargetNode(pod)
	one.NodeReady = ready[one.Node]
	one.Containers = max(len(pod.Spec.Containers), len(pod.Status.ContainerStatuses))
	for i := range pod.Status.ContainerStatuses {
		container := &pod.Status.ContainerStatuses[i]
		one.Restarts += max(0, container.RestartCount)
		if container.Ready {
			one.ReadyContainers++
		} else {
			one.Waiting = append(one.Waiting, container.Name)
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		one.Restarts += max(0, pod.Status.InitContainerStatuses[i].RestartCount)
	}
	slices.Sort(one.Waiting)
	return one
}

// notReady returns the most telling reason for which a pod is not ready; "" for one that is.
func (v *View) notReady(pod *corev1.Pod) string {
	cause, _ := diagnosis.Of(pod, nil, v.Snapshot.Now)
	return cmp.Or(string(cause.Gate), cause.Reason)
}

// nodesReady returns the condition Ready of each node.
func (v *View) nodesReady() map[string]corev1.ConditionStatus {
	ready := make(map[string]corev1.ConditionStatus, len(v.Snapshot.Nodes))
	for _, node := range v.Snapshot.Nodes {
		if node == nil {
			continue
		}
		for i := range node.Status.Conditions {
			if condition := &node.Status.Conditions[i]; condition.Type == corev1.NodeReady {
				ready[node.Name] = condition.Status
			}
		}
	}
	return ready
}

// Header names the columns.
func (p Pod) Header() []string {
	return []string{"NODE", "POD", "READY", "PHASE", "RESTARTS", "REASON", "NOT READY", "NODE READY", "AGE"}
}

// Cells returns the values of the columns; NOT READY are the containers that are not.
func (p Pod) Cells() []string {
	if p.Name == "" {
		return []string{p.Node, "<none>", "", "", "", p.Reason, "", dash(string(p.NodeReady)), ""}
	}
	return []string{
		cmp.Or(p.Node, "<none>"), p.Name, fmt.Sprintf("%d/%d", p.ReadyContainers, p.Containers), dash(string(p.Phase)),
		number(p.Restarts), dash(p.Reason), dash(strings.Join(p.Waiting, ",")), dash(string(p.NodeReady)), age(p.Created, p.Now),
	}
}

func dash(text string) string { return cmp.Or(text, "-") }
