// Package apilog reads the audit log of an API server: who asked for what, what came of it, and whether anything was carried out
// twice.
package apilog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// Call is a request that was answered.
type Call struct {
	User, Verb string
	// Resource with its subresource, such as pods/status.
	Resource        string
	Namespace, Name string
	Code            int
	// Node and Revision that a pod was created for, if the log has the bodies of such requests.
	Node, Revision string
}

// done tells whether the request was carried out.
func (c Call) done() bool { return c.Code >= http.StatusOK && c.Code < http.StatusMultipleChoices }

// event is a line of the log, as far as it is read.
type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject json.RawMessage `json:"requestObject"`
}

// Parse reads a line of the log. A watch counts when it begins, all else when it ends: ok is false for the line of the other
// stage.
func Parse(line []byte) (call Call, ok bool, err error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return Call{}, false, err
	}
	stage := "ResponseComplete"
	if e.Verb == "watch" {
		stage = "ResponseStarted"
	}
	if e.Stage != stage && e.Stage != "Panic" {
		return Call{}, false, nil
	}
	call = Call{
		User: e.User.Username, Verb: e.Verb, Code: e.ResponseStatus.Code,
		Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
	}
	if e.ObjectRef.Subresource != "" {
		call.Resource += "/" + e.ObjectRef.Subresource
	}
	if call.Verb == "create" && call.Resource == "pods" && len(e.RequestObject) > 0 {
		var pod corev1.Pod
		if err := json.Unmarshal(e.RequestObject, &pod); err != nil {
			return Call{}, false, fmt.Errorf("requestObject: %w", err)
		}
		call.Node, _ = placement.TargetNode(&pod)
		call.Revision = pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	}
	return call, true, nil
}

// Log is an audit log that is being written.
type Log struct {
	path string
	read int64 // up to the end of a line
}

// Open returns a log, to be read from its beginning. It need not be there yet.
func Open(path string) *Log { return &Log{path: path} }

// Next returns the calls that were logged since the last time. A line that is not whole yet is left for the next time.
func (l *Log) Next() ([]Call, error) {
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(file, l.read, 1<<62))
	if err != nil {
		return nil, err
	}
	var calls []Call
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return calls, nil
		}
		call, ok, err := Parse(text[:end])
		if err != nil {
			return nil, fmt.Errorf("%s, at byte %d: %w", l.path, l.read, err)
		}
		if ok {
			calls = append(calls, call)
		}
		l.read += int64(end) + 1
		text = text[end+1:]
	}
}

// Kind of request.
type Kind struct{ Verb, Resource string }

// Compare orders kinds by resource, then verb.
func (k Kind) Compare(other Kind) int {
	return cmp.Or(cmp.Compare(k.Resource, other.Resource), cmp.Compare(k.Verb, other.Verb))
}

// Tally counts calls by kind, those that failed included.
func Tally(calls []Call) map[Kind]int {
	counts := map[Kind]int{}
	for _, c := range calls {
		counts[Kind{c.Verb, c.Resource}]++
	}
	return counts
}

// Refusal is a kind of request that was not carried out, and the answer.
type Refusal struct {
	Code int
	Kind
}

// Compare orders refusals by code, then kind.
func (r Refusal) Compare(other Refusal) int {
	return cmp.Or(cmp.Compare(r.Code, other.Code), r.Kind.Compare(other.Kind))
}

// Refused counts the calls that were not carried out.
func Refused(calls []Call) map[Refusal]int {
	counts := map[Refusal]int{}
	for _, c := range calls {
		if !c.done() {
			counts[Refusal{c.Code, Kind{c.Verb, c.Resource}}]++
		}
	}
	return counts
}

// Twice describes what was carried out more than once: a pod that was deleted again, and a pod that was created although its node
// had been given one of that revision. Nothing fails on the nodes, so there is no reason for either.
func Twice(calls []Call) []string {
	type place struct{ node, revision string }
	type name struct{ namespace, name string }
	created, deleted := map[place]int{}, map[name]int{}
	for _, c := range calls {
		switch {
		case !c.done() || c.Resource != "pods":
		case c.Verb == "create":
			created[place{c.Node, c.Revision}]++
		case c.Verb == "delete":
			deleted[name{c.Namespace, c.Name}]++
		}
	}
	var found []string
	for p, n := range created {
		if n > 1 {
			found = append(found, fmt.Sprintf("%d pods of revision %s were created for node %s", n, p.revision, p.node))
		}
	}
	for p, n := range deleted {
		if n > 1 {
			found = append(found, fmt.Sprintf("pod %s/%s was deleted %d times", p.namespace, p.name, n))
		}
	}
	slices.Sort(found)
	return found
}

// Missing describes which nodes were given no pod by the calls, and which pods were created for a node that cannot be told.
func Missing(calls []Call, nodes []string) []string {
	given := map[string]bool{}
	for _, c := range calls {
		if c.done() && c.Verb == "create" && c.Resource == "pods" {
			given[c.Node] = true
		}
	}
	var found []string
	if given[""] {
		found = append(found, "a pod was created that is pinned to no node")
	}
	for _, node := range slices.Sorted(slices.Values(nodes)) {
		if !given[node] {
			found = append(found, fmt.Sprintf("no pod was created for node %s", node))
		}
	}
	return found
}

// Kinds are those of several tallies, in order.
func Kinds(tallies ...map[Kind]int) []Kind {
	all := map[Kind]bool{}
	for _, tally := range tallies {
		for kind := range tally {
			all[kind] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), Kind.Compare)
}
