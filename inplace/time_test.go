package inplace_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is when the updates of these tests begin.
var start = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}
