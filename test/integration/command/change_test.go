package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rich has what the API server completes, and what it writes in another way.
const rich = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, labels: {app: agent}}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata: {labels: {app: agent}, annotations: {checksum/config: abc}}
    spec:
      nodeSelector: {fleet: small}
      terminationGracePeriodSeconds: 1
      hostNetwork: true
      serviceAccount: default
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists, effect: NoExecute}]
      initContainers:
      - {name: setup, image: registry.example/setup, command: ["true"]}
      - {name: side, image: "registry.example/side:v1", restartPolicy: Always, startupProbe: {exec: {command: ["true"]}}}
      containers:
      - name: agent
        image: registry.example/agent:v1
        ports: [{containerPort: 9100}, {name: probes, containerPort: 8080, protocol: TCP}]
        resources: {limits: {cpu: "0.5", memory: 1024Mi, ephemeral-storage: 1e9}}
        env:
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: EMPTY, value: ""}
        livenessProbe: {httpGet: {path: /healthz, port: 8080}}
        readinessProbe: {tcpSocket: {port: probes}, periodSeconds: 0}
        lifecycle: {preStop: {httpGet: {port: 8080}}}
        securityContext: {capabilities: {add: [NET_ADMIN]}}
        volumeMounts: [{name: config, mountPath: /etc/agent}]
      volumes:
      - {name: config, configMap: {name: agent, items: [{key: a, path: a}]}}
      - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}, {downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}]}}
      - {name: host, hostPath: {path: /var/log}}
      - {name: secret, secret: {secretName: agent}}
      - {name: scratch, emptyDir: {}}
`

// What the API server fills in is no change: neither when it is asked, nor when it may not be, because its defaults are known.
func TestDefaultsAreNoChange(t *testing.T) {
	w := newWorld(t)
	w.apply(rich)
	w.installed(5)
	same := w.file("same.yaml", rich)
	w.may("reader", rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"list"}})
	reader := w.impersonating("reader")
	for name, a := range map[string]answer{
		"may not update": w.as(reader, "plan", "-n", w.namespace, "--change", same),
		"may update":     w.daemonplan("plan --change " + same),
	} {
		t.Log(name)
		w.says(a, 0, "the update restarts nothing.\n", "Running (RolloutComplete)", "Nothing to do now.")
	}
	w.says(w.as(reader, "plan", "-n", w.namespace, "--change", same), 0, "you may not update the set, so that the API server could not be asked")
	w.says(w.daemonplan("diff --change "+same), 0, "as the API server would store it (dry run)", "the update restarts nothing.\n")

	other := w.file("other.yaml", strings.Replace(rich, `cpu: "0.5"`, "cpu: 500m", 1))
	w.says(w.daemonplan("diff --change "+other), 0, "the update restarts nothing.\n")
	other = w.file("other.yaml", strings.NewReplacer(`cpu: "0.5"`, "cpu: 600m", "maxUnavailable: 1", "maxUnavailable: 2").Replace(rich))
	w.says(w.daemonplan("diff --change "+other), 1, `spec.containers[agent].resources.limits[cpu]: "500m" -> "600m" (restarts)`)
	w.says(w.daemonplan("plan --change "+other), 0, "Budget: maxUnavailable 2; ", "5 nodes are updated:\n  first: w-", "Delete 2 pods:")
}

// may gives a user rights in all namespaces.
func (w *world) may(user string, rules ...rbacv1.PolicyRule) {
	w.Helper()
	name := metav1.ObjectMeta{Name: w.namespace + "-" + user}
	w.create(&rbacv1.ClusterRole{ObjectMeta: name, Rules: rules})
	w.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

// A change that the API server would refuse is refused with its words, which name the field; and nothing is printed beside.
func TestInvalidChange(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	v1 := set("v1", "small")
	for _, c := range []struct{ old, new, want string }{
		{`image: "registry.example/agent:v1"`, `image: ""`, "spec.template.spec.containers[0].image: Required value"},
		{"maxUnavailable: 2", "maxUnavailable: 110%", `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "110%": must not be greater than 100%`},
		{"terminationGracePeriodSeconds: 1", "restartPolicy: Never", `spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"terminationGracePeriodSeconds: 1", "volumes: [{name: a, hostPath: {path: ../a}}]", `spec.template.spec.volumes[0].hostPath.path: Invalid value: "../a"`},
		{"{app: agent}}\n    spec", "{app: other}}\n    spec", "spec.template.metadata.labels: Invalid value"},
		{"terminationGracePeriodSeconds: 1", `priorityClassName: none-such`, ""},
	} {
		a := w.daemonplan("plan --change " + w.file("new.yaml", strings.Replace(v1, c.old, c.new, 1)))
		if c.want == "" {
			w.says(a, 0) // pods would be refused, and not the set
			continue
		}
		w.says(a, 2, "new.yaml: document 1 (DaemonSet "+w.namespace+"/agent): the API server would refuse the change: ", c.want)
	}
	w.apply(kruise)
	w.says(w.daemonplan("plan daemonset.apps.kruise.io/logs --change "+w.file("new.yaml", strings.Replace(kruise, "revisionHistoryLimit: 5", "revisionHistoryLimit: -1", 1))),
		2, "the API server would refuse the change: ", "spec.revisionHistoryLimit: Invalid value: -1")
}

// The version of an object that a dry run names is an old one if the status has changed meanwhile, as it does in every rollout.
func TestChangeOfBusySet(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	v2 := w.file("v2.yaml", set("v2", "small"))
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				close(stopped)
				return
			case <-time.After(20 * time.Millisecond):
			}
			set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}}
			patch := fmt.Appendf(nil, `{"status": {"collisionCount": %d}}`, i)
			if err := w.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, patch)); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 5 {
		w.says(w.daemonplan("diff --change "+v2), 1, `"registry.example/agent:v1" -> "registry.example/agent:v2" (restarts)`)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// How long a change takes is derived from the pods of the cluster.
func TestForecast(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.installed(5)
	w.says(w.daemonplan("plan --forecast --change "+w.file("v2.yaml", set("v2", "small"))), 0,
		"time until every node is updated", "peak unavailable nodes", "from PodScheduled to Ready", "from 5 pods of agent")
}
