//revive:disable:context-as-argument // a method's receiver comes first, and these are methods

package differential

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

type controller = daemon.DaemonSetsController

// The phases of a sync, in its order. The controller exports none of them. Bodies are missing here because the linker
// takes the controller's; that is also why the package has an empty assembly file.

//go:linkname manage k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).manage
func manage(c *controller, ctx context.Context, set *appsv1.DaemonSet, nodes []*corev1.Node, hash string) error

//go:linkname rollingUpdate k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).rollingUpdate
func rollingUpdate(c *controller, ctx context.Context, set *appsv1.DaemonSet, nodes []*corev1.Node, hash string) error

//go:linkname updateStatus k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).updateDaemonSetStatus
func updateStatus(
	c *controller, ctx context.Context, set *appsv1.DaemonSet, nodes []*corev1.Node, hash string, generation bool,
) error

//go:linkname syncDaemonSet k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).syncDaemonSet
func syncDaemonSet(c *controller, ctx context.Context, key string) error

// field returns the controller's unexported field of a name, to be read and written. A version of the controller in
// which it has another type is an error, not a crash.
func field[T any](c *controller, name string) (*T, error) {
	v := reflect.ValueOf(c).Elem().FieldByName(name)
	if want := reflect.TypeFor[T](); !v.IsValid() || v.Type() != want {
		return nil, fmt.Errorf("the controller has no field %s of type %s", name, want)
	}
	return (*T)(unsafe.Pointer(v.UnsafeAddr())), nil
}
