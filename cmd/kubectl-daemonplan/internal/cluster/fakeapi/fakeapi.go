// Package fakeapi is an API server for tests: it serves the objects of a dump, in pages and as watches, and takes updates and
// patches.
package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Server is an API server.
type Server struct {
	*httptest.Server
	// Forbidden are the resources that nobody may list, such as "pods", watch, such as "watch pods", or update, such as "update
	// daemonsets".
	Forbidden []string
	// NoListStreams is a server of before Kubernetes v1.34: a watch cannot begin with the objects that there are.
	NoListStreams bool
	// Store changes an object that an update sends, as defaults and webhooks do.
	Store func(object map[string]any)

	mu       sync.Mutex
	objects  map[string][]map[string]any // by group and resource
	requests []string
	history  // of changes, for watches
}

// New serves the objects of a dump until the test ends.
func New(t testing.TB, dump []byte) *Server {
	t.Helper()
	s := &Server{objects: make(map[string][]map[string]any), history: newHistory()}
	for object, err := range manifest.Objects(dump) {
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := json.Unmarshal(object.JSON, &tree); err != nil {
			t.Fatal(err)
		}
		key := path(object.APIVersion) + "/" + strings.ToLower(object.Kind) + "s"
		s.objects[key] = append(s.objects[key], tree)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.Answer()
		s.Disconnect() // Close waits for requests to end
		s.Close()
	})
	return s
}

// Kubeconfig writes a kubeconfig for the server whose context has that namespace, and returns its name.
func (s *Server) Kubeconfig(t testing.TB, namespace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: %q}}]
current-context: x
`, s.URL, namespace)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Requests are the requests so far: method, path and query.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// path is the beginning of the path of an apiVersion.
func path(apiVersion string) string {
	if !strings.Contains(apiVersion, "/") {
		return "/api/" + apiVersion
	}
	return "/apis/" + apiVersion
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hang(r) {
		return
	}
	if s.down {
		hangUp(w)
		return
	}
	s.requests = append(s.requests, strings.TrimSuffix(r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery, "?"))
	switch r.URL.Path {
	case "/api":
		answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
		return
	case "/apis":
		s.groups(w)
		return
	}
	prefix, rest, _ := strings.Cut(r.URL.Path[1:], "/v")
	version, rest, _ := strings.Cut(rest, "/")
	base := "/" + prefix + "/v" + version
	namespace := ""
	if after, ok := strings.CutPrefix(rest, "namespaces/"); ok {
		namespace, rest, _ = strings.Cut(after, "/")
	}
	resource, name, _ := strings.Cut(rest, "/")
	all, known := s.objects[base+"/"+resource]
	verb := strings.TrimSpace(map[string]string{http.MethodPut: "update", http.MethodPatch: "patch"}[r.Method] + " " + resource)
	if r.URL.Query().Get("watch") == "true" {
		verb = "watch " + resource
	}
	switch {
	case slices.Contains(s.Forbidden, verb):
		failed(w, http.StatusForbidden, "Forbidden", verb+" is forbidden: User \"u\" cannot do that")
	case !known && (kinds[resource] == "" || strings.Contains(base, ".")):
		failed(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	case strings.HasPrefix(verb, "watch "):
		s.watch(w, r, base, resource, namespace)
	case r.Method == http.MethodGet:
		s.list(w, r, base, kinds[resource], all, namespace)
	default:
		s.write(w, r, all, namespace, name)
	}
}

// kinds are the kinds of resources. Those of apps/v1 and v1 are served even if there is no object.
var kinds = map[string]string{
	"pods": "Pod", "nodes": "Node", "controllerrevisions": "ControllerRevision", "daemonsets": "DaemonSet",
	"persistentvolumeclaims": "PersistentVolumeClaim",
	"extendeddaemonsets":     "ExtendedDaemonSet", "extendeddaemonsetsettings": "ExtendedDaemonsetSetting",
	"extendeddaemonsetreplicasets": "ExtendedDaemonSetReplicaSet",
}

func (s *Server) groups(w http.ResponseWriter) {
	versions := map[string][]string{"apps": {"apps/v1"}}
	for key := range s.objects {
		parts := strings.Split(strings.TrimPrefix(key, "/apis/"), "/")
		if strings.HasPrefix(key, "/apis/") && parts[0] != "apps" {
			versions[parts[0]] = append(versions[parts[0]], parts[0]+"/"+parts[1])
		}
	}
	var groups []map[string]any
	for name, list := range versions {
		var all []map[string]any
		for _, one := range list {
			all = append(all, map[string]any{"groupVersion": one, "version": strings.TrimPrefix(one, name+"/")})
		}
		groups = append(groups, map[string]any{"name": name, "versions": all, "preferredVersion": all[0]})
	}
	answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

// list answers with a page. The token of the next one is its offset.
func (s *Server) list(w http.ResponseWriter, r *http.Request, base, kind string, all []map[string]any, namespace string) {
	items := []map[string]any{}
	for _, object := range all {
		if selected(r, object, namespace) {
			items = append(items, object)
		}
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	meta := map[string]any{"resourceVersion": strconv.Itoa(s.version())}
	items = items[min(offset, len(items)):]
	if limit > 0 && len(items) > limit {
		items = items[:limit]
		meta["continue"] = strconv.Itoa(offset + limit)
	}
	apiVersion := strings.TrimPrefix(strings.TrimPrefix(base, "/apis/"), "/api/")
	answer(w, http.StatusOK, map[string]any{"kind": kind + "List", "apiVersion": apiVersion, "metadata": meta, "items": items})
}

// write updates or patches an object. A dry run changes nothing. A merge patch is kept as it was sent, under the key "patched".
func (s *Server) write(w http.ResponseWriter, r *http.Request, all []map[string]any, namespace, name string) {
	at := slices.IndexFunc(all, func(object map[string]any) bool {
		return metadata(object)["name"] == name && metadata(object)["namespace"] == namespace
	})
	data, err := io.ReadAll(r.Body)
	var sent map[string]any
	if err != nil || at < 0 || json.Unmarshal(data, &sent) != nil {
		failed(w, http.StatusBadRequest, "BadRequest", "no such object, or no JSON")
		return
	}
	if r.Method == http.MethodPatch {
		all[at]["patched"] = sent
		answer(w, http.StatusOK, all[at])
		return
	}
	if s.Store != nil {
		s.Store(sent)
	}
	if message, ok := sent["refuse"].(string); ok {
		failed(w, http.StatusUnprocessableEntity, "Invalid", message)
		return
	}
	answer(w, http.StatusOK, sent)
}

// Patched is the last patch of the first object of a resource, such as /apis/apps/v1/daemonsets; nil if there was none.
func (s *Server) Patched(resource string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[resource][0]["patched"]
}

func metadata(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	return meta
}

func failed(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code,
	})
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // a client that has gone away needs no answer
}
