package fakeapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// history is what has changed, and who waits for changes.
type history struct {
	changes []change
	first   int           // the version before the first change that watches may still begin at
	more    chan struct{} // closed at the next change
	down    bool
	hung    chan struct{} // closed when requests are answered again; nil: they are
}

// change is a change of an object: from nil when it is created, to nil when it is deleted.
type change struct {
	key      string // group and resource
	from, to map[string]any
}

func newHistory() history { return history{more: make(chan struct{})} }

// firstVersion is the version of the dump. Each change makes the next one.
const firstVersion = 1

func (h *history) version() int { return firstVersion + len(h.changes) }

// wake has the watches look again.
func (h *history) wake() {
	close(h.more)
	h.more = make(chan struct{})
}

// Put creates an object, or puts it in the place of the one of its name.
func (s *Server) Put(object string) {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(object), &tree); err != nil {
		panic(err) // a mistake in the test
	}
	apiVersion, _ := tree["apiVersion"].(string)
	kind, _ := tree["kind"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path(apiVersion)+"/"+strings.ToLower(kind)+"s", tree)
}

func (s *Server) put(key string, tree map[string]any) {
	at := s.find(key, metadata(tree)["namespace"], metadata(tree)["name"])
	one := change{key: key, to: tree}
	// Lists share the slice with requests that go on.
	s.objects[key] = slices.Clone(s.objects[key])
	if at < 0 {
		s.objects[key] = append(s.objects[key], tree)
	} else {
		one.from = s.objects[key][at]
		s.objects[key][at] = tree
	}
	s.record(one)
}

func (s *Server) find(key string, namespace, name any) int {
	return slices.IndexFunc(s.objects[key], func(object map[string]any) bool {
		return metadata(object)["name"] == name && metadata(object)["namespace"] == namespace
	})
}

func (s *Server) record(one change) {
	s.changes = append(s.changes, one)
	if one.to != nil {
		meta := maps.Clone(metadata(one.to))
		meta["resourceVersion"] = strconv.Itoa(s.version())
		one.to["metadata"] = meta
	}
	s.wake()
}

// Delete deletes an object of a resource such as /api/v1/pods. The namespace of a node is empty.
func (s *Server) Delete(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in any
	if namespace != "" {
		in = namespace
	}
	at := s.find(resource, in, name)
	if at < 0 {
		panic("there is no " + resource + " " + namespace + "/" + name)
	}
	gone := s.objects[resource][at]
	s.objects[resource] = slices.Delete(slices.Clone(s.objects[resource]), at, at+1)
	s.record(change{key: resource, from: gone})
}

// Expire ends all watches with the error that they have fallen too far behind, and forgets the changes so far.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, change{}) // so that no watch is at the newest version
	s.first = s.version()
	s.wake()
}

// Forbid refuses more, as Forbidden does, while the server is in use.
func (s *Server) Forbid(what ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Forbidden = append(s.Forbidden, what...)
}

// Disconnect breaks all watches, and does not answer any more until Reconnect.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	s.wake()
}

// Reconnect answers again.
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// Hang leaves requests without an answer until Answer. Connections are accepted, and watches that have begun go on.
func (s *Server) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung == nil {
		s.hung = make(chan struct{})
	}
}

// Answer answers what was left without an answer, and what comes.
func (s *Server) Answer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung != nil {
		close(s.hung)
		s.hung = nil
	}
}

// hang waits until requests are answered. It reports whether the client still waits for one. The lock is held when it is called
// and when it returns.
func (s *Server) hang(r *http.Request) bool {
	for s.hung != nil {
		hung := s.hung
		s.mu.Unlock()
		select {
		case <-hung:
		case <-r.Context().Done():
		}
		s.mu.Lock()
		if r.Context().Err() != nil {
			return false
		}
	}
	return true
}

// selected reports whether a list or a watch is to have an object.
func selected(r *http.Request, object map[string]any, namespace string) bool {
	if object == nil || namespace != "" && metadata(object)["namespace"] != namespace {
		return false
	}
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return false
	}
	names, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return false
	}
	set := make(labels.Set)
	tree, _ := metadata(object)["labels"].(map[string]any)
	for key, value := range tree {
		set[key], _ = value.(string)
	}
	name, _ := metadata(object)["name"].(string)
	return selector.Matches(set) && names.Matches(fields.Set{"metadata.name": name})
}

// watch answers with the changes after the version of the request, until the connection is closed. The lock is held when it is
// called and when it returns.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, base, resource, namespace string) {
	query := r.URL.Query()
	streams := query.Get("sendInitialEvents") == "true"
	if streams && s.NoListStreams {
		failed(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	send := func(kind string, object map[string]any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object}) // a client that is gone needs nothing
	}
	key := base + "/" + resource
	at, _ := strconv.Atoi(query.Get("resourceVersion"))
	if streams {
		for _, object := range s.objects[key] {
			if selected(r, object, namespace) {
				send("ADDED", object)
			}
		}
		at = s.version()
		send("BOOKMARK", map[string]any{
			"kind": kinds[resource], "apiVersion": strings.TrimPrefix(strings.TrimPrefix(base, "/apis/"), "/api/"),
			"metadata": map[string]any{
				"resourceVersion": strconv.Itoa(at), "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
			},
		})
	}
	for {
		if s.down {
			hangUp(w)
			return
		}
		if at < s.first {
			send("ERROR", map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": http.StatusGone,
				"message": "too old resource version",
			})
			return
		}
		for ; at < s.version(); at++ {
			if one := s.changes[at-firstVersion]; one.key == key {
				sendChange(r, one, namespace, send)
			}
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-r.Context().Done():
			s.mu.Lock()
			return
		}
		s.mu.Lock()
	}
}

// sendChange sends a change as one of what is selected.
func sendChange(r *http.Request, one change, namespace string, send func(string, map[string]any)) {
	before, after := selected(r, one.from, namespace), selected(r, one.to, namespace)
	switch {
	case before && after:
		send("MODIFIED", one.to)
	case after:
		send("ADDED", one.to)
	case before:
		send("DELETED", one.from)
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if connection, _, err := hijacker.Hijack(); err == nil {
			_ = connection.Close()
		}
	}
}
