package verify

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// checkPulls is V10, and what V12 and V14 say of one pull.
func (v *verifier) checkPulls() {
	if len(v.plan.Pulls) == 0 {
		return
	}
	if v.spec.PreDownload == nil {
		v.report(10, "", "D1: %d pulls, although the spec asks for none", len(v.plan.Pulls))
		return
	}
	if v.spec.Strategy.Paused || v.spec.Strategy.Frozen {
		v.report(10, "", "D1: %d pulls, although the rollout is paused or frozen", len(v.plan.Pulls))
	}
	if ready, needed := v.updatedReady(); ready < needed {
		v.report(10, "", "D1: %d pulls, although only %d of %d minUpdatedReadyPods are ready", len(v.plan.Pulls), ready, needed)
	}
	order := v.waitingOrder()
	turns := make(map[string]int, len(order)) // counted from 1
	for i, node := range order {
		turns[node.name] = i + 1
	}
	images := predownload.Images(&v.spec.Template)
	inFlight := make(map[string]map[string]bool)
	for _, image := range images {
		inFlight[image] = v.pullsInFlight(image)
	}
	for i := range v.plan.Pulls {
		pull := &v.plan.Pulls[i]
		v.checkPull(pull, images, turns[pull.Node] > 0, inFlight[pull.Image][pull.Node])
	}
	for i := 1; i < len(v.plan.Pulls); i++ {
		a, b := &v.plan.Pulls[i-1], &v.plan.Pulls[i]
		if turns[a.Node] > turns[b.Node] {
			v.report(10, b.Node, "D2: pull after that of node %s, right is before: it is updated earlier", a.Node)
		}
	}
	for _, image := range images {
		v.checkParallelism(image, order)
	}
}

// updatedReady counts the nodes with a ready pod of the update revision, and says how many there must be before the first
// pull (D1).
func (v *verifier) updatedReady() (ready, needed int) {
	ready = v.count(func(node *node) bool {
		return node.outcome == placement.Run && node.any(func(p *pod) bool { return p.active() && p.updated && p.ready })
	})
	return ready, ofDesired(v.spec.PreDownload.MinUpdatedReadyPods, v.limits.desired, 99)
}

// waitingOrder lists the nodes that wait for an update in the order in which they will be admitted (B6).
func (v *verifier) waitingOrder() []*node {
	var order []*node
	for _, node := range v.nodes {
		if v.waits(node) && !node.goesStable {
			order = append(order, node)
		}
	}
	slices.SortFunc(order, func(a, b *node) int {
		return cmp.Or(trueFirst(!a.bestOutdated.ready, !b.bestOutdated.ready), cmp.Compare(b.name, a.name))
	})
	return order
}

// checkPull judges one pull, of a node that waits for its update or not, which is in flight or not.
func (v *verifier) checkPull(pull *rollout.Pull, images []string, waits, inFlight bool) {
	node := v.nodeOf(pull.Node)
	switch {
	case node == nil:
		v.report(10, pull.Node, "pull of %s on a node that is not in the snapshot", pull.Image)
	case !slices.Contains(images, pull.Image):
		v.report(10, pull.Node, "D1: pull of %s, which is no image of the update revision", pull.Image)
	case inFlight:
		v.report(14, pull.Node, "pull of %s, which is in flight", pull.Image)
	case node.goesStable:
		v.report(10, pull.Node, "D1: pull of %s on a node that is to end at the stable revision (T6)", pull.Image)
	case !waits:
		v.report(10, pull.Node, "D1: pull of %s on a node that does not wait for an update (state %s)", pull.Image, v.state(node))
	case !v.needs(node, pull.Image):
		v.report(10, pull.Node, "D1: pull of %s, which the node reports or its pod uses", pull.Image)
	case !v.mayPull(node, pull.Image):
		v.report(10, pull.Node, "D1: pull of %s, which failed there: its back-off is not over, or it is not tried again",
			pull.Image)
	}
	var secrets []string
	options := v.spec.PreDownload
	for _, secret := range v.spec.Template.Spec.ImagePullSecrets {
		secrets = append(secrets, secret.Name)
	}
	if pull.Revision != v.plan.Status.UpdateRevision || !slices.Equal(pull.Secrets, secrets) ||
		pull.Timeout != time.Duration(options.TimeoutSeconds)*time.Second || pull.BackoffLimit != *options.BackoffLimit {
		v.report(12, pull.Node, "D1: pull of %s for revision %q with secrets %q, timeout %s and back-off limit %d, right are "+
			"%q, %q, %d s and %d", pull.Image, pull.Revision, pull.Secrets, pull.Timeout, pull.BackoffLimit,
			v.plan.Status.UpdateRevision, secrets, options.TimeoutSeconds, *options.BackoffLimit)
	}
}

// checkParallelism is V10 for one image, and D2: the nodes that are updated first get it first.
func (v *verifier) checkParallelism(image string, order []*node) {
	pulled := make(map[string]bool)
	for i := range v.plan.Pulls {
		if pull := &v.plan.Pulls[i]; pull.Image == image {
			if pulled[pull.Node] {
				v.report(14, pull.Node, "second pull of %s", image)
			}
			pulled[pull.Node] = true
		}
	}
	if len(pulled) == 0 {
		return
	}
	skipped := ""
	inFlight, needing := v.demand(image, order)
	for _, node := range needing {
		switch {
		case pulled[node.name] && skipped != "":
			v.report(10, node.name, "D2: pull of %s, although %s is updated earlier and gets none", image, skipped)
		case !pulled[node.name] && skipped == "" && v.mayPull(node, image):
			skipped = node.name
		}
	}
	limit := ofDesired(v.spec.PreDownload.Parallelism, inFlight+len(needing)+v.mayNeed(image), 99)
	if n := inFlight + len(pulled); n > limit {
		v.report(10, "", "%d pulls of %s, %d in flight included, right are at most %d (D1)", n, image, inFlight, limit)
	}
}

// demand is how many nodes pull the image already, and which of those that wait for an update need it beside, in order.
func (v *verifier) demand(image string, order []*node) (inFlight int, needing []*node) {
	pulling := v.pullsInFlight(image)
	for _, node := range order {
		if !pulling[node.name] && v.needs(node, image) {
			needing = append(needing, node)
		}
	}
	return len(pulling), needing
}

// mayNeed is how many more nodes need the image if the plan, which has more important things to say of them, takes them for nodes
// that wait for an update.
func (v *verifier) mayNeed(image string) int {
	pulling := v.pullsInFlight(image)
	return v.count(func(node *node) bool {
		return node.mightWait && node.mayWait && !v.waits(node) && !node.goesStable && !pulling[node.name] && v.needs(node, image)
	})
}

// checkPullWakes is the part of V15 about pulls: a node whose turn it is, but for a back-off.
func (v *verifier) checkPullWakes() {
	options := v.spec.PreDownload
	if options == nil || v.spec.Strategy.Paused || v.spec.Strategy.Frozen {
		return
	}
	if ready, needed := v.updatedReady(); ready < needed {
		return
	}
	order := v.waitingOrder()
	for _, image := range predownload.Images(&v.spec.Template) {
		inFlight, needing := v.demand(image, order)
		room := ofDesired(options.Parallelism, inFlight+len(needing), 99) - inFlight
		for _, node := range needing {
			switch failure, failed := v.failure(node, image); {
			case !failed || !failure.Until(v.snapshot.Now).After(v.snapshot.Now) && failure.Count <= *options.BackoffLimit:
				room--
			case failure.Count <= *options.BackoffLimit && room > 0:
				v.checkWake(node.name, failure.Until(v.snapshot.Now), "D1: the back-off of the pull of "+image+" ends")
			}
		}
	}
}

// pullsInFlight are the nodes that pull the image, under whatever spelling.
func (v *verifier) pullsInFlight(image string) map[string]bool {
	nodes := make(map[string]bool)
	for _, request := range v.snapshot.InFlight.Pulls {
		if sameImage(request.Image, image) {
			nodes[request.Node] = true
		}
	}
	return nodes
}

func sameImage(a, b string) bool {
	return predownload.Reported([]corev1.ContainerImage{{Names: []string{a}}}, b)
}

// needs reports whether neither the node nor its outdated pod has the image.
func (v *verifier) needs(node *node, image string) bool {
	candidate := predownload.Candidate{Node: node.name, Present: node.object.Status.Images}
	spec := &node.bestOutdated.object.Spec
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			candidate.Uses = append(candidate.Uses, containers[i].Image)
		}
	}
	for i := range spec.Volumes {
		if source := spec.Volumes[i].Image; source != nil {
			candidate.Uses = append(candidate.Uses, source.Reference)
		}
	}
	return len(predownload.Needs(candidate, []string{image})) > 0
}

// mayPull reports whether no failure keeps the image from being pulled on the node now.
func (v *verifier) mayPull(node *node, image string) bool {
	failure, failed := v.failure(node, image)
	return !failed || failure.Count <= *v.spec.PreDownload.BackoffLimit && !failure.Until(v.snapshot.Now).After(v.snapshot.Now)
}

// failure is how pulls of the image failed on the node. Of several records the most cautious parts count.
func (v *verifier) failure(node *node, image string) (predownload.Failure, bool) {
	worst, failed := predownload.Failure{}, false
	for _, failure := range v.failuresOf(node) {
		if !sameImage(failure.Image, image) {
			continue
		}
		worst.Count = max(worst.Count, failure.Count, 1)
		if !failed || failure.At.After(worst.At) {
			worst.At = failure.At
		}
		failed = true
	}
	return worst, failed
}

// failuresOf are the records of failed pulls on the node.
func (v *verifier) failuresOf(node *node) []predownload.Failure {
	if v.failures == nil {
		v.failures = make(map[string][]predownload.Failure)
		for _, failure := range v.snapshot.FailedPulls {
			v.failures[failure.Node] = append(v.failures[failure.Node], failure)
		}
	}
	return v.failures[node.name]
}
