package predownload

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/count"
)

// The defaults of Options.
const (
	defaultParallelism    = 1
	defaultTimeoutSeconds = 600
	defaultBackoffLimit   = 3
)

// Options say how images are pulled ahead of an update (D1, D2). The zero value stands for the defaults.
type Options struct {
	// Parallelism is on how many nodes an image is pulled at a time: an integer, or a percentage, rounded up, of the
	// nodes that need the image. 0 pauses. Default (nil): 1.
	Parallelism *intstr.IntOrString
	// MinUpdatedReadyPods is how many nodes must have a ready pod of the update revision before the first pull: an
	// integer, or a percentage of desired, rounded up. Default (nil): 0.
	MinUpdatedReadyPods *intstr.IntOrString
	// TimeoutSeconds is the time-out of one pull, in seconds. Default (0): 600.
	TimeoutSeconds int32
	// BackoffLimit is how many times a pull that failed is tried again on its node. Default (nil): 3.
	BackoffLimit *int32
}

// Default returns o with the default in every field that is not set. Fields that are set stay as they are, valid or not. The
// result shares no memory with o.
func (o Options) Default() Options {
	parallelism, minReady, limit := intstr.FromInt32(defaultParallelism), intstr.FromInt32(0), int32(defaultBackoffLimit)
	if o.Parallelism != nil {
		parallelism = *o.Parallelism
	}
	if o.MinUpdatedReadyPods != nil {
		minReady = *o.MinUpdatedReadyPods
	}
	if o.BackoffLimit != nil {
		limit = *o.BackoffLimit
	}
	o.Parallelism, o.MinUpdatedReadyPods, o.BackoffLimit = &parallelism, &minReady, &limit
	if o.TimeoutSeconds == 0 {
		o.TimeoutSeconds = defaultTimeoutSeconds
	}
	return o
}

// Validate reports every mistake in o, with field paths below path: values that are negative, or neither an integer
// nor a percentage (signs and fractions are refused), and more than 100% for minUpdatedReadyPods, which no rollout
// could reach. More than 100% for parallelism is all nodes at a time. A nil path is allowed, and fields that are not
// set are valid.
func (o Options) Validate(path *field.Path) field.ErrorList {
	_, errs := o.read(path)
	return errs
}

// settings are options that have been understood.
type settings struct {
	parallelism, minReady count.Quantity
	timeout               time.Duration
	backoffLimit          int32
}

// read fills in the defaults, parses the options, and reports what cannot be honoured.
func (o Options) read(path *field.Path) (settings, field.ErrorList) {
	var errs field.ErrorList
	o = o.Default()
	s := settings{timeout: time.Duration(o.TimeoutSeconds) * time.Second, backoffLimit: *o.BackoffLimit}
	s.parallelism = readQuantity(*o.Parallelism, path.Child("parallelism"), &errs)
	minPath := path.Child("minUpdatedReadyPods")
	s.minReady = readQuantity(*o.MinUpdatedReadyPods, minPath, &errs)
	if s.minReady.Percent && s.minReady.Value > 100 {
		errs = append(errs, field.Invalid(minPath, o.MinUpdatedReadyPods.StrVal, "must not be greater than 100%"))
	}
	if o.TimeoutSeconds < 1 { // 0 has been replaced by the default
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), o.TimeoutSeconds, "must not be negative"))
	}
	if s.backoffLimit < 0 {
		errs = append(errs, field.Invalid(path.Child("backoffLimit"), s.backoffLimit, "must not be negative"))
	}
	return s, errs
}
