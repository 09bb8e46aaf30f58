package inplace_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// mergePatch is apimachinery's own strategic merge.
func mergePatch(original, patch []byte) ([]byte, error) {
	return strategicpatch.StrategicMergePatch(original, patch, corev1.Pod{})
}
