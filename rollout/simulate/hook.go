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
		p.stopHook(s)
		return
	}
	if p.hook == nil {
		p.hook = &hookTimer{pod: p}
		p.hook.timer.owner = p.hook
	}
	key := p.object.Name + "/" + strconv.FormatInt(int64(p.asked), 10)
	s.queue.put(&p.hook.timer, max(p.asked+s.random.durationOf(s.scenario.Model.Hooks, "hook", key), s.elapsed))
}

// stopHook calls off what the controllers of hooks were about to do with the pod.
func (p *pod) stopHook(s *Simulation) {
	if p.hook != nil {
		s.queue.stop(&p.hook.timer)
	}
}

// fire makes the controllers do what the pod asks of them.
func (h *hookTimer) fire(s *Simulation) {
	object := h.pod.object.DeepCopy()
	kubelet.SeeTo(object, s.spec.Lifecycle, s.stamp())
	s.report(h.pod, object)
	s.changePod(h.pod, object)
}
