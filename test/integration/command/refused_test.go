package command

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Who may not read something is told what: verb, resource and where.
func TestForbidden(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	list := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"list"}}
	}
	w.may("without-nodes", list("apps", "*"), list("", "pods"))
	w.may("without-pods", list("apps", "*"), list("", "nodes"))
	w.may("without-revisions", list("apps", "daemonsets"), list("", "nodes", "pods"))
	w.may("reader", list("apps", "daemonsets", "controllerrevisions"), list("", "nodes", "pods"))
	for user, want := range map[string]string{
		"nobody":            `cannot list resource "daemonsets" in API group "apps" in the namespace "` + w.namespace + `"`,
		"without-nodes":     `the cluster: nodes cannot be read: nodes is forbidden: User "without-nodes" cannot list resource "nodes" in API group "" at the cluster scope`,
		"without-pods":      `cannot list resource "pods" in API group "" in the namespace "` + w.namespace + `"`,
		"without-revisions": `cannot list resource "controllerrevisions" in API group "apps" in the namespace "` + w.namespace + `"`,
	} {
		kubeconfig := w.impersonating(user)
		for _, command := range []string{"plan", "pods", "explain w-1"} {
			w.says(w.as(kubeconfig, append(strings.Fields(command), "-n", w.namespace)...), 2, "error: the cluster: ", want)
		}
	}
	// Rights for kinds that a cluster merely has are not needed, and what is left out is said.
	w.says(w.as(w.impersonating("reader"), "plan", "-n", w.namespace), 0, "agent   5", "daemonsets.apps.kruise.io cannot be read, and are left out")
	w.says(w.daemonplan("plan --as nobody"), 2, `User "nobody" cannot list resource "daemonsets"`)
	w.says(w.as(w.kubeconfig(func(config *clientcmdapi.Config) {
		for _, info := range config.AuthInfos {
			*info = clientcmdapi.AuthInfo{Token: "wrong"}
		}
	}), "plan", "-n", w.namespace), 2, "the cluster at https://", "the server has asked for the client to provide credentials")
}

// A name that is none, in the kubeconfig, of a namespace, of a set.
func TestNames(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.addNamespace(w.namespace + "-empty")
	here := w.kubeconfig(func(config *clientcmdapi.Config) {
		config.Contexts[config.CurrentContext].Namespace = w.namespace
		config.Contexts["empty"] = config.Contexts[config.CurrentContext].DeepCopy()
		config.Contexts["empty"].Namespace = w.namespace + "-empty"
	})
	w.says(w.as(here, "get"), 0, "agent   5 ")
	w.says(w.as(here, "get", "-A", "agent", "-o", "json"), 2, "-o")
	w.says(w.as(here, "get", "--context", "empty"), 2, ", namespace "+w.namespace+"-empty; choose another one with -n, or look at all with -A)")
	w.says(w.as(here, "get", "--context", "empty", "-n", w.namespace), 0, "agent   5 ")
	w.says(w.as(here, "get", "-n", "none-such"), 2, ", namespace none-such; choose another one with -n")
	w.says(w.as(here, "get", "agnt"), 2, "there is no set agnt in namespace "+w.namespace+"; there are: daemonset.apps/agent (-n "+w.namespace+")")
	w.says(w.as(here, "get", "eds/agent"), 2, "there is no set extendeddaemonset.datadoghq.com/agent", "there are: daemonset.apps/agent")
	w.says(w.as(here, "get", "planneddaemonset/agent"), 2, `there is no set "planneddaemonset/agent": it is NAME, ds/NAME`)
	w.says(w.as(here, "get", "--context", "none-such"), 2, "context was not found for specified context: none-such")
	w.says(w.as(here, "get", "--cluster", "none-such"), 2, `no server found for cluster "none-such"`)
	w.says(w.as(here, "get", "--kubeconfig", "/none/such"), 2, "there is no cluster to read: ", "/none/such")
	w.says(w.as("/none/such", "get"), 2, "there is no kubeconfig with a cluster in it (/none/such): give one with --kubeconfig")
}

// A set that cannot be understood keeps no other from being planned.
func TestBrokenNeighbour(t *testing.T) {
	w := newWorld(t)
	w.apply(set("v1", "small"))
	w.apply(strings.Replace(strings.Replace(eds, "duration: 10m", "duration: soon", 1), "name: foo}\nspec", "name: broken}\nspec", 1))
	w.says(w.daemonplan("plan agent"), 0, "agent   5 ", "ignored set: the cluster (ExtendedDaemonSet "+w.namespace+"/broken): ", "duration")
	w.says(w.daemonplan("plan eds/broken"), 2, "error: the cluster (ExtendedDaemonSet "+w.namespace+"/broken): ", "duration")
	w.says(w.daemonplan("plan agnt"), 2, "there is no set agnt")
}

// A server that cannot be reached is told within seconds: by a network that refuses connections, by one that drops them, and by
// something that takes them and says nothing.
func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	t.Parallel()
	closed := listen(t, syscall.SOMAXCONN)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	silent := listen(t, syscall.SOMAXCONN)
	dropping := listen(t, 0)
	for range 8 { // the kernel drops what comes when the queue is full
		go func() {
			if connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", dropping.Addr().String()); err == nil {
				<-t.Context().Done()
				_ = connection.Close()
			}
		}()
	}
	time.Sleep(200 * time.Millisecond)
	for _, c := range []struct {
		listener net.Listener
		want     string
	}{{closed, "connection refused"}, {silent, "TLS handshake timeout"}, {dropping, "i/o timeout"}} {
		host := "https://" + c.listener.Addr().String()
		a := w.daemonplan("plan -s " + host)
		w.says(a, 2, "the cluster at "+host+" cannot be read: ", c.want)
		if a.took > 25*time.Second { // the client's own limit is 30 s
			t.Errorf("%s: it took %v", c.want, a.took)
		}
	}
}

// listen opens a port of this machine where so many connections may wait. Nobody accepts them.
func listen(t *testing.T, backlog int) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), backlog) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
