package rollout

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/count"
)

// isZero reports whether v is 0 or "0%". A value that cannot be read is not zero.
func isZero(v intstr.IntOrString) bool {
	q, err := count.Parse(v)
	return err == nil && q.Value == 0
}
