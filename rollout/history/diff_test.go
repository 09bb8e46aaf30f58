package history_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestDiffTemplates(t *testing.T) {
	for _, row := range []struct {
		name, why string
		old, new  func(*corev1.PodTemplateSpec)
		want      []string
	}{
		{name: "nothing", why: "equal templates"},
		{
			name: "image", why: "containers go by name",
			new:  func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "<v2>" },
			want: []string{`spec.containers[main].image: "v1" -> "<v2>" (restarts)`},
		},
		{
			name: "labels", why: "keys with dots and slashes stand in brackets",
			old: func(p *corev1.PodTemplateSpec) { p.Labels["a.b/c"] = "1" },
			new: func(p *corev1.PodTemplateSpec) { p.Labels["x y"] = ""; p.Labels["app"] = "z" },
			want: []string{
				`metadata.labels["x y"]: added "" (restarts)`,
				`metadata.labels[a.b/c]: removed "1" (restarts)`,
				`metadata.labels[app]: "agent" -> "z" (restarts)`,
			},
		},
		{
			name: "eviction responder", why: "a list by name, as any field of the API",
			old: func(p *corev1.PodTemplateSpec) {
				p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "example.com/a", Priority: new(int32(1))}}
			},
			new: func(p *corev1.PodTemplateSpec) {
				p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "example.com/a", Priority: new(int32(2))}}
			},
			want: []string{`spec.evictionResponders[example.com/a].priority: 1 -> 2 (restarts)`},
		},
		{
			name: "quantity", why: "R2: spelled otherwise",
			old:  limit("1024"),
			new:  limit("1Ki"),
			want: []string{`spec.containers[main].resources.limits[memory]: "1024" -> "1Ki" (restarts nothing)`},
		},
		{
			name: "other quantity", why: "R2", old: limit("1024"), new: limit("2Ki"),
			want: []string{`spec.containers[main].resources.limits[memory]: "1024" -> "2Ki" (restarts)`},
		},
		{
			name: "empty lists", why: "the data does not hold them",
			new: func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = []string{} },
		},
		{
			name: "empty pointer", why: "present is not absent (R2)",
			new:  func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext = &corev1.PodSecurityContext{} },
			want: []string{`spec.securityContext: added {} (restarts)`},
		},
		{
			name: "whole subtree", why: "what is new as a whole is one change",
			new: func(p *corev1.PodTemplateSpec) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1)), RunAsNonRoot: new(true)}
			},
			want: []string{`spec.securityContext: added {"runAsNonRoot":true,"runAsUser":1} (restarts)`},
		},
		{
			name: "order", why: "containers start in order",
			old: func(p *corev1.PodTemplateSpec) { p.Spec.Containers = containers("a", "b", "c") },
			new: func(p *corev1.PodTemplateSpec) { p.Spec.Containers = containers("c", "a", "d", "b") },
			want: []string{
				`spec.containers: order ["a","b","c"] -> ["c","a","b"] (restarts)`,
				`spec.containers[d]: added {"name":"d","resources":{}} (restarts)`,
			},
		},
		{
			name: "added in front", why: "those that stay are still in order",
			old: func(p *corev1.PodTemplateSpec) { p.Spec.Containers = containers("a", "b") },
			new: func(p *corev1.PodTemplateSpec) { p.Spec.Containers = containers("c", "b") },
			want: []string{
				`spec.containers[a]: removed {"name":"a","resources":{}} (restarts)`,
				`spec.containers[c]: added {"name":"c","resources":{}} (restarts)`,
			},
		},
		{
			name: "args", why: "texts go by index, those after an insertion are no change",
			old: args("a", "b", "c"),
			new: args("a", "x", "y", "b", "c"),
			want: []string{
				`spec.containers[main].args[1]: added "x" (restarts)`, `spec.containers[main].args[2]: added "y" (restarts)`,
			},
		},
		{
			name: "arg changed and removed", why: "by index between what is common",
			old: args("a", "b", "c", "d"),
			new: args("a", "x", "d"),
			want: []string{
				`spec.containers[main].args[1]: "b" -> "x" (restarts)`, `spec.containers[main].args[2]: removed "c" (restarts)`,
			},
		},
		{
			name: "repeated args", why: "the common end must not run into the common beginning",
			old:  args("a", "a"),
			new:  args("a", "a", "a"),
			want: []string{`spec.containers[main].args[2]: added "a" (restarts)`},
		},
		{
			name: "ports", why: "by number where that is unambiguous",
			old: ports(corev1.ContainerPort{ContainerPort: 80, Name: "http"}, corev1.ContainerPort{ContainerPort: 53}),
			new: ports(corev1.ContainerPort{ContainerPort: 80, Name: "web"}, corev1.ContainerPort{ContainerPort: 53}),
			want: []string{
				`spec.containers[main].ports[80].name: "http" -> "web" (restarts)`,
			},
		},
		{
			name: "ports of two protocols", why: "by number and protocol",
			old:  ports(corev1.ContainerPort{ContainerPort: 53, Protocol: "TCP"}, corev1.ContainerPort{ContainerPort: 53, Protocol: "UDP"}),
			new:  ports(corev1.ContainerPort{ContainerPort: 53, Protocol: "TCP"}, corev1.ContainerPort{ContainerPort: 53, Protocol: "UDP", HostPort: 5}),
			want: []string{`spec.containers[main].ports[53/UDP].hostPort: added 5 (restarts)`},
		},
		{
			name: "mounts", why: "by path: one volume can be mounted twice",
			old:  mounts(corev1.VolumeMount{Name: "v", MountPath: "/a"}, corev1.VolumeMount{Name: "v", MountPath: "/b"}),
			new:  mounts(corev1.VolumeMount{Name: "v", MountPath: "/a"}, corev1.VolumeMount{Name: "v", MountPath: "/b", ReadOnly: true}),
			want: []string{`spec.containers[main].volumeMounts[/b].readOnly: added true (restarts)`},
		},
		{
			name: "tolerations", why: "by key and effect, else by index",
			old:  tolerations(corev1.Toleration{Key: "k", Effect: "NoSchedule"}, corev1.Toleration{Key: "k", Effect: "NoExecute"}),
			new:  tolerations(corev1.Toleration{Key: "k", Effect: "NoSchedule"}, corev1.Toleration{Key: "k", Effect: "NoExecute", Value: "v"}),
			want: []string{`spec.tolerations[k/NoExecute].value: added "v" (restarts)`},
		},
		{
			name: "tolerations without key", why: "nothing identifies the one that tolerates all",
			old:  tolerations(corev1.Toleration{Operator: "Exists"}),
			new:  tolerations(corev1.Toleration{Operator: "Exists"}, corev1.Toleration{Key: "k"}),
			want: []string{`spec.tolerations[1]: added {"key":"k"} (restarts)`},
		},
		{
			name: "repeated env", why: "the last of a name counts, so the place matters",
			old: func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}, {Name: "A", Value: "1"}}
			},
			new: func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A"}}
			},
			want: []string{
				`spec.containers[main].env[0].value: added "1" (restarts)`,
				`spec.containers[main].env[1].value: removed "1" (restarts)`,
			},
		},
		{
			name: "grace period", why: "a plain number",
			old:  func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = new(int64(30)) },
			new:  func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = new(int64(60)) },
			want: []string{`spec.terminationGracePeriodSeconds: 30 -> 60 (restarts)`},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			old, new := image("v1"), image("v1")
			if row.old != nil {
				row.old(old)
			}
			if row.new != nil {
				row.new(new)
			}
			before, after := old.DeepCopy(), new.DeepCopy()
			if diff := cmp.Diff(row.want, lines(history.Changes(old, new))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.why, diff)
			}
			if !reflect.DeepEqual(before, old) || !reflect.DeepEqual(after, new) {
				t.Error("the templates were written to")
			}
		})
	}
}

func limit(memory string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(memory)}
	}
}

func args(values ...string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = values }
}

func ports(values ...corev1.ContainerPort) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Ports = values }
}

func mounts(values ...corev1.VolumeMount) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].VolumeMounts = values }
}

func tolerations(values ...corev1.Toleration) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = values }
}

func containers(names ...string) (list []corev1.Container) {
	for _, name := range names {
		list = append(list, corev1.Container{Name: name})
	}
	return list
}

func lines(changes []history.Change) (lines []string) {
	for _, change := range changes {
		lines = append(lines, change.String())
	}
	return lines
}

func TestDiffNilAndInexpressible(t *testing.T) {
	template := &corev1.PodTemplateSpec{}
	text := `{"metadata":{},"spec":{"containers":null}}`
	broken := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{FieldsV1: metav1.NewFieldsV1("{")},
	}}}
	for _, row := range []struct {
		name, why string
		old, new  *corev1.PodTemplateSpec
		want      []history.Change
	}{
		{name: "both nil", why: "no difference"},
		{name: "from nil", why: "the whole is new", new: template, want: []history.Change{{Path: ".", Op: history.Added, New: text, Restarts: true}}},
		{name: "to nil", why: "the whole is gone", old: template, want: []history.Change{{Path: ".", Op: history.Removed, Old: text, Restarts: true}}},
		{name: "inexpressible", why: "no JSON, so no fields to name", old: broken, new: template, want: []history.Change{{Path: ".", Restarts: true, Why: history.Invalid}}},
		{name: "to inexpressible", why: "no JSON, so no fields to name", old: template, new: broken, want: []history.Change{{Path: ".", Restarts: true, Why: history.Invalid}}},
		{name: "inexpressible, equal", why: "nothing differs", old: broken, new: broken.DeepCopy()},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, history.Changes(row.old, row.new)); row.why == "" || diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.why, diff)
			}
		})
	}
}

func TestDiffDataShowsAllOfTheData(t *testing.T) {
	for _, row := range []struct {
		name, why string
		old, new  string
		want      []string
	}{
		{
			name: "unknown field", why: "a newer version knows what it means", old: opening + closing, new: around(`"pony":{"legs":4},`),
			want: []string{`spec.pony: added {"legs":4} (restarts: unknown field)`},
		},
		{
			name: "unknown field changed", why: "it is shown as deep as it goes",
			old: around(`"pony":{"legs":4,"tail":1},`), new: around(`"pony":{"legs":3,"tail":1},`),
			want: []string{`spec.pony.legs: 4 -> 3 (restarts: unknown field)`},
		},
		{
			name: "unknown and empty", why: "R2", old: opening + closing, new: around(`"pony":{"legs":0,"tail":[]},`),
			want: []string{`spec.pony: added {"legs":0,"tail":[]} (restarts nothing)`},
		},
		{
			name: "unknown list", why: "identified as in known ones", old: around(`"pony":[{"name":"a","x":1}],`), new: around(`"pony":[{"name":"b"},{"name":"a","x":2}],`),
			want: []string{`spec.pony[a].x: 1 -> 2 (restarts: unknown field)`, `spec.pony[b]: added {"name":"b"} (restarts: unknown field)`},
		},
		{
			name: "unknown within an added field", why: "the known part is equal to none, the unknown is not",
			old: strings.Replace(opening, `,"resources":{`, "", 1) + `}]}}}}`, new: strings.Replace(opening, `"resources":{`, `"resources":{"pony":1`, 1) + closing,
			want: []string{`spec.containers[main].resources: added {"pony":1} (restarts: unknown field)`},
		},
		{
			name: "null", why: "R2: what older libraries wrote", old: strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"creationTimestamp":null}`, 1), new: opening + closing,
			want: []string{`metadata.creationTimestamp: removed null (restarts nothing)`},
		},
		{
			name: "null for an object", why: "the object goes with all it has", old: around(`"securityContext":{"runAsUser":1},`), new: around(`"securityContext":null,`),
			want: []string{`spec.securityContext: {"runAsUser":1} -> null (restarts)`},
		},
		{
			name: "entry of a map", why: "it is one although its value is empty", old: opening + closing, new: strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"labels":{"a":null}}`, 1),
			want: []string{`metadata.labels: added {"a":null} (restarts)`},
		},
		{
			name: "entry added to a map", why: "it is one although its value is empty",
			old: strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"labels":{}}`, 1), new: strings.Replace(opening+closing, `"metadata":{}`, `"metadata":{"labels":{"a":null}}`, 1),
			want: []string{`metadata.labels[a]: added null (restarts)`},
		},
		{
			name: "wrong type", why: "it cannot be judged", old: around(`"hostPID":true,`), new: around(`"hostPID":"yes",`),
			want: []string{`spec.hostPID: true -> "yes" (restarts: unreadable value)`},
		},
		{
			name: "list for an object", why: "it cannot be judged", old: around(`"securityContext":{},`), new: around(`"securityContext":[],`),
			want: []string{`spec.securityContext: {} -> [] (restarts: unreadable value)`},
		},
		{
			name: "object for a list", why: "it cannot be judged", old: around(`"tolerations":{"a":1},`), new: around(`"tolerations":{"a":2},`),
			want: []string{`spec.tolerations: {"a":1} -> {"a":2} (restarts: unreadable value)`},
		},
		{
			name: "slow quantity", why: "must end", old: opening + `"limits":{"cpu":"1e-999999999"}` + closing, new: opening + `"limits":{"cpu":"1e-999999998"}` + closing,
			want: []string{`spec.containers[main].resources.limits[cpu]: "1e-999999999" -> "1e-999999998" (restarts: unreadable value)`},
		},
		{
			name: "outside the template", why: "it is in the data, so it shows",
			old: `{"a":1,"spec":{"b":1,"template":{}}}`, new: `{"a":2,"spec":{"b":2,"template":{}}}`,
			want: []string{`$.a: 1 -> 2 (restarts: unknown field)`, `$.spec.b: 1 -> 2 (restarts: unknown field)`},
		},
		{
			name: "no directive", why: "it means nothing", old: `{"spec":{"template":{}}}`, new: `{"spec":{"template":{"$patch":"replace"}}}`,
		},
		{
			name: "another directive", why: "it means something else", old: `{"spec":{"template":{"$patch":"merge"}}}`, new: `{"spec":{"template":{"$patch":"replace"}}}`,
			want: []string{`$.spec.template["$patch"]: "merge" -> "replace" (restarts)`},
		},
		{
			name: "odd field names", why: "a path is read in one way only", old: `{"spec":{"template":{}}}`, new: `{"spec":{"template":{"a.b":{"":1},"":1}}}`,
			want: []string{`[""]: added 1 (restarts: unknown field)`, `["a.b"]: added {"":1} (restarts: unknown field)`},
		},
		{
			name: "numbers that identify", why: "0 and -0 are one port", old: opening + `},"ports":[{"containerPort":0}],"x":{` + closing, new: opening + `},"ports":[{"containerPort":-0}],"x":{` + closing,
			want: []string{`spec.containers[main].ports[0].containerPort: 0 -> -0 (restarts nothing)`},
		},
		{
			name: "quoted identity", why: "a path is read in one way only", old: `{"spec":{"template":{"spec":{"volumes":[]}}}}`, new: `{"spec":{"template":{"spec":{"volumes":[{"name":"a]b"}]}}}}`,
			want: []string{`spec.volumes["a]b"]: added {"name":"a]b"} (restarts)`},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.why == "" {
				t.Fatal("a row needs a reason")
			}
			got, err := history.DiffData([]byte(row.old), []byte(row.new))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, lines(got)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.why, diff)
			}
		})
	}
}

func TestDiffDataErrors(t *testing.T) {
	good := opening + closing
	for _, row := range []struct{ name, why, old, new, says string }{
		{"old", "it is said which", `x`, good, "old: "},
		{"new", "it is said which", good, `x`, "new: "},
		{"no template", "nothing to compare", good, `{}`, "no spec.template"},
		{"field twice", "which one counts is open", `{"spec":{"template":{"a":1,"a":2}}}`, good, "twice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			changes, err := history.DiffData([]byte(row.old), []byte(row.new))
			if row.why == "" || changes != nil || !errors.Is(err, history.ErrUnreadable) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, %v: should say %q", changes, err, row.says)
			}
		})
	}
}

func TestEnumerations(t *testing.T) {
	wantOps := []string{"changed", "added", "removed", "moved"}
	wantWhys := []string{"different", "equivalent", "order", "unknown field", "unreadable value"}
	for i := range 256 {
		op, why := fmt.Sprintf("Op(%d)", i), fmt.Sprintf("Why(%d)", i)
		if i < len(wantOps) {
			op = wantOps[i]
		}
		if i < len(wantWhys) {
			why = wantWhys[i]
		}
		if got := history.Op(i).String(); got != op {
			t.Errorf("%q, want %q", got, op)
		}
		if got := history.Why(i).String(); got != why {
			t.Errorf("%q, want %q", got, why)
		}
	}
}

type diffing func(a, b []byte) ([]history.Change, error)

// showsWhatMatters: nothing differs from itself, something restarts if and only if the data is not the same (R2),
// the paths tell the changes apart, and the other way round the changes are mirrored.
func showsWhatMatters(diff diffing) func(pair) error {
	return func(p pair) error {
		changes, err := diff(p.a, p.b)
		_, errA := understand(p.a)
		_, errB := understand(p.b)
		if err != nil || errA != nil || errB != nil {
			if errA == nil && errB == nil {
				return fmt.Errorf("readable, but: %w", err)
			}
			return nil
		}
		if restarts := history.Restarts(changes); restarts == naiveSame(p.a, p.b) {
			return fmt.Errorf("restarts: %v\n%s\n%s\n%q", restarts, p.a, p.b, changes)
		}
		again, err := diff(p.a, p.a)
		if err != nil {
			return fmt.Errorf("a revision compared with itself: %w", err)
		}
		if len(again) > 0 {
			return fmt.Errorf("a revision differs from itself: %v", again)
		}
		for i, change := range changes {
			if i > 0 && changes[i-1].Path >= change.Path {
				return fmt.Errorf("not sorted: %q", changes)
			}
			if (change.Why == history.Equivalent) == change.Restarts {
				return fmt.Errorf("%q: restarts %v because %s", change, change.Restarts, change.Why)
			}
			if (change.Old == "") != (change.Op == history.Added) || (change.New == "") != (change.Op == history.Removed) {
				return fmt.Errorf("%q: values that do not go with the operation", change)
			}
		}
		back, err := diff(p.b, p.a)
		if err != nil {
			return fmt.Errorf("the other way round: %w", err)
		}
		for i := range back {
			back[i].Old, back[i].New = back[i].New, back[i].Old
			switch back[i].Op {
			case history.Added:
				back[i].Op = history.Removed
			case history.Removed:
				back[i].Op = history.Added
			}
		}
		if !slices.Equal(back, changes) {
			return fmt.Errorf("the other way round: %q, want %q", back, changes)
		}
		return nil
	}
}

func TestDiffDataProperty(t *testing.T) {
	property := showsWhatMatters(history.DiffData)
	rapid.Check(t, func(t *rapid.T) {
		if err := property(pairs().Draw(t, "pair")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDiffProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := templates().Draw(t, "old"), templates().Draw(t, "new")
		changes := history.Changes(a, b)
		if history.Restarts(changes) == naiveSame(mustData(a), mustData(b)) {
			t.Fatalf("%q", changes)
		}
		fromData, err := history.DiffData(mustData(a), mustData(b))
		if err != nil || !slices.Equal(changes, fromData) {
			t.Fatalf("%q, of the data %q, %v", changes, fromData, err)
		}
		if again := history.Changes(a, a.DeepCopy()); again != nil {
			t.Fatalf("differs from itself: %q", again)
		}
	})
}

func FuzzDiffData(f *testing.F) {
	for seed := range 40 {
		p := pairs().Example(seed)
		f.Add(p.a, p.b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if slowQuantity.Match(a) || slowQuantity.Match(b) {
			_, _ = history.DiffData(a, b) // must end, which the oracle need not
			return
		}
		if err := showsWhatMatters(history.DiffData)(pair{a, b}); err != nil {
			t.Fatal(err)
		}
	})
}
