package controller

import (
	"errors"
	"fmt"

	"github.com/daemonplan/daemonplan/rollout"
)

// Verify is a Guard that lets no plan pass that rollout.Verify objects to.
func Verify(spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) error {
	var errs []error
	for _, violation := range rollout.Verify(spec, snapshot, plan) {
		errs = append(errs, fmt.Errorf("%v", violation))
	}
	return errors.Join(errs...)
}
