package auditor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func ready(uid, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// A reflector that lists anew tells one change: two nodes whose pods were replaced meanwhile were not seen down.
func TestFeed(t *testing.T) {
	f := &feed{Auditor: &Auditor{}, listed: make(chan struct{})}
	var store cache.ReflectorStore = f
	select {
	case <-f.listed:
		t.Fatal("nothing was listed yet")
	default:
	}
	step := func(err error, want Counts) {
		t.Helper()
		got := f.Counts()
		if err != nil || got.Created != want.Created || got.Deleted != want.Deleted || got.Peak != want.Peak {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	step(store.Replace([]any{ready("a", "n1"), ready("b", "n2")}, "1"), Counts{Created: 2})
	<-f.listed
	step(store.Replace([]any{ready("c", "n1"), ready("d", "n2")}, "5"), Counts{Created: 4, Deleted: 2})
	step(store.Delete(ready("c", "n1")), Counts{Created: 4, Deleted: 3, Peak: 1})
	step(store.Add(ready("e", "n1")), Counts{Created: 5, Deleted: 3, Peak: 1})
	gone := ready("d", "n2")
	gone.Status = corev1.PodStatus{}
	step(store.Update(gone), Counts{Created: 5, Deleted: 3, Peak: 1})
	step(store.Delete(ready("e", "n1")), Counts{Created: 5, Deleted: 4, Peak: 2})
	if err := store.Replace([]any{&corev1.Node{}}, "9"); err == nil || err.Error() != "*v1.Node is no pod" {
		t.Errorf("%v, want what is no pod", err)
	}
	step(nil, Counts{Created: 5, Deleted: 4, Peak: 2})
}
