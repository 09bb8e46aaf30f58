package cli

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// calls are what a user has to be allowed, as "verb group/resource".
type calls map[string]bool

// add adds the requests that a server has seen, but for the discovery of its API groups.
func (c calls) add(t *testing.T, server *fakeapi.Server) {
	t.Helper()
	for _, request := range server.Requests() {
		method, target, _ := strings.Cut(request, " ")
		where, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.Trim(where.Path, "/"), "/")
		if len(parts) == 1 { // /api and /apis
			continue
		}
		group := ""
		if parts[0] == "apis" {
			group, parts = parts[1], parts[1:]
		}
		parts = parts[2:] // without api or the group, and the version
		if parts[0] == "namespaces" {
			parts = parts[2:]
		}
		verb := map[string]string{http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodPost: "create"}[method]
		switch {
		case where.Query().Get("watch") == "true":
			verb = "watch"
		case method == http.MethodGet && len(parts) == 1:
			verb = "list"
		case method == http.MethodGet:
			verb = "get"
		}
		resource := strings.Join(append(parts[:1:1], parts[min(2, len(parts)):]...), "/") // with the subresource
		c[verb+" "+group+"/"+resource] = true
	}
}

// roles are the ClusterRoles of rbac.yaml by name, with what each allows.
func roles(t *testing.T) map[string]calls {
	t.Helper()
	data, err := os.ReadFile("../../rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]calls)
	for object, err := range manifest.Objects(data) {
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(object.JSON, &role); err != nil || role.Kind != "ClusterRole" || role.APIVersion != "rbac.authorization.k8s.io/v1" {
			t.Fatalf("%s %s: %v", role.APIVersion, role.Kind, err)
		}
		found[role.Name] = make(calls)
		for _, rule := range role.Rules {
			if len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
				t.Errorf("%s: a rule says more than is compared here: %v", role.Name, rule)
			}
			for _, verb := range rule.Verbs {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						found[role.Name][verb+" "+group+"/"+resource] = true
					}
				}
			}
		}
	}
	return found
}

// watched watches a set until all that a plan is made of has been read.
func watched(t *testing.T, server *fakeapi.Server, ref objects.Ref) {
	t.Helper()
	c, err := cluster.ForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := c.Watch(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	for len(w.Missing()) > 0 {
		select {
		case <-w.Changed():
		case <-ctx.Done():
			t.Fatalf("%v: %q cannot be read", ref, w.Missing())
		}
	}
}

// TestRBAC makes all calls that the commands make, and compares them with the roles: nothing is missing there, and nothing too much.
func TestRBAC(t *testing.T) {
	allowed := roles(t)
	claimed := strings.Replace(smallSet, "spec: {containers:", "spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: shared}}], containers:", 1)
	reads, patches := make(calls), make(calls)
	for _, c := range []struct {
		file []byte
		ref  objects.Ref
	}{
		{fleetFile, objects.Ref{Group: objects.GroupApps, Namespace: "observability", Name: "node-agent"}},
		{kruiseFile, objects.Ref{Group: objects.GroupKruise, Namespace: "logging", Name: "log-agent"}},
		{edsFile, objects.Ref{Group: objects.GroupEDS, Namespace: "default", Name: "foo"}},
		{[]byte(join(claimed, smallNode)), objects.Ref{Group: objects.GroupApps, Namespace: "web", Name: "agent"}},
	} {
		for _, old := range []bool{false, true} {
			server := fakeapi.New(t, c.file)
			server.NoListStreams = old
			watched(t, server, c.ref)
			reads.add(t, server)
		}
		server := fakeapi.New(t, c.file)
		kubeconfig := server.Kubeconfig(t, c.ref.Namespace)
		for _, args := range []string{"plan", "explain x", "diff", "get -A", "revisions", "pods", "rollout status", "canary pods", "__complete explain "} {
			live(kubeconfig, "-", strings.Split(args, " ")...)
		}
		reads.add(t, server)
		for _, give := range command.All() {
			server := fakeapi.New(t, c.file)
			path := give.String()
			if give >= command.Pause {
				path = "rollout " + path
			}
			live(server.Kubeconfig(t, c.ref.Namespace), "-", append(strings.Fields(path), "--yes")...)
			patches.add(t, server)
		}
	}
	maps.DeleteFunc(patches, func(call string, _ bool) bool { return allowed["daemonplan-reader"][call] })
	for role, made := range map[string]calls{"daemonplan-reader": reads, "daemonplan-commander": patches} {
		want, got := slices.Sorted(maps.Keys(made)), slices.Sorted(maps.Keys(allowed[role]))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-calls +rbac.yaml):\n%s", role, diff)
		}
	}
	if len(allowed) != 2 {
		t.Errorf("there are %d roles", len(allowed))
	}
}
