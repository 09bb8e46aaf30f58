package rollout_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// placed is what a plan says of each node, in its order: the name, and whether there is a pod.
type placed []string

func placedOn(node string, pods int) string { return fmt.Sprintf("%s %v", node, pods > 0) }

// fleetOf draws a fleet with nodes of those names and up to three pods on each, both lists in random order. The naive oracle
// sorts the names and counts the pods.
func fleetOf(random *rand.Rand, names []string) (rollout.Snapshot, placed) {
	snapshot := rollout.Snapshot{Now: rollouttest.Noon()}
	pods := map[string]int{}
	for _, name := range names {
		snapshot.Nodes = append(snapshot.Nodes, rollouttest.Node(name))
		for range max(0, random.IntN(6)-2) {
			uid := fmt.Sprintf("%016x", random.Uint64())
			snapshot.Pods = append(snapshot.Pods, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "agent-" + uid, UID: types.UID(uid), Labels: map[string]string{"app": "agent"}},
				Spec:       corev1.PodSpec{NodeName: name},
				Status:     corev1.PodStatus{Phase: corev1.PodFailed},
			})
			pods[name]++
		}
	}
	random.Shuffle(len(snapshot.Nodes), func(i, j int) {
		snapshot.Nodes[i], snapshot.Nodes[j] = snapshot.Nodes[j], snapshot.Nodes[i]
	})
	random.Shuffle(len(snapshot.Pods), func(i, j int) {
		snapshot.Pods[i], snapshot.Pods[j] = snapshot.Pods[j], snapshot.Pods[i]
	})
	var want placed
	for _, name := range slices.Sorted(slices.Values(names)) {
		want = append(want, placedOn(name, pods[name]))
	}
	return snapshot, want
}

// drawNames draws that many different names of those letters, up to a length, behind a prefix.
func drawNames(random *rand.Rand, count int, prefix, letters string, length int) []string {
	seen := map[string]bool{}
	for len(seen) < count {
		var name strings.Builder
		name.WriteString(prefix)
		for range 1 + random.IntN(length) {
			name.WriteByte(letters[random.IntN(len(letters))])
		}
		seen[name.String()] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// checkDeletes fails the test if nothing is deleted, or a pod is not deleted from its own node. The pods have all Failed.
func checkDeletes(t *testing.T, snapshot rollout.Snapshot, plan rollout.Plan) {
	t.Helper()
	nodes := map[types.UID]string{}
	for _, pod := range snapshot.Pods {
		nodes[pod.UID] = pod.Spec.NodeName
	}
	if len(nodes) > 0 && len(plan.Deletes) == 0 {
		t.Fatal("nothing is deleted")
	}
	for _, d := range plan.Deletes {
		if d.Node != nodes[d.UID] {
			t.Fatalf("pod %s is deleted from node %q, want %q", d.Pod, d.Node, nodes[d.UID])
		}
	}
}

func TestDecisionsAreInTheOrderOfNames(t *testing.T) {
	rows := uniqueRows{}
	for _, tt := range []struct {
		name, why       string
		count           int
		prefix, letters string
		length          int
	}{
		{"one", "nothing to sort", 1, "node-", "0123456789", 4},
		{"few", "sorted by comparing", 100, "node-", "0123456789", 4},
		{"many", "sorted by counting, several blocks of nodes and pods", 1500, "ip-10-0-", "0123456789-", 6},
		{"nothing in common", "no prefix to leave out", 700, "", "abcdefghijklmnopqrstuvwxyz.-0123456789", 12},
		{"long and alike", "many agree in the eight bytes that are compared first", 600, "pool-", "ab", 24},
		{"beginnings of others", "a name that ends sorts before those that go on", 400, "a", "a0", 11},
		{"any byte", "the API server refuses such names, a simulation need not", 500, "x", "\x00\x01\x7f\x80\xff", 9},
	} {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			planner, err := rollout.New(rollouttest.Spec("agent", rollouttest.Burst("100%")))
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(5) {
				random := rand.New(rand.NewPCG(seed, 1))
				snapshot, want := fleetOf(random, drawNames(random, tt.count, tt.prefix, tt.letters, tt.length))
				plan, err := planner.Plan(snapshot)
				if err != nil {
					t.Fatal(err)
				}
				var got placed
				for i := range plan.Decisions {
					d := &plan.Decisions[i]
					got = append(got, fmt.Sprintf("%s %v", d.Node, d.Facts.Has(status.Present)))
				}
				if !slices.Equal(got, want) {
					at := 0
					for got[at] == want[at] {
						at++
					}
					t.Fatalf("seed %d: decision %d is about %q, want %q: %s", seed, at, got[at], want[at], tt.why)
				}
				checkDeletes(t, snapshot, plan)
				doubled := snapshot.Nodes[random.IntN(len(snapshot.Nodes))]
				snapshot.Nodes = slices.Insert(slices.Clone(snapshot.Nodes), random.IntN(len(snapshot.Nodes)), doubled)
				if _, err := planner.Plan(snapshot); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("two nodes %q", doubled.Name)) {
					t.Fatalf("seed %d: a second node %q gives %v", seed, doubled.Name, err)
				}
			}
		})
	}
}
