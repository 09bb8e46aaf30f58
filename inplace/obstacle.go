package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Obstacle is one reason why a change cannot be taken in place (I2).
type Obstacle struct {
	// Path of the field, with elements of lists by name: spec.containers[app].env[LEVEL].value. Empty: the whole template.
	Path string
	// Code says what is wrong with the change.
	Code Code
	// Detail is what path and code do not say, such as the two QoS classes. It may be empty.
	Detail string
}

// Code is the kind of an [Obstacle].
type Code uint8

// The kinds of obstacles. Zero is none of them.
const (
	// NoTemplate: one of the templates is nil.
	NoTemplate Code = iota + 1
	// Immutable: the field cannot change in a running pod.
	Immutable
	// ContainerAdded: running pods do not have the container.
	ContainerAdded
	// ContainerRemoved: running pods keep the container.
	ContainerRemoved
	// ContainersReordered: containers start in the order of the template, and those of running pods have started.
	ContainersReordered
	// InitContainer: the init containers of running pods do not run again. Images of sidecars, and resources, may change.
	InitContainer
	// ImageMissing: one of the templates names no image for the container.
	ImageMissing
	// ResizeDisabled: cpu or memory change, and [Options].Resize is off.
	ResizeDisabled
	// ResourceFixed: a resource other than cpu and memory changes.
	ResourceFixed
	// ResourceAdded: a request or limit that the old template does not have, and [Options].Resize is off.
	ResourceAdded
	// ResourceRemoved: a request or limit that the new template does not have.
	ResourceRemoved
	// QOSClass: the QoS class of the pod would change.
	QOSClass
	// ResourceInEnv: an environment variable reads the resource that changes, and would keep its old value.
	ResourceInEnv
	// MetadataInEnv: an environment variable reads the label or annotation that changes, and
	// [Options].EnvFromMetadata is off.
	MetadataInEnv
	// MetadataInEnvRemoved: an environment variable reads the label or annotation that is dropped.
	MetadataInEnvRemoved
	// MetadataInInitEnv: an environment variable of an init container reads the label or annotation that changes.
	MetadataInInitEnv
	// RestartAsked: the label or annotation means that the pods are to run anew, by [RestartedAt] or [Options].RestartKeys.
	RestartAsked
	// ResizeWithImage: on cgroup v1 a resize and a change of image take two steps, the resize first (I4).
	ResizeWithImage
	// SidecarDisabled: the image of a sidecar changes, and [Options].Sidecars is off.
	SidecarDisabled
	// TolerationsDisabled: a toleration is added, and [Options].Tolerations is off.
	TolerationsDisabled
	// WindowsResize: resources of a Windows pod change.
	WindowsResize
	// UpdateInEnv: an environment variable reads what the update itself writes, such as the label of the revision.
	UpdateInEnv
	// ResizeInTurn: containers have launch priorities, so that they are updated in turn. Then they can only change the requests
	// and limits that they have, and those of the pod as a whole cannot follow.
	ResizeInTurn
	// WholeRestarts: the limit of the pod as a whole changes, and a container that has none of its own, so that it gets the
	// pod's, says that it restarts when it is resized. Nothing that a kubelet reports tells whether it has.
	WholeRestarts
	// VolumeImage: a volume becomes another image, and those of a running pod are mounted already.
	VolumeImage
	// NodeUnable: the node of the pod lacks what the update needs. Only errors of [Update.Begin] have it.
	NodeUnable
)

// codeTexts are the texts of the codes, by number.
var codeTexts = [...]string{
	NoTemplate:           "no template to compare",
	Immutable:            "cannot change in a running pod",
	ContainerAdded:       "running pods lack the container",
	ContainerRemoved:     "running pods keep the container",
	ContainersReordered:  "the containers of running pods have started in another order",
	InitContainer:        "init containers do not run again",
	ImageMissing:         "no image is named",
	ResizeDisabled:       "resizing in place is not enabled",
	ResourceFixed:        "only cpu and memory can be resized",
	ResourceAdded:        "running pods lack the request or limit",
	ResourceRemoved:      "running pods keep the request or limit",
	QOSClass:             "the QoS class of a pod is fixed",
	ResourceInEnv:        "an environment variable reads a resource that is resized",
	MetadataInEnv:        "an environment variable reads metadata that changes, and that is not enabled",
	MetadataInEnvRemoved: "an environment variable reads metadata that is dropped",
	MetadataInInitEnv:    "an environment variable of an init container reads metadata that changes",
	RestartAsked:         "its change asks for a restart, which takes a new pod",
	ResizeWithImage:      "on cgroup v1 the resize has to be rolled out before the image",
	SidecarDisabled:      "updating sidecars in place is not enabled",
	TolerationsDisabled:  "adding tolerations in place is not enabled",
	WindowsResize:        "Windows pods cannot be resized",
	UpdateInEnv:          "an environment variable reads what the update itself writes",
	WholeRestarts:        "it is the limit of containers that restart when it changes, and nothing shows whether they have",
	VolumeImage:          "the volumes of a running pod are mounted already, and keep their image",
	NodeUnable:           "its node cannot do that",
	ResizeInTurn:         "containers that are updated in turn can change only requests and limits that they have",
}

// String returns what is wrong, in a few words. A value that is none of the codes gives "Code(n)".
func (c Code) String() string {
	if c == 0 || int(c) >= len(codeTexts) {
		return fmt.Sprintf("Code(%d)", uint8(c))
	}
	return codeTexts[c]
}

// MarshalText is String, so that a plan encoded as JSON reads in words.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns the path, what is wrong there, and the detail in parentheses.
func (o Obstacle) String() string {
	text := o.Code.String()
	if o.Path != "" {
		text = o.Path + ": " + text
	}
	if o.Detail != "" {
		text += " (" + o.Detail + ")"
	}
	return text
}

// sortObstacles brings obstacles into their total order and drops repetitions.
func sortObstacles(obstacles []Obstacle) []Obstacle {
	slices.SortFunc(obstacles, func(a, b Obstacle) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(obstacles)
}

// ObstacleError is why a pod cannot be updated in place. It wraps [ErrObstacle].
type ObstacleError struct {
	// Obstacles of the change, or one that was found in the pod. Nil if there is an Obstruction.
	Obstacles []Obstacle
	// Obstruction of the pod, whatever the change. Zero: none.
	Obstruction Obstruction
}

// Error returns that the pod cannot be updated in place, and all reasons.
func (e *ObstacleError) Error() string {
	texts := make([]string, len(e.Obstacles))
	for i, obstacle := range e.Obstacles {
		texts[i] = obstacle.String()
	}
	if e.Obstruction != 0 {
		texts = append(texts, e.Obstruction.String())
	}
	return ErrObstacle.Error() + ": " + strings.Join(texts, "; ")
}

// Unwrap returns [ErrObstacle].
func (e *ObstacleError) Unwrap() error { return ErrObstacle }

// obstacleInPod returns an error of one obstacle.
func obstacleInPod(path string, code Code, detail string) error {
	return &ObstacleError{Obstacles: []Obstacle{{Path: path, Code: code, Detail: detail}}}
}
