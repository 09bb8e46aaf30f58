package apiserver_test

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func ExamplePatch() {
	pod := rollouttest.Pod("p", rollouttest.OnNode("node-7"))
	patched, err := apiserver.Patch(pod, &rollout.Patch{
		Type: types.StrategicMergePatchType, Data: []byte(`{"metadata":{"uid":"pod-p","labels":{"tier":"web"}}}`),
	})
	fmt.Println(patched.Labels, err, pod.Labels == nil)
	_, err = apiserver.Patch(pod, &rollout.Patch{
		Type: types.StrategicMergePatchType, Data: []byte(`{"metadata":{"uid":"another"}}`),
	})
	fmt.Println(errors.Is(err, apiserver.ErrConflict))
	// Output:
	// map[tier:web] <nil> true
	// true
}
