package inplace

import (
	"slices"
	"strings"
)

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

// RestartedAt is the annotation that "kubectl rollout restart" writes into a template. Its change always asks for a restart.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// Options say what may be updated in place, and how. The zero value allows images, those of sidecars too, tolerations that are
// added, and labels and annotations that no environment variable reads and that ask for no restart; it has no grace period.
// What a server or node is too old for is found by what the node says of itself ([Update.Lacks]).
type Options struct {
	// Sidecars allows images of native sidecars to change: init containers with the restart policy Always. Kubelets since 1.33
	// restart the one container. Default (nil): true.
	Sidecars *bool `json:",omitempty"`
	// Tolerations allows tolerations to be added to running pods, of which nothing restarts. Default (nil): true.
	Tolerations *bool `json:",omitempty"`
	// RestartKeys are the labels and annotations of the template whose change asks for a restart, beside [RestartedAt]: the key
	// itself, or the prefix of keys, with the slash at its end, such as "checksum/". A pod that took such a change in place
	// would go on with the configuration that it has read when it started. So it is an obstacle, and a new pod is made (I2).
	// Nil: none.
	RestartKeys []string `json:",omitempty"`
	// ServeOn are the containers and sidecars without which the pod serves on, such as an exporter beside an agent. Where only
	// these restart, the pod is not made not ready for its update, and no grace period is waited for (I4): it is not ready only
	// while its kubelet finds that one of them is not. A name that a pod lacks says nothing. Nil: none.
	ServeOn []string `json:",omitempty"`
	// Resize allows cpu and memory to change through the resize subresource of pods (Kubernetes 1.33 and later; I2): those of
	// containers and sidecars, and, on nodes that declare it, those of other init containers and of the pod as a whole.
	// Default: false.
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

// asksForRestart reports whether a change of that label or annotation of the template asks for a restart.
func (o Options) asksForRestart(key string) bool {
	return key == RestartedAt || slices.ContainsFunc(o.RestartKeys, func(named string) bool {
		return key == named || strings.HasSuffix(named, "/") && strings.HasPrefix(key, named)
	})
}

// DeepCopy returns options that share no memory with these.
func (o Options) DeepCopy() Options {
	o.RestartKeys, o.ServeOn = slices.Clone(o.RestartKeys), slices.Clone(o.ServeOn)
	o.Sidecars, o.Tolerations = cloned(o.Sidecars), cloned(o.Tolerations)
	return o
}

func cloned(b *bool) *bool {
	if b == nil {
		return nil
	}
	return new(*b)
}

// allowed returns what an option says that is on by default.
func allowed(option *bool) bool { return option == nil || *option }
