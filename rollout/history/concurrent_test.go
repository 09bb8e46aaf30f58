package history_test

import (
	"reflect"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestConcurrentUse is for the race detector: one resolver resolves one history in several goroutines. It compares with the answer
// of one goroutine.
func TestConcurrentUse(t *testing.T) {
	template := func(image string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
	}
	set := history.Set{Name: "agent", Namespace: "ns", UID: "set"}
	var revisions []*appsv1.ControllerRevision
	for _, image := range []string{"agent:v1", "agent:v2"} {
		resolver, err := history.Compile(set, template(image))
		if err != nil {
			t.Fatal(err)
		}
		resolution, err := resolver.Resolve(history.Input{Revisions: revisions})
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, resolution.Create)
	}
	resolver, err := history.Compile(set, template("agent:v1"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := resolver.Resolve(history.Input{Revisions: revisions})
	if err != nil {
		t.Fatal(err)
	}
	if want.Renumber == nil {
		t.Fatalf("a rollback renumbers: %+v", want)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				if got, err := resolver.Resolve(history.Input{Revisions: revisions}); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v and %v, alone %+v", got, err, want)
				}
			}
		})
	}
	group.Wait()
}
