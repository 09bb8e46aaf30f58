package simulate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// podStage is how far a pod has come.
type podStage uint8

const (
	unbound  podStage = iota // waits for the scheduler
	pulling                  // bound; an image is missing
	creating                 // its images are there, its containers do not run
	readying                 // they run, and are not ready
	ready                    // they are
	crashed                  // they have ended, and are started again after a back-off
	finished                 // it has Failed or Succeeded
	gone
)

// act is what happens to a pod next.
type act uint8

const (
	actNone act = iota
	actBind
	actUnschedulable
	actStart
	actReady
	actCrash
	actAgain // after a back-off
	actFail
	actStop // for other images
	actResize
	actNoImage
	actGone
)

// foregroundCrashes is how many crashes without being ready a pod may have before it no longer keeps a run from its end.
// wellAfter is how long a container has to run for its kubelet to forget that it crashed before.
const (
	foregroundCrashes = 12
	wellAfter         = 10 * time.Minute
)

// schedule sets the pod's timers to what is to happen next.
func (s *Simulation) schedule(p *pod) {
	if p.stage == gone {
		return
	}
	next, at := s.due(p)
	p.next = next
	if background := s.recurs(p); background != p.timer.background {
		s.queue.stop(&p.timer)
		p.timer.background = background
	}
	if next == actNone {
		s.queue.stop(&p.timer)
	} else {
		s.queue.put(&p.timer, max(at, s.elapsed))
	}
	s.scheduleHook(p)
}

// recurs reports whether what happens to the pod next recurs without end: a pod that was ready ends, or one that never becomes
// ready crashes once more.
func (s *Simulation) recurs(p *pod) bool {
	if p.runs.Crash.isSet() && p.runs.Crashes > 0 {
		return false
	}
	if p.crashes <= foregroundCrashes && p.node != nil && s.trying() && s.isUpdate(p) {
		return false // the canary is judged by it
	}
	return p.stage == ready && (p.next == actCrash || p.next == actFail) || p.sickly > foregroundCrashes
}

// trying reports whether a canary was on trial in the last plan.
func (s *Simulation) trying() bool {
	return s.canary.Phase == canary.Running || s.canary.Phase == canary.Paused
}

// due returns what happens to the pod next, and when.
func (s *Simulation) due(p *pod) (act, time.Duration) {
	marked, bound := p.object.DeletionTimestamp != nil, p.object.Spec.NodeName != ""
	switch {
	case marked && len(p.object.Finalizers) > 0:
		return actNone, 0
	case bound && (p.node == nil || p.node.gone):
		return actGone, p.since + collected
	case bound && p.node.silent:
		return actNone, 0
	case marked && !bound:
		return actGone, s.elapsed
	case marked:
		grace := time.Duration(0)
		if seconds := p.object.DeletionGracePeriodSeconds; seconds != nil {
			grace = time.Duration(*seconds) * time.Second
		}
		return actGone, p.marked + min(s.draw(p.rules.Stop, "stop", p), grace)
	case p.node == nil || p.node.gone:
		return actNone, 0
	}
	switch p.stage {
	case unbound:
		at := p.since + s.draw(s.scenario.Model.Schedule, "schedule", p)
		if s.fits(p) {
			return actBind, at
		}
		if kubelet.ConditionStatus(p.object, corev1.PodScheduled) == corev1.ConditionFalse {
			return actNone, 0
		}
		return actUnschedulable, at
	case pulling:
		if isSet(p.rules.NoImage) {
			switch kubelet.WaitingFor(p.object) {
			case kubelet.ErrImagePull:
				return actNoImage, p.since + kubelet.PullBackOff
			case kubelet.ImagePullBackOff:
				return actNone, 0
			}
			return actNoImage, p.since
		}
		if p.pullsFailed > 0 && kubelet.WaitingFor(p.object) == kubelet.ErrImagePull {
			return actAgain, p.since + kubelet.BackOff(int32(p.pullsFailed))
		}
		return actNone, 0 // the registry's turn
	case creating:
		return actStart, p.since + s.draw(p.rules.Create, "create", p) + s.draw(p.rules.Start, "start", p)
	case readying, ready:
		return s.dueRunning(p)
	case crashed:
		return actAgain, p.since + kubelet.BackOff(int32(p.inARow))
	default:
		return actNone, 0
	}
}

// dueRunning is what happens next to a pod whose containers run.
func (s *Simulation) dueRunning(p *pod) (act, time.Duration) {
	next, at := actNone, time.Duration(0)
	propose := func(a act, when time.Duration) {
		if next == actNone || when < at {
			next, at = a, when
		}
	}
	if p.stage == readying && !isSet(p.runs.NeverReady) {
		propose(actReady, p.up+s.draw(p.runs.Ready, "ready", p))
	}
	if p.runs.Crash.isSet() && (p.runs.Crashes == 0 || p.crashes < p.runs.Crashes) {
		propose(actCrash, p.up+s.draw(p.runs.Crash, "crash", p))
	}
	if p.runs.Fail.isSet() {
		propose(actFail, p.up+s.draw(p.runs.Fail, "fail", p))
	}
	if s.anyOutdated(p) {
		propose(actStop, p.changed+s.draw(p.rules.Restart, "restart", p))
	}
	for i := range kubelet.Count(p.object) {
		if len(kubelet.Resized(p.object, i)) > 0 {
			propose(actResize, p.changed+s.draw(p.rules.Resize, "resize", p))
			break
		}
	}
	return next, at
}

func (s *Simulation) anyOutdated(p *pod) bool {
	for i := range kubelet.Count(p.object) {
		if s.outdated(p, i) {
			return true
		}
	}
	return false
}

// outdated reports whether a container is to be replaced by another one. It is so only in sets that are updated in place.
func (s *Simulation) outdated(p *pod, i int) bool {
	return kubelet.HasGate(p.object, lifecycle.InPlaceUpdateReady) &&
		kubelet.Outdated(p.object, i, p.running[i], s.spec.Strategy.InPlace.EnvFromMetadata)
}

// fire does what is due.
func (p *pod) fire(s *Simulation) {
	if p.next == actGone {
		s.removePod(p)
		return
	}
	object, now := statusCopy(p.object), s.stamp()
	switch p.next {
	case actBind:
		if !s.fits(p) { // another pod was bound at this instant
			kubelet.Unschedulable(object, s.excluded(p), s.stamp())
			break
		}
		kubelet.Bind(object, p.node.name, now)
		if !p.node.silent {
			kubelet.Notice(object, now)
		}
		kubelet.SetWaiting(object, kubelet.ContainerCreating)
		p.attempt++
		s.fetch(p, object)
	case actUnschedulable:
		kubelet.Unschedulable(object, s.excluded(p), now)
	case actStart:
		s.startUp(p, object)
	case actReady:
		s.enter(p, ready)
		p.sickly = 0
		for i := range kubelet.Count(object) {
			kubelet.SetContainerReady(object, kubelet.Container(object, i).Name, true)
		}
	case actCrash:
		s.crash(p, object)
	case actAgain:
		p.attempt++
		s.fetch(p, object)
	case actFail:
		s.enter(p, finished)
		kubelet.Fail(object, now)
	case actStop:
		s.stop(p, object)
	case actResize:
		s.resize(p, object)
	case actNoImage:
		reason := kubelet.ErrImagePull
		if kubelet.WaitingFor(object) == reason {
			reason = kubelet.ImagePullBackOff
		}
		kubelet.SetWaiting(object, reason)
	default:
		return
	}
	s.report(p, object)
	s.changePod(p, object)
}

// statusCopy is a copy of a pod whose status and spec.nodeName may be written to, which is all that a kubelet and the scheduler
// change. The rest is shared, which halves the memory that a large fleet takes.
func statusCopy(object *corev1.Pod) *corev1.Pod {
	out := new(corev1.Pod)
	*out = *object
	object.Status.DeepCopyInto(&out.Status)
	return out
}

func (s *Simulation) enter(p *pod, next podStage) { p.stage, p.since = next, s.elapsed }

// report writes to the object whether the pod is Ready: its containers are ready, its gates are open, and its node is not
// silent.
func (s *Simulation) report(p *pod, object *corev1.Pod) {
	is := kubelet.ConditionStatus(object, corev1.PodReady) == corev1.ConditionTrue
	switch be := p.stage == ready && kubelet.GatesOpen(object) && p.node != nil && !p.node.silent; {
	case be && !is:
		kubelet.Ready(object, s.stamp())
	case !be && is:
		kubelet.Unready(object, s.stamp())
	}
}

// startUp starts the containers that do not run what the pod says.
func (s *Simulation) startUp(p *pod, object *corev1.Pod) {
	s.enter(p, readying)
	p.up, p.runs = s.elapsed, p.rules
	object.Status.Phase = corev1.PodRunning
	for i := range kubelet.Count(object) {
		status := kubelet.StatusOf(object, kubelet.Container(object, i).Name)
		if status == nil || status.State.Running == nil || s.outdated(p, i) {
			again := kubelet.HasRun(object, i)
			p.running[i] = kubelet.StartContainer(object, i, nil, s.stamp())
			if again {
				s.restarted(p, object, i)
			}
		}
	}
}

// restarted counts a container that was started again.
func (s *Simulation) restarted(p *pod, object *corev1.Pod, i int) {
	s.tally.restarted(p.crashes > 0)
	r := s.about(p, ContainerRestarted, kubelet.Container(object, i).Name)
	r.Revision = revisionOf(object)
	if p.crashes > 0 {
		r.Count = 1
	}
	s.record(r)
}

// crash ends the pod's first container.
func (s *Simulation) crash(p *pod, object *corev1.Pod) {
	if len(object.Spec.Containers) == 0 {
		return
	}
	if p.stage != ready {
		p.sickly++
	}
	if s.elapsed-p.up >= wellAfter {
		p.inARow = 0
	}
	s.enter(p, crashed)
	p.crashes++
	p.inARow++
	kubelet.Crash(object, 0, 1, "Error", s.stamp())
}

// stop ends the containers that are to be replaced. Like a kubelet it asks for the new images only then.
func (s *Simulation) stop(p *pod, object *corev1.Pod) {
	for i := range kubelet.Count(object) {
		if s.outdated(p, i) {
			kubelet.SetContainerReady(object, kubelet.Container(object, i).Name, false)
		}
	}
	p.attempt++
	p.crashes, p.inARow = 0, 0
	s.fetch(p, object)
}

// resize gives containers the resources that the pod's spec asks for, and restarts those that have to restart for that.
func (s *Simulation) resize(p *pod, object *corev1.Pod) {
	restart := false
	for i := range kubelet.Count(object) {
		changed := kubelet.Resized(object, i)
		if len(changed) == 0 {
			continue
		}
		if kubelet.RestartsFor(kubelet.Container(object, i), changed) {
			restart = true
			p.running[i] = kubelet.RestartContainer(object, i, nil, s.stamp())
			s.restarted(p, object, i)
		} else {
			kubelet.ResizeContainer(object, i)
		}
	}
	if restart {
		p.attempt++
		s.enter(p, readying)
		p.up, p.runs = s.elapsed, p.rules
	}
}

func isSet(b *bool) bool { return b != nil && *b }
