package predownload

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Candidate is a node with an outdated pod that is to be updated to the update revision (D1).
type Candidate struct {
	// Node is its name. A candidate without one is passed over.
	Node string
	// Present is what the node reports in status.images. A kubelet reports the 50 largest images by default, so an image
	// that is not listed may be there all the same; pulling it again costs little.
	Present []corev1.ContainerImage
	// Uses are the images of the node's outdated pod, those of init containers and volumes included ([PodImages]). Nil or empty:
	// none is known.
	Uses []string
}

// Images returns the images of a template, each once, in the order in which a kubelet first needs them: volumes that are images,
// then init containers, then containers. Of several spellings of one image the first is returned. Containers and volumes without
// an image are left out. A nil template has no images.
func Images(template *corev1.PodTemplateSpec) []string {
	if template == nil {
		return nil
	}
	return distinct(PodImages(nil, &template.Spec))
}

// PodImages appends the images that a pod of that spec needs, as they are written, in the order of [Images]. A volume that is an
// image (volumes[].image) is pulled like that of a container, and the pod waits for it.
func PodImages(images []string, spec *corev1.PodSpec) []string {
	for i := range spec.Volumes {
		if source := spec.Volumes[i].Image; source != nil && source.Reference != "" {
			images = append(images, source.Reference)
		}
	}
	for i := range spec.InitContainers {
		images = append(images, spec.InitContainers[i].Image)
	}
	for i := range spec.Containers {
		images = append(images, spec.Containers[i].Image)
	}
	return images
}

// Needs returns those of images that the candidate's outdated pod does not use and its node does not report (D1), in
// their order. Images are compared as by [Reported].
func Needs(candidate Candidate, images []string) []string {
	var needs []string
	for _, image := range images {
		if w := want(image); image != "" && candidate.needs(&w) {
			needs = append(needs, image)
		}
	}
	return needs
}

// Reported reports whether a node with these images in its status has image. Names are compared by registry, repository
// and tag, or, where image has a digest, by registry, repository and digest. Omitted parts count as written: the registry
// docker.io, its prefix library/, and the tag latest. An image without a name, and the empty image, is never reported.
func Reported(present []corev1.ContainerImage, image string) bool {
	w := want(image)
	return image != "" && w.in(present)
}

func (c *Candidate) needs(image *wanted) bool {
	return !image.among(c.Uses) && !image.in(c.Present)
}

// distinct returns images without the empty ones, and without those that repeat an earlier one in any spelling.
func distinct(images []string) []string {
	var kept []string
	var seen []reference
	for _, image := range images {
		if r := parse(image); image != "" && !slices.Contains(seen, r) {
			seen = append(seen, r)
			kept = append(kept, image)
		}
	}
	return kept
}

// containerImages yields the container names and images of a template, in the order of Images.
func containerImages(template *corev1.PodTemplateSpec) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if template == nil {
			return
		}
		for _, containers := range [...][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
			for i := range containers {
				if !yield(containers[i].Name, containers[i].Image) {
					return
				}
			}
		}
	}
}
