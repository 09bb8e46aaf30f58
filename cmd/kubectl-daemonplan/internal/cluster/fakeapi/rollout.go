package fakeapi

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// These are update strategies of a DaemonSet.
const (
	Rolling  = `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}}`
	OnDelete = `{"type":"OnDelete"}`
)

// NewRollout serves DaemonSet agent of namespace web, which is to be updated from revision v1 to v2, until the test ends. Its
// nodes are a, b and c. Each has an old pod, which is ready.
func NewRollout(t testing.TB, strategy string) *Server {
	objects := []string{Set(strategy), Revision("v1", 1), Revision("v2", 2)}
	for _, name := range []string{"a", "b", "c"} {
		objects = append(objects, Node(name), Pod(name, "v1", true))
	}
	return New(t, []byte(strings.Join(objects, "\n---\n")))
}

const owner = `{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"d-1","controller":true}`

// template is the template of a revision, as the API server stores it. More is what is put before its fields.
func template(hash, more string) string {
	return fmt.Sprintf(`{%s"metadata":{"labels":{"app":"agent"}},"spec":{"containers":[{"name":"agent","image":"agent:%s",`+
		`"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",`+
		`"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,`+
		`"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}}`, more, hash)
}

// Revision is a revision of the set.
func Revision(hash string, number int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"namespace":"web","name":"agent-%s",`+
		`"uid":"r-%s","labels":{"app":"agent","controller-revision-hash":%q},"ownerReferences":[%s]},"revision":%d,`+
		`"data":{"spec":{"template":%s}}}`, hash, hash, hash, owner, number, template(hash, `"$patch":"replace",`))
}

// Set is the set with a strategy.
func Set(strategy string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"namespace":"web","name":"agent","uid":"d-1"},`+
		`"spec":{"selector":{"matchLabels":{"app":"agent"}},"template":%s,"updateStrategy":%s}}`, template("v2", ""), strategy)
}

// Node is a node that is ready.
func Node(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":"n-%s",`+
		`"labels":{"topology.kubernetes.io/zone":"z"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, name, name)
}

// Pod is the set's pod on a node at revision v1 or v2, created just now: ready, or with a container that crashes.
func Pod(node, hash string, ready bool) string {
	status := `"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"}]`
	if !ready {
		status = `"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"agent","restartCount":17,` +
			`"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]`
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"web","name":"agent-%s","uid":"p-%s-%s",`+
		`"labels":{"app":"agent","controller-revision-hash":%q},"creationTimestamp":%q,"ownerReferences":[%s]},`+
		`"spec":{"nodeName":%q,"containers":[{"name":"agent","image":"agent:%s"}]},"status":{"phase":"Running",%s}}`,
		node, node, hash, hash, time.Now().UTC().Format(time.RFC3339), owner, node, hash, status)
}
