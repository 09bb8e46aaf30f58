package util

// Compiled in the controller's package util: our helpers in the place of its own, and what fixtures lack.

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/status"
	"github.com/daemonplan/daemonplan/tolerations"
)

// Asked notes, in the output of the test that runs, what of the library has answered it: a test that asks nothing judges nothing.
// An error is noted, too: a test that wants nothing done must not pass because nothing was planned.
func Asked(what string, err error) {
	if err != nil {
		fmt.Printf("peersuite error %s: %q\n", what, err)
		return
	}
	fmt.Println("peersuite asks " + what)
}

// SpecOf is what the set says, with what the API server would refuse a container without.
func SpecOf(ds *apps.DaemonSet) (rollout.Spec, error) {
	filled := ds.DeepCopy()
	filled.Spec.Template = *fill(&ds.Spec.Template)
	return manifest.FromDaemonSet(filled)
}

// fill gives each container a name and an image.
func fill(template *v1.PodTemplateSpec) *v1.PodTemplateSpec {
	filled := template.DeepCopy()
	for i := range filled.Spec.Containers {
		c := &filled.Spec.Containers[i]
		c.Name = cmp.Or(c.Name, fmt.Sprintf("container-%d", i))
		c.Image = cmp.Or(c.Image, "image")
	}
	return filled
}

func isComplete(template *v1.PodTemplateSpec) bool {
	return !slices.ContainsFunc(template.Spec.Containers, func(c v1.Container) bool { return c.Name == "" || c.Image == "" })
}

// Filled are the revisions, of templates that are filled in.
func Filled(revisions []*apps.ControllerRevision) []*apps.ControllerRevision {
	var filled []*apps.ControllerRevision
	for _, r := range revisions {
		if template, err := history.Template(r); err == nil && !isComplete(template) {
			if data, err := history.Data(fill(template)); err == nil {
				r = r.DeepCopy()
				r.Data = runtime.RawExtension{Raw: data}
			}
		}
		filled = append(filled, r)
	}
	return filled
}

// AsWritten is the revision that is to be created, of the set's template as it is written: its hash is on the pods of the tests.
func AsWritten(planned *apps.ControllerRevision, ds *apps.DaemonSet, collisions *int32) (*apps.ControllerRevision, error) {
	if isComplete(&ds.Spec.Template) {
		return planned, nil
	}
	data, err := history.Data(&ds.Spec.Template)
	Asked("history", err)
	if err != nil {
		return nil, err
	}
	hash := history.Hash(&ds.Spec.Template, collisions)
	object := planned.DeepCopy()
	object.Name, object.Data = ds.Name+"-"+hash, runtime.RawExtension{Raw: data}
	object.Labels[apps.DefaultDaemonSetUniqueLabelKey] = hash
	return object, nil
}

// Identified are the pods, each with a UID.
func Identified(pods []*v1.Pod) []*v1.Pod {
	var identified []*v1.Pod
	for _, pod := range pods {
		if pod.UID == "" {
			pod = pod.DeepCopy()
			pod.UID = types.UID("uid of " + pod.Namespace + "/" + pod.Name)
		}
		identified = append(identified, pod)
	}
	return identified
}

// AddOrUpdateDaemonPodTolerations sets the tolerations of daemon pods.
func AddOrUpdateDaemonPodTolerations(spec *v1.PodSpec) {
	Asked("tolerations", nil)
	spec.Tolerations = tolerations.ForDaemon(spec)
}

// ReplaceDaemonSetPodNodeNameNodeAffinity pins a pod.
func ReplaceDaemonSetPodNodeNameNodeAffinity(affinity *v1.Affinity, node string) *v1.Affinity {
	Asked("Pin", nil)
	return placement.Pin(affinity, node)
}

// GetTargetNodeName is the node that a pod is on or for.
func GetTargetNodeName(pod *v1.Pod) (string, error) {
	node, ok := placement.TargetNode(pod)
	Asked("TargetNode", nil)
	if !ok {
		return "", fmt.Errorf("no node can be read off %s", pod.Name)
	}
	return node, nil
}

// GetTemplateGeneration is the template generation of the set's spec.
func GetTemplateGeneration(ds *apps.DaemonSet) (*int64, error) {
	spec, err := manifest.FromDaemonSet(ds)
	Asked("FromDaemonSet", err)
	return spec.TemplateGeneration, err
}

// aSet is a set with that template, with a label to select, and the data of its revision.
func aSet(template *v1.PodTemplateSpec, generation *int64) (rollout.Spec, []byte, error) {
	complete := fill(template)
	if len(complete.Spec.Containers) == 0 {
		complete.Spec.Containers = []v1.Container{{Name: "container-0", Image: "image"}}
	}
	metav1.SetMetaDataLabel(&complete.ObjectMeta, selected, "")
	data, err := history.Data(complete)
	return rollout.Spec{
		Name: "set", UID: "set", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{selected: ""}},
		Template: *complete, TemplateGeneration: generation,
	}, data, err
}

const selected = "selected"

// IsPodUpdated asks a plan for the only pod of a node, which the set selects, whether it is. Without a hash there is no revision
// yet.
func IsPodUpdated(pod *v1.Pod, hash string, generation *int64) bool {
	Asked("Plan", nil)
	spec, data, err := aSet(&v1.PodTemplateSpec{}, generation)
	if err != nil {
		panic(err)
	}
	planner, err := rollout.New(spec)
	if err != nil {
		panic(err)
	}
	controlled := pod.DeepCopy()
	metav1.SetMetaDataLabel(&controlled.ObjectMeta, selected, "")
	snapshot := rollout.Snapshot{
		Now:  time.Unix(0, 0),
		Pods: Identified([]*v1.Pod{controlled}), Nodes: []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}},
	}
	if hash != "" {
		label := map[string]string{apps.DefaultDaemonSetUniqueLabelKey: hash}
		snapshot.Revisions = []*apps.ControllerRevision{{
			ObjectMeta: metav1.ObjectMeta{Name: "set-" + hash, Namespace: rollout.DefaultNamespace, Labels: label},
			Data:       runtime.RawExtension{Raw: data}, Revision: 1,
		}}
	}
	plan, err := planner.Plan(snapshot)
	if err != nil {
		panic(err)
	}
	return plan.Decisions[0].Facts.Has(status.Updated)
}

// CreatePodTemplate has the labels and tolerations of a pod that is created. No plan creates one without a hash; then the label
// goes.
func CreatePodTemplate(template v1.PodTemplateSpec, generation *int64, hash string) v1.PodTemplateSpec {
	Asked("Pod", nil)
	spec, _, err := aSet(&template, generation)
	if err != nil {
		panic(err)
	}
	planner, err := rollout.New(spec)
	if err != nil {
		panic(err)
	}
	create := rollout.Create{Node: "node", Revision: hash}
	if hash == "" {
		create.Revision = "none"
	}
	pod, err := planner.Pod(create)
	if err != nil {
		panic(err)
	}
	made := *template.DeepCopy()
	made.Labels, made.Spec.Tolerations = pod.Labels, pod.Spec.Tolerations
	delete(made.Labels, selected)
	if hash == "" {
		delete(made.Labels, apps.DefaultDaemonSetUniqueLabelKey)
	}
	return made
}
