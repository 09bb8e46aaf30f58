package simulate

import (
	"strconv"

	"github.com/daemonplan/daemonplan/internal/kubelet"
)

// hookTimer fires when the controllers of hooks act on a pod.
type hookTimer struct {
	timer timer
	pod   *pod
}

func (s *Simulation) scheduleHook(p *pod) {
	asked, _ := kubelet.Asked(p.object, s.spec.Lifecycle)
	if !asked || s.random.happens(s.scenario.Model.StubbornHooks, "stubborn", p.object.Name) {
		s.queue.stop(&p.hook.timer)
		return
	}
	key := p.object.Name + "/" + strconv.FormatInt(int64(p.asked), 10)
	s.queue.put(&p.hook.timer, max(p.asked+s.random.durationOf(s.scenario.Model.Hooks, "hook", key), s.elapsed))
}

// fire makes the controllers do what the pod asks of them.
func (h *hookTimer) fire(s *Simulation) {
	object := h.pod.object.DeepCopy()
	kubelet.SeeTo(object, s.spec.Lifecycle, s.stamp())
	s.report(h.pod, object)
	s.changePod(h.pod, object)
}
