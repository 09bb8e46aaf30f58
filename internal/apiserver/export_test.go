package apiserver

import (
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// StrategicMerge merges a strategic merge patch into the pod itself, whatever it changes.
func StrategicMerge(pod *corev1.Pod, patch []byte) error {
	var change map[string]any
	if err := json.Unmarshal(patch, &change); err != nil {
		return err
	}
	return merger{strategic: true}.merge(reflect.ValueOf(pod).Elem(), change)
}
