package predownload

import "k8s.io/apimachinery/pkg/util/intstr"

// Options say how images are pulled ahead of an update (D1, D2). The zero value has the defaults.
type Options struct {
	// Parallelism is on how many nodes an image is pulled at a time: an integer, or a percentage, rounded up, of the
	// nodes that need the image. 0 pauses. Default (nil): 1.
	Parallelism *intstr.IntOrString
	// MinUpdatedReadyPods is how many nodes must have a ready pod of the update revision before the first pull: an
	// integer, or a percentage of desired, rounded up. Default (nil): 0.
	MinUpdatedReadyPods *intstr.IntOrString
	// TimeoutSeconds of one pull. Default (0): 600.
	TimeoutSeconds int32
	// BackoffLimit is how many times a pull that failed is tried again on its node. Default (nil): 3.
	BackoffLimit *int32
}
