package simulate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/predownload"
)

// How kubelets come by images.

// fetch asks for the images that the node does not have.
func (s *Simulation) fetch(p *pod, object *corev1.Pod) {
	s.enter(p, creating)
	if isSet(p.rules.NoImage) {
		s.enter(p, pulling)
		return
	}
	for _, image := range imagesOf(object) {
		if !s.hasImage(p.node, image) {
			s.registry.begin(s.elapsed, p.node.name, p.node.zone, image, s.bandwidth(p.node))
			s.enter(p, pulling)
		}
	}
}

// hasImage reports whether the node has the image, whatever spelling of its name the node reports.
func (s *Simulation) hasImage(n *node, image string) bool {
	return s.registry.has(n.name, image) || predownload.Reported(n.object.Status.Images, image)
}

func (s *Simulation) bandwidth(n *node) int64 {
	if n.pool == nil {
		return 0
	}
	return n.pool.Bandwidth
}

// imagesOf lists the images of the pod's containers, each once.
func imagesOf(p *corev1.Pod) []string {
	most := len(p.Spec.InitContainers) + len(p.Spec.Containers) + len(p.Spec.Volumes)
	needs := predownload.PodImages(make([]string, 0, most), &p.Spec)
	images := needs[:0]
	for _, image := range needs {
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return images
}

// pulledImage is told of each pull that ends.
func (s *Simulation) pulledImage(pull pulled) {
	n := s.nodes[pull.node]
	if n == nil {
		return
	}
	if n.silent { // it has the image, and tells nobody
		n.late = append(n.late, pull)
		return
	}
	a := n.aheadOf(pull.image)
	if a != nil {
		s.endAhead(a, pull.failed)
	}
	if !pull.failed {
		s.changeImages(n, pull.image)
		if a != nil { // in flight until the watch shows that the node has it
			c := &s.controller
			c.flight.pulls = append(c.flight.pulls, expected[*ahead]{a, n.shown.version})
		}
	}
	for _, p := range slices.Clone(n.pods) {
		if p.stage != pulling || !slices.Contains(imagesOf(p.object), pull.image) {
			continue
		}
		switch {
		case pull.failed:
			object := statusCopy(p.object)
			p.pullsFailed, p.since = p.pullsFailed+1, s.elapsed
			kubelet.SetWaiting(object, kubelet.ErrImagePull)
			s.changePod(p, object)
		case !slices.ContainsFunc(imagesOf(p.object), func(image string) bool { return !s.hasImage(n, image) }):
			p.pullsFailed = 0
			s.enter(p, creating)
			s.schedule(p)
			s.observe(n)
		}
	}
}

// countFlows counts what came from the registry and from peers.
func (s *Simulation) countFlows() {
	for _, f := range s.registry.takeFlows() {
		s.tally.pulled(f.bytes, f.peer)
		from, zone := "registry", ""
		if f.peer {
			from = "peer"
		}
		switch f.outcome {
		case failed:
			from += " failed"
		case cameShort:
			from += " abandoned"
		default:
		}
		if n := s.nodes[f.node]; n != nil {
			zone = n.zone
		}
		s.record(Record{Kind: ImagePulled, Node: f.node, Zone: zone, Bytes: f.bytes, Took: f.took, Detail: from})
	}
}

// changeImages makes the node report an image.
func (s *Simulation) changeImages(n *node, image string) {
	object := new(corev1.Node)
	*object = *n.object
	object.Status.Images = s.imagesWith(n.object.Status.Images, image)
	object.ResourceVersion = s.nextVersion()
	n.object = object
	s.showNode(n, object)
}

// imageList is what a node reports.
type imageList = []corev1.ContainerImage

// longer names the list of images that comes of another list and one more image.
type longer struct {
	first  *corev1.ContainerImage // of the other list; nil: it is empty
	length int
	image  string
}

// imagesWith returns the images with one more. Nodes that report the same list go on to report the same one, because a list for
// each node would take a tenth of the memory of a large fleet.
func (s *Simulation) imagesWith(images imageList, image string) imageList {
	key := longer{length: len(images), image: image}
	if len(images) > 0 {
		key.first = &images[0]
	}
	with, known := s.imageLists[key]
	if !known {
		size := int64(s.registry.size(image))
		with = append(slices.Clone(images), corev1.ContainerImage{Names: []string{image}, SizeBytes: size})
		s.imageLists[key] = with
	}
	return with
}

// ahead is an image that a node pulls before a pod asks for it.
type ahead struct {
	node  *node
	image string
	place int   // in Simulation.pulls
	timer timer // its timeout
}

// addAhead notes that a pull ahead is under way.
func (s *Simulation) addAhead(n *node, image string) *ahead {
	a := &ahead{node: n, image: image, place: len(s.pulls)}
	a.timer.owner = a
	s.pulls, n.ahead = append(s.pulls, a), append(n.ahead, a)
	return a
}

// dropAhead forgets a pull ahead.
func (s *Simulation) dropAhead(a *ahead) {
	s.queue.stop(&a.timer)
	last := s.pulls[len(s.pulls)-1]
	s.pulls[a.place], last.place = last, a.place
	s.pulls = s.pulls[:len(s.pulls)-1]
	a.node.ahead = slices.DeleteFunc(a.node.ahead, func(other *ahead) bool { return other == a })
}

// aheadOf is the pull ahead of the image on the node; nil: none is under way.
func (n *node) aheadOf(image string) *ahead {
	if i := slices.IndexFunc(n.ahead, func(a *ahead) bool { return a.image == image }); i >= 0 {
		return n.ahead[i]
	}
	return nil
}

// fire is the timeout.
func (a *ahead) fire(s *Simulation) {
	if !slices.ContainsFunc(a.node.pods, func(p *pod) bool { return p.stage == pulling }) {
		s.registry.cancel(s.elapsed, a.node.name, a.image)
	}
	s.endAhead(a, true)
}

// endAhead ends the pull of an image ahead.
func (s *Simulation) endAhead(a *ahead, failed bool) {
	s.dropAhead(a)
	of := func(f predownload.Failure) bool { return f.Node == a.node.name && f.Image == a.image }
	count := int32(0)
	if at := slices.IndexFunc(s.failedPulls, of); at >= 0 {
		count = s.failedPulls[at].Count
	}
	s.failedPulls = slices.DeleteFunc(s.failedPulls, of)
	if failed {
		s.failedPulls = append(s.failedPulls, predownload.Failure{
			Node: a.node.name, Image: a.image, Count: count + 1, At: s.now(),
		})
	}
	s.controller.dirty = true
}
