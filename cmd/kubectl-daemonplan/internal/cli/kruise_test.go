package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestKruiseGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"kruise-table.txt": nil,
		"kruise-wide.txt":  {"-o", "wide"},
		"kruise-plan.json": {"-o", "json"},
		"kruise-plan.yaml": {"-o", "yaml"},
		"kruise-diff.txt":  {"diff"},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, plans(t, "", append(args, "--example", "kruise")...)) })
	}
	var explained strings.Builder
	for _, node := range newKruiseFleet().nodes {
		explained.WriteString(plans(t, "", "explain", "--example", "kruise", node.Name))
	}
	golden(t, "kruise-explain.txt", explained.String())
}

// kruiseDocument is the plan of the second example, with changes, decoded from JSON.
func kruiseDocument(t *testing.T, f *kruiseFleet, args ...string) plan.Document {
	t.Helper()
	var d plan.Document
	out := ours(t, string(f.yaml(t)), append(args, "-f", "-", "-o", "json", "--now", timestamp(fleetTime()))...)
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestKruiseJSONAgreesWithYAML compares the two formats, and the plan of the file with that of the embedded fleet.
func TestKruiseJSONAgreesWithYAML(t *testing.T) {
	text, err := yaml.YAMLToJSON([]byte(plans(t, "", "--example", "kruise", "-o", "yaml")))
	if err != nil {
		t.Fatal(err)
	}
	embedded := plans(t, "", "--example", "kruise", "-o", "json")
	var a, b any
	if err := json.Unmarshal([]byte(embedded), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("json and yaml differ:\n%s", diff)
	}
	file := plans(t, string(newKruiseFleet().yaml(t)), "-f", "-", "-o", "json", "--now", timestamp(fleetTime()))
	if diff := cmp.Diff(embedded, file); diff != "" {
		t.Errorf("the fleet from a file is planned differently:\n%s", diff)
	}
	if err := yaml.UnmarshalStrict([]byte(embedded), &plan.Document{}); err != nil {
		t.Errorf("the document has other fields than its type: %v", err)
	}
}

// TestPatchesCanBeSent applies the patches as an API server would. They apply to the pods that they name, and in the end the pods
// that are updated have what the set wants.
func TestPatchesCanBeSent(t *testing.T) {
	f := newKruiseFleet()
	f.resize("128Mi")
	d := kruiseDocument(t, f, "--resize")
	pods := make(map[string]*corev1.Pod)
	for _, pod := range f.pods {
		pods[string(pod.UID)] = pod
	}
	subresources := make(map[string]int)
	for _, action := range d.Actions.Patches {
		pod := pods[action.UID]
		if pod == nil || pod.Name != action.Pod || pod.Spec.NodeName != action.Node {
			t.Fatalf("%s %s has not the uid %s", action.Node, action.Pod, action.UID)
		}
		if action.Type != "application/strategic-merge-patch+json" {
			t.Fatalf("patch of type %q", action.Type)
		}
		before, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		after, err := strategicpatch.StrategicMergePatch(before, action.Patch, &corev1.Pod{})
		if err != nil {
			t.Fatalf("%s: %v in %s", action.Pod, err, action.Patch)
		}
		patched := &corev1.Pod{}
		if err := json.Unmarshal(after, patched); err != nil {
			t.Fatal(err)
		}
		if patched.UID != pod.UID {
			t.Errorf("%s: the patch has another uid", action.Pod)
		}
		pods[action.UID] = patched
		subresources[action.Subresource]++
	}
	if want := map[string]int{"": 2, "status": 2, "resize": 1}; !cmp.Equal(want, subresources) {
		t.Errorf("patches by subresource: %v, want %v", subresources, want)
	}
	updated := pods[string(f.podOn("worker-09").UID)]
	agent := updated.Spec.Containers[0]
	memory := agent.Resources.Requests[corev1.ResourceMemory]
	if agent.Image != kruiseImage+"2.14.0" || memory.String() != "128Mi" || updated.Labels["app.kubernetes.io/version"] != "2.14.0" ||
		updated.Labels["controller-revision-hash"] != d.Status.UpdateRevision || lifecycle.Ready(updated) {
		t.Errorf("worker-09 is not updated, or still ready: %+v", updated)
	}
	if state := lifecycle.StateOf(pods[string(f.podOn("worker-07").UID)]); state != lifecycle.PreparingDelete {
		t.Errorf("worker-07 is in state %q", state)
	}
}

// retemplate changes the template of a revision, but not its name. If it is the newest revision, the template of the set changes,
// too.
func (f *kruiseFleet) retemplate(number int, change func(*corev1.PodTemplateSpec)) {
	template, err := history.Template(f.revisions[number-1])
	if err != nil {
		panic(err)
	}
	change(template)
	f.revisions[number-1].Data = revisionOf(f.owner, *template, int64(number)).Data
	if number == len(f.revisions) {
		f.set["spec"].(map[string]any)["template"] = template
	}
}

// resize changes the memory request of the containers of the newest revision, and of its pods.
func (f *kruiseFleet) resize(memory string) {
	requests := func(container *corev1.Container) {
		container.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	f.retemplate(3, func(template *corev1.PodTemplateSpec) { requests(&template.Spec.Containers[0]) })
	for _, pod := range f.pods {
		if pod.Labels["controller-revision-hash"] == f.revisions[2].Labels["controller-revision-hash"] {
			requests(&pod.Spec.Containers[0])
		}
	}
}

func (f *kruiseFleet) strategy() map[string]any {
	return f.set["spec"].(map[string]any)["updateStrategy"].(map[string]any)["rollingUpdate"].(map[string]any)
}

func (f *kruiseFleet) hook(name string, hook map[string]any) {
	f.set["spec"].(map[string]any)["lifecycle"] = map[string]any{name: hook}
}

func (f *kruiseFleet) annotate(annotations map[string]any) {
	f.set["metadata"].(map[string]any)["annotations"] = annotations
}

// TestKruiseScenes changes one thing of the second example at a time.
func TestKruiseScenes(t *testing.T) {
	for _, c := range []struct {
		name, why string
		change    func(*kruiseFleet)
		args      []string
		want      []string // what the output contains
		lacks     []string // what the output does not contain
	}{
		{name: "v1alpha1", why: "both versions are read", change: func(f *kruiseFleet) { f.set["apiVersion"] = "apps.kruise.io/v1alpha1" },
			want: []string{"\nMethod: InPlaceIfPossible\n", "update, Outdated"}},
		{name: "standard", why: "nothing is compared, and everything is recreated",
			change: func(f *kruiseFleet) { f.strategy()["rollingUpdateType"] = "Standard" },
			want:   []string{"Delete 2 pods:\n", "worker-09  log-agent-b7b6c  Outdated: the pod is outdated, and the budget allows it\n"},
			lacks:  []string{"Method: ", "in place", "not in place"}},
		{name: "standard, what changes", why: "the pods restart", args: []string{"diff"},
			change: func(f *kruiseFleet) { f.strategy()["rollingUpdateType"] = "Standard" },
			want:   []string{"3 values change, and pods restart:\n", `"debug" -> "info" (restarts)` + "\n"}, lacks: []string{"in place"}},
		{name: "surging", why: "the other budget, and recreation",
			change: func(f *kruiseFleet) {
				f.set["apiVersion"] = "apps.kruise.io/v1alpha1"
				f.strategy()["rollingUpdateType"] = "Surging"
				f.strategy()["maxUnavailable"] = 0
			},
			want: []string{"Budget: maxSurge 1; ", "; partition 25% = 4, 4 places are taken\n"}},
		{name: "no partition", why: "nothing is said of it", change: func(f *kruiseFleet) { delete(f.strategy(), "partition") },
			want: []string{"Budget: maxUnavailable 6; 6 nodes count as unavailable after this plan\n"}, lacks: []string{"partition"}},
		{name: "a partition that rounds down to nothing", why: "the same", change: func(f *kruiseFleet) { f.strategy()["partition"] = "5%" }, lacks: []string{"partition"}},
		{name: "partition in nodes", why: "updated nodes take no place", change: func(f *kruiseFleet) { f.strategy()["partition"] = 15 },
			want: []string{"; partition 15, 12 places are taken\n"}},
		{name: "partition of one", why: "grammar", change: func(f *kruiseFleet) {
			f.strategy()["partition"] = 1
			delete(f.strategy(), "selector")
		}, want: []string{"; partition 1, 1 place is taken\n", "1 node is held at its old revision: partition 1 (gpu-01)\n"}, lacks: []string{"Selector"}},
		{name: "partition, explained", why: "names what holds the node", args: []string{"explain", "worker-01"},
			want: []string{"worker-01: outdated; is held: ", "partition 4: 4 of 4 places taken\n"}},
		{name: "hook, explained", why: "names the handlers", args: []string{"explain", "worker-10"},
			want: []string{"waits for its preDelete hook; ", "\n  pod log-agent-55f79 waits: preDelete: take off label logs.example.com/unsent=true\n"}},
		{name: "update under way, explained", why: "names what is not there yet", args: []string{"explain", "worker-11"},
			want: []string{"is being updated in place; ", "\n  pod log-agent-545cb waits: container agent: it still runs the image of before\n"}},
		{name: "selector, explained", why: "names what holds the node", args: []string{"explain", "gpu-01"},
			want: []string{"selector example.com/pool notin (gpu) does not match the node\n"}},
		{name: "paused", why: "nothing begins and nothing is pulled", change: func(f *kruiseFleet) { f.strategy()["paused"] = true },
			want: []string{"Patch 1 pod (1 patch):\n"}, lacks: []string{"Start ", "update, "}},
		{name: "paused, as JSON", why: "no job of OpenKruise either", args: []string{"-o", "json"},
			change: func(f *kruiseFleet) { f.strategy()["paused"] = true }, want: []string{`"pulls": []`}, lacks: []string{"imagePullJobs"}},
		{name: "OnDelete", why: "nothing holds but the type; nothing is to be ahead of",
			change: func(f *kruiseFleet) {
				f.set["spec"].(map[string]any)["updateStrategy"] = map[string]any{"type": "OnDelete"}
			},
			want: []string{"Budget: none, the strategy is OnDelete\n", ": the strategy is OnDelete"}, lacks: []string{"Start "}},
		{name: "resize, off", why: "the feature gate is off by default", change: func(f *kruiseFleet) { f.resize("128Mi") },
			want: []string{"From revision 2 (log-agent-67c8fd5985) not in place:\n  spec.containers[agent].resources.requests[memory]: resizing in place is not enabled",
				"\nMethod: InPlaceIfPossible\n"}},
		{name: "resize, on", why: "the pod is made unready, resized, then changed", args: []string{"--resize"}, change: func(f *kruiseFleet) { f.resize("128Mi") },
			want: []string{"  memory request of agent: 96Mi -> 128Mi\n", "    resize  memory request of agent 128Mi\n    pod     image of agent ",
				"\nMethod: InPlaceIfPossible, cpu and memory too\n"}},
		{name: "resize where kubelets cannot", why: "a pod whose status has no resources is recreated", args: []string{"--resize"},
			change: func(f *kruiseFleet) {
				f.resize("128Mi")
				f.podOn("worker-09").Status.ContainerStatuses[0].Resources = nil
			},
			want: []string{"  worker-09  log-agent-b7b6c  Outdated: the pod is outdated, and the budget allows it; not in place: "}},
		{name: "resize with cgroup v1", why: "two steps", args: []string{"--resize", "--cgroup-v1"}, change: func(f *kruiseFleet) { f.resize("128Mi") },
			want: []string{"on cgroup v1 the resize has to be rolled out before the image", "\nMethod: InPlaceIfPossible, cpu and memory too (cgroup v1)\n"}},
		{name: "resize with cgroup v1, what changes", why: "diff obeys the settings too", args: []string{"diff", "--resize", "--cgroup-v1"},
			change: func(f *kruiseFleet) { f.resize("128Mi") },
			want:   []string{"and pods are recreated:\n", "  not in place: spec.containers[agent].resources: on cgroup v1 "}},
		{name: "more than cpu and memory requests", why: "limits, annotations, and a list that is cut", args: []string{"--resize"},
			change: func(f *kruiseFleet) {
				f.retemplate(2, func(template *corev1.PodTemplateSpec) {
					template.Annotations = map[string]string{"note": "x"}
					template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NOTE", ValueFrom: &corev1.EnvVarSource{
						FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['note']"},
					}}}
					template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
				})
				f.retemplate(3, func(template *corev1.PodTemplateSpec) {
					template.Annotations = map[string]string{"note": "y"}
					template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NOTE", ValueFrom: &corev1.EnvVarSource{
						FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['note']"},
					}}}
					template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
				})
				f.retemplate(1, func(template *corev1.PodTemplateSpec) {
					for i := range 9 {
						template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: "v" + strconv.Itoa(i)})
					}
				})
			},
			want: []string{"  cpu limit of agent: 1 -> 2\n", "  annotation note: \"x\" -> \"y\"\n", "  variable NOTE of agent: reads annotation note\n", "\n  and "}},
		{name: "no annotation", why: "pre-download is off by default", change: func(f *kruiseFleet) { f.annotate(nil) }, lacks: []string{"Start "}},
		{name: "pre-download", why: "the feature gate: one at a time", args: []string{"--pre-download"}, change: func(f *kruiseFleet) { f.annotate(nil) },
			want: []string{"\nStart 1 pull:\n  worker-05  " + kruiseImage + "2.14.0  revision 695f966977\n"}},
		{name: "pre-download as OpenKruise has it", why: "not the defaults of the library", args: []string{"--pre-download", "-o", "json"},
			change: func(f *kruiseFleet) { f.annotate(nil) },
			want:   []string{`"timeoutSeconds": 300,` + "\n        \"backoffLimit\": 1\n", `"kind": "ImagePullJob"`, `"parallelism": 1,`}},
		{name: "pre-download with annotation", why: "the annotation says how", args: []string{"--pre-download"}, want: []string{"\nStart 2 pulls:\n"}},
		{name: "pre-download not yet", why: "minUpdatedReadyPods",
			change: func(f *kruiseFleet) {
				f.annotate(map[string]any{"apps.kruise.io/image-predownload-min-updated-ready-pods": "3"})
			},
			args: []string{"-o", "json"}, want: []string{`"pulls": []`}, lacks: []string{"imagePullJobs"}},
		{name: "hook with a finalizer that marks pods", why: "every handler is named; the condition is in the status",
			change: func(f *kruiseFleet) {
				f.hook("preDelete", map[string]any{"finalizersHandler": []string{"example.com/b", "example.com/a"}, "markPodNotReady": true})
				for _, pod := range f.pods {
					pod.Finalizers = []string{"example.com/a", "example.com/b"}
					pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
				}
			},
			want: []string{"PreparingDelete  preDelete: take off finalizer example.com/a, finalizer example.com/b\n", "    status  KruisePodReady False"}},
		{name: "hook before the update", why: "the library has it, as CloneSet does",
			change: func(f *kruiseFleet) {
				f.hook("inPlaceUpdate", map[string]any{"labelsHandler": map[string]string{"serving": "true"}})
				for _, pod := range f.pods {
					pod.Labels["serving"] = "true"
				}
				f.podOn("worker-06").Labels[lifecycle.StateLabel] = string(lifecycle.PreparingUpdate)
				f.podOn("worker-12").Labels[lifecycle.StateLabel] = string(lifecycle.Updated)
				delete(f.podOn("worker-12").Labels, "serving")
			},
			want: []string{"worker-06  log-agent-585d5  PreparingUpdate  inPlaceUpdate: take off label serving=true\n",
				"worker-12  log-agent-55fbd  Updated          inPlaceUpdate: put on label serving=true\n"}},
		{name: "hook of a new pod", why: "it becomes Normal when all handlers are there",
			change: func(f *kruiseFleet) {
				f.hook("preNormal", map[string]any{"labelsHandler": map[string]string{"serving": "true"}})
				f.podOn("worker-14").Labels[lifecycle.StateLabel] = string(lifecycle.PreparingNormal)
			},
			want: []string{"worker-14  log-agent-5cbd7  PreparingNormal  preNormal: put on label serving=true\n"}},
		{name: "taken back", why: "held by now: the hook is not waited for any more",
			change: func(f *kruiseFleet) { f.strategy()["partition"] = 16 },
			want:   []string{"worker-10  log-agent-55f79  patch, TakenBack: ", "    pod     state Normal\n"}, lacks: []string{"for a hook:"}},
		{name: "unreadable state of an update", why: "somebody has to look at it",
			change: func(f *kruiseFleet) { f.podOn("worker-11").Annotations["apps.kruise.io/inplace-update-state"] = "{" },
			want:   []string{"worker-11  log-agent-545cb  -  an annotation of the update is unreadable\n"}},
		{name: "pod that goes", why: "its update and its hook are of no interest any more",
			change: func(f *kruiseFleet) {
				for _, node := range []string{"worker-10", "worker-11"} {
					f.podOn(node).DeletionTimestamp = new(ago(time.Second))
				}
			},
			lacks: []string{"under way:", "for a hook:"}},
		{name: "unknown revision", why: "its pods cannot be updated in place", change: func(f *kruiseFleet) { f.revisions = f.revisions[1:] },
			want: []string{"From revision hash 5b85d7fdf4 not in place:\n  the history has no readable revision \"5b85d7fdf4\"\n"}},
		{name: "unknown revision, what changes", why: "nobody knows", change: func(f *kruiseFleet) { f.revisions = f.revisions[1:] }, args: []string{"diff"},
			want: []string{`2 pods are at revision hash "5b85d7fdf4", which is not stored: what changes is not known, they restart.` + "\n"}},
		{name: "only metadata", why: "nothing restarts", args: []string{"diff"},
			change: func(f *kruiseFleet) {
				template := kruiseTemplate("2.13.1", "info")
				template.Labels["team"] = "logs"
				delete(template.Labels, "app.kubernetes.io/version")
				f.set["spec"].(map[string]any)["template"] = template
			},
			want: []string{"and pods are updated in place, without a restart:\n", "  metadata.labels[team]: added \"logs\"\n"}},
		{name: "only metadata, patched", why: "the pod stays ready, and what the template drops goes",
			change: func(f *kruiseFleet) {
				template := kruiseTemplate("2.13.1", "info")
				template.Labels["team"] = ""
				template.Annotations = map[string]string{"note": "x"}
				delete(template.Labels, "app.kubernetes.io/version")
				f.set["spec"].(map[string]any)["template"] = template
			},
			want: []string{"in place, nothing restarts:\n  label app.kubernetes.io/version: dropped\n  label team: added \"\"\n  annotation note: added \"x\"\n" +
				"  No container restarts: what reads its configuration when it starts goes on with the old one (note).\n",
				"\nCreate revision log-agent-", "    pod     no label app.kubernetes.io/version, revision d84844fc8, label team=, annotation note=x\n"}},
		{name: "a label that the environment reads", why: "its container restarts",
			change: func(f *kruiseFleet) {
				for _, number := range []int{2, 3} {
					f.retemplate(number, func(template *corev1.PodTemplateSpec) {
						template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "VERSION", ValueFrom: &corev1.EnvVarSource{
							FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels['app.kubernetes.io/version']"},
						}}}
					})
				}
			},
			want: []string{"  variable VERSION of agent: reads label app.kubernetes.io/version\n"}},
		{name: "partitioned scaling", why: "said before the nodes are seen to be empty",
			change: func(f *kruiseFleet) {
				f.set["spec"].(map[string]any)["scaleStrategy"] = map[string]any{"partitionedScaling": true}
				f.pods, f.revisions = nil, nil
			},
			want: []string{"\nPartitioned scaling: a first installation leaves the partition empty\n", "\nCreate 12 pods:\n"}},
		{name: "another kind of that name", why: "a manifest whose apiVersion was changed: the old set goes on",
			change: func(f *kruiseFleet) {
				for _, pod := range f.pods {
					pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].UID = "apps/v1", "other"
				}
			},
			want: []string{"Warning: 16 pods match the selector but belong to another controller, as log-agent-545cb does to the daemonset.apps of this name.\n"}},
		{name: "another uid of that name", why: "the set was created anew",
			change: func(f *kruiseFleet) { f.set["metadata"].(map[string]any)["uid"] = "other" },
			want:   []string{"does to a DaemonSet of this name with uid b8f0a1de-52f7-4a55-9d43-1f0f6c7a2c90.\n"}},
		{name: "revision without its label", why: "it goes by its name, in the job too", args: []string{"-o", "json"},
			change: func(f *kruiseFleet) {
				for _, pod := range f.pods {
					if pod.Labels["controller-revision-hash"] == "695f966977" {
						pod.Labels["controller-revision-hash"] = f.revisions[2].Name
					}
				}
				delete(f.revisions[2].Labels, "controller-revision-hash")
				f.revisions[2].Labels = kruiseLabels()
			},
			want: []string{`"controller-revision-hash": "log-agent-695f966977"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			f := newKruiseFleet()
			if c.change != nil {
				c.change(f)
			}
			out := ours(t, string(f.yaml(t)), append(c.args, "-f", "-", "--now", timestamp(fleetTime()))...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q (%s):\n%s", want, c.why, out)
				}
			}
			for _, lacks := range c.lacks {
				if strings.Contains(out, lacks) {
					t.Errorf("the output has %q (%s):\n%s", lacks, c.why, out)
				}
			}
		})
	}
}

// TestNotInPlaceIsTold checks that the document shows, by node, why pods are not updated in place.
func TestNotInPlaceIsTold(t *testing.T) {
	got := make(map[string]string)
	for _, node := range kruiseDocument(t, newKruiseFleet()).Nodes {
		if node.NotInPlace != "" {
			got[node.Node] = node.NotInPlace
		}
	}
	want := map[string]string{
		"worker-07": "spec.containers[agent].env[LOG_LEVEL].value: cannot change in a running pod",
		"worker-08": "no readiness gate InPlaceUpdateReady",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBothKinds plans a dump that has a DaemonSet of each kind. Each gets its own pods.
func TestBothKinds(t *testing.T) {
	f, other := newKruiseFleet(), newFleet()
	other.set.Name, other.set.Namespace = f.owner.Name, f.owner.Namespace
	dump := join(string(f.yaml(t)), string(other.yaml(t)))
	now := []string{"-f", "-", "--now", timestamp(fleetTime())}
	for filter, want := range map[string]string{
		"daemonset.apps.kruise.io/log-agent":  "Method: InPlaceIfPossible\n",
		"daemonsets.apps.kruise.io/log-agent": "Method: InPlaceIfPossible\n",
		"daemonset.apps/log-agent":            "Budget: maxUnavailable 10% of ",
		"ds/log-agent":                        "Budget: maxUnavailable 10% of ",
	} {
		if out := plans(t, dump, append([]string{"plan", filter}, now...)...); !strings.Contains(out, want) {
			t.Errorf("%s: the output lacks %q:\n%s", filter, want, out)
		}
	}
}

func TestKruiseUnknownFieldsAreMentioned(t *testing.T) {
	code, _, stderr := call(join(smallKruise+"      partitions: 5\n", smallNode), "-f", "-")
	want := "warning: standard input: document 1 (apps.kruise.io DaemonSet web/agent): ignored unknown field spec.updateStrategy.rollingUpdate.partitions\n"
	if code != 0 || stderr != want {
		t.Errorf("exit code %d, standard error %q, want %q", code, stderr, want)
	}
}

// TestRevisionsCanBeSent checks that the document has the object of a revision to create, and the names of the revisions whose
// templates the pods to create have.
func TestRevisionsCanBeSent(t *testing.T) {
	f := newKruiseFleet()
	f.resize("1Gi")
	f.revisions = f.revisions[:2]
	f.pods = slices.DeleteFunc(f.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "worker-03" })
	d := kruiseDocument(t, f)
	if len(d.Actions.Revisions) != 1 || len(d.Actions.Creates) != 1 {
		t.Fatalf("%d revisions and %d pods to create, want one each", len(d.Actions.Revisions), len(d.Actions.Creates))
	}
	revision, create := d.Actions.Revisions[0], d.Actions.Creates[0]
	if revision.Object == nil || revision.Object.Name != revision.Name || len(revision.Object.Data.Raw) == 0 ||
		!metav1.IsControlledBy(revision.Object, f.owner) {
		t.Errorf("there is no object to create in %+v", revision)
	}
	if create.Node != "worker-03" || create.RevisionName != revision.Name {
		t.Errorf("%+v is not of the revision %s", create, revision.Name)
	}
}

// TestNothingOfKruiseIsObeyed plans the second example with control characters in every string that may be printed.
func TestNothingOfKruiseIsObeyed(t *testing.T) {
	const evil = "\x1b[31m\nWarning: \t\u202e"
	f := newKruiseFleet()
	f.evil(evil)
	stdin := string(f.yaml(t))
	for _, args := range [][]string{
		nil,
		{"-o", "wide"},
		{"diff"},
		{"explain", "worker-07" + evil},
		{"explain", "worker-10" + evil},
		{"explain", "worker-11" + evil},
	} {
		code, stdout, stderr := call(stdin, append(args, "-f", "-", "--now", timestamp(fleetTime()))...)
		if !answered(code, args) || stdout == "" || stderr != "" {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if strings.HasPrefix(line, "Warning: \\t") || strings.ContainsAny(line, "\x1b\t\u202e") {
				t.Errorf("%q: raw text of the input in %q", args, line)
			}
		}
		if !strings.Contains(stdout, `\x1b[31m\nWarning: \t\u202e`) {
			t.Errorf("%q: the names are not there:\n%s", args, stdout)
		}
	}
	d := kruiseDocument(t, f) // this fails unless it is JSON, whatever the strings
	if pull := d.Actions.Pulls[0]; pull.Image != kruiseImage+"2.14.0"+evil || pull.Node != "worker-06"+evil {
		t.Errorf("the document has other strings than the input: %+v", pull)
	}
}

func (f *kruiseFleet) evil(text string) {
	for _, node := range f.nodes {
		node.Name += text
	}
	revised := make(map[string]string)
	for i, template := range []corev1.PodTemplateSpec{
		kruiseTemplate("2.12.0", "debug"), kruiseTemplate("2.13.1", "info"), kruiseTemplate("2.14.0", "info"),
	} {
		template.Spec.Containers[0].Image += text
		template.Spec.Containers[0].Env[0].Name += text
		template.Annotations = map[string]string{"note" + text: strconv.Itoa(i) + text}
		old := f.revisions[i]
		f.revisions[i] = revisionOf(f.owner, template, old.Revision)
		f.revisions[i].OwnerReferences = old.OwnerReferences
		f.revisions[i].Name += text
		f.revisions[i].Labels["controller-revision-hash"] += text
		revised[old.Labels["controller-revision-hash"]] = f.revisions[i].Labels["controller-revision-hash"]
		f.set["spec"].(map[string]any)["template"] = template
	}
	for _, pod := range f.pods {
		pod.Name += text
		pod.Spec.NodeName += text
		pod.Labels["controller-revision-hash"] = revised[pod.Labels["controller-revision-hash"]]
	}
}

// TestExampleIsNamed checks that an embedded fleet is planned only if it is asked for: without input the cluster is meant.
func TestExampleIsNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errs bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}
	if code := run([]string{"plan", "--server", "http://127.0.0.1:1"}, streams, present); code != exit.Failed || out.Len() > 0 ||
		!strings.Contains(errs.String(), "error: the cluster at http://127.0.0.1:1 cannot be read: ") {
		t.Errorf("exit code %d, standard output %q, standard error %q", code, out.String(), errs.String())
	}
}
