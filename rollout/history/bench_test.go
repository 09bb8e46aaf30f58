package history_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// realistic returns the template of a node agent, some 8 KB of JSON.
func realistic(image string) *corev1.PodTemplateSpec {
	env := func(n int) (list []corev1.EnvVar) {
		for i := range n {
			list = append(list, corev1.EnvVar{
				Name: fmt.Sprintf("AGENT_SETTING_%02d", i), Value: fmt.Sprintf("value-%d.example.internal", i),
			})
		}
		return append(list, corev1.EnvVar{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"},
		}})
	}
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, name := range []string{"proc", "sys", "cgroup", "run", "log", "pods", "lib-modules", "dev"} {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/host/" + name},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: "/host/" + name, ReadOnly: true})
	}
	probe := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/healthz", Port: intstr.FromInt32(9090), Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 3, SuccessThreshold: 1, FailureThreshold: 3,
	}
	container := func(name, image string) corev1.Container {
		return corev1.Container{
			Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
			Command: []string{"/usr/bin/" + name, "--config=/etc/agent/config.yaml", "--log-level=info"},
			Env:     env(14),
			Ports: []corev1.ContainerPort{
				{Name: "http", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
				{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
				{Name: "dns-udp", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
			},
			Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("512Mi")},
				Requests: corev1.ResourceList{
					"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi"),
				},
			},
			LivenessProbe: probe, ReadinessProbe: probe, VolumeMounts: mounts,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))},
		}
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"app": "agent", "app.kubernetes.io/part-of": "observability"},
			Annotations: map[string]string{
				"checksum/config":        strings.Repeat("9c1f", 16),
				"prometheus.io/scrape":   "true",
				"prometheus.io/port":     "9090",
				"kubernetes.io/describe": "collects logs, metrics & traces of every node",
			},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{container("setup", "reg.example/setup:v3")},
			Containers: []corev1.Container{
				container("agent", image), container("trace", "reg.example/trace:v3"),
			},
			Volumes:     volumes,
			HostNetwork: true, HostPID: true, DNSPolicy: corev1.DNSClusterFirstWithHostNet,
			RestartPolicy: corev1.RestartPolicyAlways, ServiceAccountName: "agent", SchedulerName: "default-scheduler",
			TerminationGracePeriodSeconds: new(int64(30)), SecurityContext: &corev1.PodSecurityContext{},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
}

func revisionOf(tb testing.TB, name string, number int64, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	tb.Helper()
	data, err := history.Data(template)
	if err != nil {
		tb.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "agent-" + name, Labels: map[string]string{appsv1.DefaultDaemonSetUniqueLabelKey: name},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
}

// A full history in steady state: ten old revisions and the update revision.
func BenchmarkResolve(b *testing.B) {
	olds := map[string]func(t *corev1.PodTemplateSpec, i int){
		"image": func(t *corev1.PodTemplateSpec, i int) {
			t.Spec.Containers[0].Image = fmt.Sprintf("reg.example/agent:v1.%d", i)
		},
		"addedEnv": func(t *corev1.PodTemplateSpec, i int) {
			c := &t.Spec.Containers[1]
			c.Env = c.Env[:i]
		},
		"checksum": func(t *corev1.PodTemplateSpec, i int) {
			t.Annotations["checksum/config"] = strings.Repeat(fmt.Sprintf("%02x1f", i), 16)
		},
		"number": func(t *corev1.PodTemplateSpec, i int) {
			t.Annotations["prometheus.io/port"] = fmt.Sprint(9000 + i)
		},
		"mount": func(t *corev1.PodTemplateSpec, i int) {
			t.Spec.Containers[1].VolumeMounts[i%8].ReadOnly = false
		},
	}
	for name, change := range olds {
		b.Run(name, func(b *testing.B) {
			var in history.Input
			for i := range 10 {
				old := realistic("reg.example/agent:v2.0")
				change(old, i)
				in.Revisions = append(in.Revisions, revisionOf(b, fmt.Sprintf("old%d", i), int64(i+1), old))
			}
			benchmarkResolve(b, in, realistic("reg.example/agent:v2.0"))
		})
	}
	b.Run("upgraded", func(b *testing.B) {
		// The update revision was written by a version before v0.34, which stored a creationTimestamp.
		template := realistic("reg.example/agent:v2.0")
		revision := revisionOf(b, "update", 11, template)
		revision.Data.Raw = []byte(strings.Replace(string(revision.Data.Raw),
			`"labels":{"app":"agent"`, `"creationTimestamp":null,"labels":{"app":"agent"`, 1))
		benchmarkResolve(b, history.Input{Revisions: []*appsv1.ControllerRevision{revision}}, template)
	})
}

func benchmarkResolve(b *testing.B, in history.Input, template *corev1.PodTemplateSpec) {
	resolver, err := history.Compile(history.Set{Name: "agent"}, template)
	if err != nil {
		b.Fatal(err)
	}
	if len(in.Revisions) != 1 {
		in.Revisions = append(in.Revisions, revisionOf(b, "update", 11, template))
	}
	in.Limit, in.Carriers = 10, []history.Carrier{{Hash: "update", Live: true}}
	b.ReportAllocs()
	b.ReportMetric(float64(len(resolver.Data())), "data-B")
	for b.Loop() {
		got, err := resolver.Resolve(in)
		if err != nil || got.Update.Name != "agent-update" || got.Create != nil {
			b.Fatalf("%+v, %v", got, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	template := realistic("reg.example/agent:v2.0")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.Compile(history.Set{Name: "agent"}, template); err != nil {
			b.Fatal(err)
		}
	}
}

// What scan spares: decoding and comparing one revision of the same size.
func BenchmarkTemplate(b *testing.B) {
	revision := revisionOf(b, "old", 1, realistic("reg.example/agent:v2.0"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.Template(revision); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	old, new := realistic("reg.example/agent:v1.9"), realistic("reg.example/agent:v2.0")
	b.ReportAllocs()
	for b.Loop() {
		if len(history.Changes(old, new)) != 1 {
			b.Fatal("one change expected")
		}
	}
}
