package tolerations

import (
	corev1 "k8s.io/api/core/v1"
)

// Text returns a toleration as kubectl writes taints: key=value:Effect. What the toleration leaves open is left out, so that one
// of everything reads "everything".
func Text(toleration corev1.Toleration) string {
	text := toleration.Key
	if toleration.Value != "" {
		switch toleration.Operator {
		case corev1.TolerationOpLt:
			text += "<" + toleration.Value
		case corev1.TolerationOpGt:
			text += ">" + toleration.Value
		default:
			text += "=" + toleration.Value
		}
	}
	if text == "" {
		text = "everything"
	}
	if toleration.Effect != "" {
		text += ":" + string(toleration.Effect)
	}
	return text
}
