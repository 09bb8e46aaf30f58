package inplace_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// violation moves a pod through revisions: users change their mind mid-way and roll back, kubelets are late, patches get
// lost. Once users and images are at rest, the pod gets where it should be. It returns what went wrong; "" if nothing.
func violation(t *rapid.T, steps steps) (text string) {
	defer func() {
		if f := recover(); f != nil {
			failed, ok := f.(failure)
			if !ok {
				panic(f)
			}
			text = string(failed)
		}
	}()
	r := newRollout(t, steps)
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		r.now = r.now.Add(time.Duration(rapid.IntRange(r.shortest(), 2).Draw(t, "seconds")) * time.Second)
		// A resize whose spec patch was lost shows nowhere: it is made good by the same update only.
		if rapid.IntRange(0, 4).Draw(t, "change") == 0 && !r.halfSent {
			r.target = rapid.IntRange(0, len(r.templates)-1).Draw(t, "target")
		}
		if rapid.IntRange(0, 5).Draw(t, "break") == 0 {
			image := rapid.SampledFrom([]string{"app:1", "app:2"}).Draw(t, "image")
			r.kubelet.broken[image] = !r.kubelet.broken[image]
		}
		r.control()
		r.truthful()
		r.work(false)
		r.truthful()
	}
	clear(r.kubelet.broken)
	r.calm = true
	for range 40 {
		if r.converged() {
			return ""
		}
		r.now = r.now.Add(2 * time.Second)
		r.control()
		r.truthful()
		r.work(true)
	}
	r.Fatalf("still not there: %v, ready %v", inplace.Completed(r.pod), lifecycle.Ready(r.pod))
	return ""
}

func rollouts(t *rapid.T) {
	if text := violation(t, realSteps); text != "" {
		t.Fatal(text)
	}
}

func TestRollouts(t *testing.T) { rapid.Check(t, rollouts) }
func FuzzRollouts(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(rollouts)) }
