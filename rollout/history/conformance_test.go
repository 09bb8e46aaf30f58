package history_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/dump"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// What kube-controller-manager v1.36.3 stored and computed. A set that comes from there goes on as it was: the data of its template
// is the same, byte for byte (R1), and so its revision is found under the hash that it has (R2). A hash that is computed anew is
// another with each API that adds a field to templates, in that controller as here; but for those fields it is the same (R1).
func TestConformanceRevisions(t *testing.T) {
	cases := 0
	for name, line := range conformance.Lines(t, "kubernetes/revision.jsonl") {
		cases++
		t.Run(name, func(t *testing.T) {
			var recorded struct {
				Template       corev1.PodTemplateSpec `json:"template"`
				CollisionCount *int32                 `json:"collisionCount"`
				Hash           string                 `json:"hash"`
				Patch          string                 `json:"patch"`
			}
			if err := json.Unmarshal(line, &recorded); err != nil {
				t.Fatal(err)
			}
			data, err := history.Data(&recorded.Template)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != recorded.Patch {
				t.Errorf("R1: data differs:\n got %s\nwant %s", data, recorded.Patch)
			}
			revision := &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Name:   "agent-" + recorded.Hash,
					Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: recorded.Hash},
				},
				Data: runtime.RawExtension{Raw: []byte(recorded.Patch)}, Revision: 1,
			}
			resolver, err := history.Compile(history.Set{Name: "agent"}, &recorded.Template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := resolver.Resolve(history.Input{
				Revisions: []*appsv1.ControllerRevision{revision}, CollisionCount: recorded.CollisionCount,
			})
			if err != nil || got.Update.Existing != revision || got.Update.Hash != recorded.Hash {
				t.Errorf("R2: the update revision is %+v (error %v), want the recorded one", got.Update, err)
			}
			if _, err := history.Template(revision); err != nil {
				t.Errorf("decoding what the controller stored: %v", err)
			}

			//nolint:govet,staticcheck // as templateSum
			text := dump.ForHash(recorded.Template)
			want := naiveHash(text, recorded.CollisionCount)
			if got := history.Hash(&recorded.Template, recorded.CollisionCount); got != want {
				t.Errorf("R1: hash %s, want %s", got, want)
			}
			if got := resolver.Hash(recorded.CollisionCount); got != want {
				t.Errorf("R1: compiled hash %s, want %s", got, want)
			}
			if got := naiveHash(later.ReplaceAllString(text, "$1"), recorded.CollisionCount); got != recorded.Hash {
				t.Errorf("R1: hash %s without the fields that came later, want %s", got, recorded.Hash)
			}
		})
	}
	if cases != 200 {
		t.Errorf("%d recorded cases, want 200", cases)
	}
}

// later are the fields that templates got after v1.36, in the dump of a template that sets none of them. An emptyDir has a mode now,
// as items of other volumes had before.
var later = regexp.MustCompile(` (?:User|DefaultUser):\(\*int64\)<nil>| Mode:\(\*v1\.GRPCProbeMode\)<nil>` +
	`| Protocol:\(\*v1\.HTTPProtocol\)<nil>| BindMountOptions:\(\[\]string\)<nil>` +
	`| EvictionResponders:\(\[\]v1\.EvictionResponder\)<nil>|(EmptyDirVolumeSource\){.*?) Mode:\(\*int32\)<nil>`)

// naiveHash is FNV-32a over the dump of a template and the collision count, in letters that spell no words.
func naiveHash(text string, collisionCount *int32) string {
	hasher := fnv.New32a()
	hasher.Write([]byte(text))
	if collisionCount != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisionCount))
		hasher.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}
