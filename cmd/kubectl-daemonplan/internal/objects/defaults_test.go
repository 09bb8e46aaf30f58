package objects

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// TestDefaults has the rules of the API server (pkg/apis/core/v1/defaults.go of Kubernetes), and the fields that people use.
func TestDefaults(t *testing.T) {
	for _, c := range []struct{ name, why, given, want string }{
		{"nothing", "the defaults of a pod", "spec: {}", `spec: {restartPolicy: Always, dnsPolicy: ClusterFirst, schedulerName: default-scheduler,
 terminationGracePeriodSeconds: 30, securityContext: {}}`},
		{"everything", "nothing is replaced", `spec: {restartPolicy: Never, dnsPolicy: None, schedulerName: mine, terminationGracePeriodSeconds: 0,
 securityContext: {runAsUser: 0}}`, `spec: {restartPolicy: Never, dnsPolicy: None, schedulerName: mine, terminationGracePeriodSeconds: 0,
 securityContext: {runAsUser: 0}}`},
		{"account", "the field has two names", "spec: {serviceAccountName: a}", "spec: {serviceAccountName: a, serviceAccount: a}"},
		{"old account", "the old name alone", "spec: {serviceAccount: a}", "spec: {serviceAccountName: a, serviceAccount: a}"},
		{"container", "three fields", "spec: {containers: [{name: a, image: 'b:1'}]}",
			"spec: {containers: [{name: a, image: 'b:1', imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}"},
		{"init container", "the same", "spec: {initContainers: [{name: a, image: b, terminationMessagePath: /x, terminationMessagePolicy: FallbackToLogsOnError}]}",
			"spec: {initContainers: [{name: a, image: b, imagePullPolicy: Always, terminationMessagePath: /x, terminationMessagePolicy: FallbackToLogsOnError}]}"},
		{"ports", "TCP", "spec: {containers: [{name: a, ports: [{containerPort: 1}, {containerPort: 2, protocol: UDP}]}]}",
			"spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 2, protocol: UDP}]}]}"},
		{"host network", "only pods get the port of the host, since v1.28", "spec: {hostNetwork: true, containers: [{name: a, ports: [{containerPort: 1}]}]}",
			"spec: {hostNetwork: true, containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}]}]}"},
		{"limits", "only pods get requests of them", "spec: {containers: [{name: a, resources: {limits: {cpu: 1}}}]}", "spec: {containers: [{name: a, resources: {limits: {cpu: 1}}}]}"},
		{"iSCSI", "its interface", "spec: {volumes: [{name: a, iscsi: {targetPortal: x, iqn: q, lun: 0}}]}", "spec: {volumes: [{name: a, iscsi: {targetPortal: x, iqn: q, lun: 0, iscsiInterface: default}}]}"},
		{"fieldRef", "v1", "spec: {containers: [{name: a, env: [{name: N, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]}",
			"spec: {containers: [{name: a, env: [{name: N, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]}]}"},
		{"probe", "four numbers, scheme and path", "spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1}}}]}",
			"spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}}]}"},
		{"probe by gRPC", "an empty service", "spec: {containers: [{name: a, readinessProbe: {grpc: {port: 1}, periodSeconds: 3}}]}",
			"spec: {containers: [{name: a, readinessProbe: {grpc: {port: 1, service: ''}, timeoutSeconds: 1, periodSeconds: 3, successThreshold: 1, failureThreshold: 3}}]}"},
		{"startup probe", "the same", "spec: {containers: [{name: a, startupProbe: {exec: {command: [x]}, failureThreshold: 30}}]}",
			"spec: {containers: [{name: a, startupProbe: {exec: {command: [x]}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 30}}]}"},
		{"hook", "scheme and path", "spec: {containers: [{name: a, lifecycle: {preStop: {httpGet: {port: 1}}}}]}",
			"spec: {containers: [{name: a, lifecycle: {preStop: {httpGet: {port: 1, path: /, scheme: HTTP}}}}]}"},
		{"volumes", "modes and types", `spec: {volumes: [{name: a, secret: {secretName: x}}, {name: b, configMap: {name: x}}, {name: c, hostPath: {path: /x}}, {name: d},
 {name: e, downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.name}}]}}, {name: f, configMap: {name: x, defaultMode: 256}}]}`,
			`spec: {volumes: [{name: a, secret: {secretName: x, defaultMode: 420}}, {name: b, configMap: {name: x, defaultMode: 420}}, {name: c, hostPath: {path: /x, type: ''}},
 {name: d, emptyDir: {}}, {name: e, downwardAPI: {defaultMode: 420, items: [{path: x, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}, {name: f, configMap: {name: x, defaultMode: 256}}]}`},
		{"projected volume", "mode and expiration", "spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: x}}, {downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.name}}]}}]}}]}",
			"spec: {volumes: [{name: a, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: x, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: x, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}]}}]}"},
		{"volume of an image", "as for a container", "spec: {volumes: [{name: a, image: {reference: x}}]}", "spec: {volumes: [{name: a, image: {reference: x, pullPolicy: Always}}]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, want corev1.PodTemplateSpec
			if err := yaml.UnmarshalStrict([]byte(c.given), &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			SetDefaults(&got)
			// The rows leave out what the first of them has, and what containers get in the row of that name.
			fill(&want, got)
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			SetDefaults(&want)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("a second time it changes again:\n%s", diff)
			}
		})
	}
}

// fill puts what a row leaves out into it, if it is the known default.
func fill(want *corev1.PodTemplateSpec, got corev1.PodTemplateSpec) {
	if want.Spec.RestartPolicy == "" && got.Spec.RestartPolicy == "Always" && got.Spec.DNSPolicy == "ClusterFirst" {
		want.Spec.RestartPolicy, want.Spec.DNSPolicy, want.Spec.SchedulerName = got.Spec.RestartPolicy, got.Spec.DNSPolicy, got.Spec.SchedulerName
		want.Spec.TerminationGracePeriodSeconds, want.Spec.SecurityContext = got.Spec.TerminationGracePeriodSeconds, got.Spec.SecurityContext
	}
	for i := range want.Spec.Containers {
		if c := &want.Spec.Containers[i]; c.TerminationMessagePath == "" {
			c.ImagePullPolicy, c.TerminationMessagePath, c.TerminationMessagePolicy = "Always", "/dev/termination-log", "File"
		}
	}
}

func asJSON(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"a": corev1.PullAlways, "a:latest": corev1.PullAlways, "a:1": corev1.PullIfNotPresent, "r.example:5000/a": corev1.PullAlways,
		"r.example:5000/a:1": corev1.PullIfNotPresent, "r.example/a@sha256:0123": corev1.PullIfNotPresent, "a:latest@sha256:0123": corev1.PullAlways,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

// An API server numbers templates, and takes no number from what somebody sends.
func TestTemplateGeneration(t *testing.T) {
	template := func(image string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
	}
	stored := *template("a:v1")
	SetDefaults(&stored)
	numbered := &Set{Set: manifest.Set{Spec: rollout.Spec{Template: stored, TemplateGeneration: new(int64(7))}}}
	for image, want := range map[string]int64{"a:v1": 7, "a:v2": 8} {
		if got := numbered.TemplateGeneration(template(image)); got == nil || *got != want {
			t.Errorf("with %s it is %v, want %d", image, got, want)
		}
	}
	if got := (&Set{Set: manifest.Set{Spec: rollout.Spec{Template: stored}}}).TemplateGeneration(template("a:v2")); got != nil {
		t.Errorf("a set without a number gets %d", *got)
	}
}
