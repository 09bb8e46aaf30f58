package inplace

// Method is how a pod gets to another revision (I1).
type Method string

// The methods.
const (
	// Recreate deletes the pod and creates another one. The default.
	Recreate Method = "Recreate"
	// IfPossible updates in place what can be, and recreates the rest.
	IfPossible Method = "InPlaceIfPossible"
	// Only updates in place what can be, and holds the rest.
	Only Method = "InPlaceOnly"
)

// Options say what may be updated in place, and how. The zero value allows images, and labels and annotations that no
// environment variable reads, and has no grace period.
type Options struct {
	// Resize allows cpu and memory of running containers to change, through the resize subresource of pods (Kubernetes
	// 1.33 and later; I2). Default: false.
	Resize bool
	// EnvFromMetadata allows labels and annotations that environment variables read to be added and changed; the
	// containers restart (I2). It needs nodes that restart them, such as those that run Kruise's daemon. Default: false.
	EnvFromMetadata bool
	// CgroupV1 reports whether there are nodes with cgroup v1, which cannot resize a container and change an image in one
	// step (I4). Default: false.
	CgroupV1 bool
	// GracePeriodSeconds is the time in seconds between making a pod not ready and changing its containers (I4). It must not
	// be negative. Default: 0.
	GracePeriodSeconds int32
}
