package apilog_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/test/integration/apilog"
)

const (
	created = `{"kind":"Event","stage":"ResponseComplete","verb":"create","user":{"username":"us"},` +
		`"objectRef":{"resource":"pods","namespace":"fleet","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},` +
		`"requestObject":{"metadata":{"generateName":"agent-","labels":{"controller-revision-hash":"h1"}},"spec":{"affinity":{"nodeAffinity":` +
		`{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",` +
		`"values":["n1"]}]}]}}}}}}`
	deleted = `{"stage":"ResponseComplete","verb":"delete","user":{"username":"us"},` +
		`"objectRef":{"resource":"pods","namespace":"fleet","name":"agent-x"},"responseStatus":{"code":200}}`
	status = `{"stage":"ResponseComplete","verb":"update","user":{"username":"them"},` +
		`"objectRef":{"resource":"daemonsets","namespace":"fleet","name":"agent","apiGroup":"apps","subresource":"status"},` +
		`"responseStatus":{"code":409}}`
	watched   = `{"stage":"ResponseStarted","verb":"watch","user":{"username":"us"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
	unwatched = `{"stage":"ResponseComplete","verb":"watch","user":{"username":"us"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
	longer    = `{"stage":"ResponseStarted","verb":"get","user":{"username":"us"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
	panicked  = `{"stage":"Panic","verb":"get","user":{"username":"us"},"objectRef":{"resource":"nodes"},"responseStatus":{"code":500}}`
)

func TestParse(t *testing.T) {
	table := []struct {
		name, why, line string
		want            apilog.Call
		ok              bool
	}{
		{
			"create", "the name is made by the server; the node and the revision are in the body", created,
			apilog.Call{User: "us", Verb: "create", Resource: "pods", Namespace: "fleet", Code: 201, Node: "n1", Revision: "h1"}, true,
		},
		{"delete", "by name", deleted, apilog.Call{User: "us", Verb: "delete", Resource: "pods", Namespace: "fleet", Name: "agent-x", Code: 200}, true},
		{
			"subresource", "is part of the resource", status,
			apilog.Call{User: "them", Verb: "update", Resource: "daemonsets/status", Namespace: "fleet", Name: "agent", Code: 409}, true,
		},
		{"watch begins", "it may not end while it is looked at", watched, apilog.Call{User: "us", Verb: "watch", Resource: "pods", Code: 200}, true},
		{"watch ends", "it was counted", unwatched, apilog.Call{}, false},
		{"answer begins", "it will end", longer, apilog.Call{}, false},
		{"panic", "there is no other line of it", panicked, apilog.Call{User: "us", Verb: "get", Resource: "nodes", Code: 500}, true},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			if got, ok, err := apilog.Parse([]byte(row.line)); err != nil || got != row.want || ok != row.ok {
				t.Errorf("%+v, %t, %v; want %+v, %t: %s", got, ok, err, row.want, row.ok, row.why)
			}
		})
	}
	for _, line := range []string{"", "{", `{"stage":4}`, strings.Replace(created, `"spec":{"affinity"`, `"spec":{"hostNetwork":1,"affinity"`, 1)} {
		if got, ok, err := apilog.Parse([]byte(line)); err == nil {
			t.Errorf("%q is read as %+v, %t", line, got, ok)
		}
	}
}

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log := apilog.Open(path)
	next := func(want int) {
		t.Helper()
		if calls, err := log.Next(); err != nil || len(calls) != want {
			t.Errorf("%d calls, %v; want %d", len(calls), err, want)
		}
	}
	text := ""
	write := func(more string) {
		t.Helper()
		text += more
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next(0)
	write(created + "\n" + deleted + "\n" + status[:40])
	next(2)
	next(0)
	write(status[40:])
	next(0)
	write("\n" + watched + "\n")
	next(2)
	write("nonsense\n")
	at := fmt.Sprintf("at byte %d", len(text)-len("nonsense\n"))
	if calls, err := log.Next(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), at) {
		t.Errorf("%v, %v; want where the nonsense is, %s", calls, err, at)
	}
}

func create(node, revision string, code int) apilog.Call {
	return apilog.Call{Verb: "create", Resource: "pods", Namespace: "fleet", Node: node, Revision: revision, Code: code}
}

func remove(name string, code int) apilog.Call {
	return apilog.Call{Verb: "delete", Resource: "pods", Namespace: "fleet", Name: name, Code: code}
}

func TestTwice(t *testing.T) {
	table := []struct {
		name, why string
		calls     []apilog.Call
		want      []string
	}{
		{"nothing", "there is nothing to object to", nil, nil},
		{
			"an update", "each node once for each revision, each pod once",
			[]apilog.Call{create("n1", "1", 201), create("n2", "1", 201), remove("a", 200), remove("b", 200), create("n1", "2", 201), create("n2", "2", 201)},
			nil,
		},
		{"refused and tried again", "only one was carried out", []apilog.Call{create("n1", "1", 500), create("n1", "1", 201), remove("a", 409), remove("a", 202)}, nil},
		{"gone", "the second found nothing", []apilog.Call{remove("a", 200), remove("a", 404)}, nil},
		{"deleted twice", "a pod that was terminating", []apilog.Call{remove("a", 200), remove("b", 200), remove("a", 200)}, []string{"pod fleet/a was deleted 2 times"}},
		{
			"namesakes", "pods of two namespaces",
			[]apilog.Call{remove("a", 200), {Verb: "delete", Resource: "pods", Namespace: "other", Name: "a", Code: 200}}, nil,
		},
		{
			"created twice", "a node was given two pods of a revision",
			[]apilog.Call{create("n1", "1", 201), create("n2", "1", 201), create("n1", "1", 201), create("n1", "1", 201)},
			[]string{"3 pods of revision 1 were created for node n1"},
		},
		{
			"not pods", "a status may be written as often as needed",
			[]apilog.Call{{Verb: "create", Resource: "events", Code: 201}, {Verb: "create", Resource: "events", Code: 201}, {Verb: "delete", Resource: "controllerrevisions", Name: "r", Code: 200}, {Verb: "delete", Resource: "controllerrevisions", Name: "r", Code: 200}},
			nil,
		},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			if got := apilog.Twice(row.calls); !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q: %s", got, row.want, row.why)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	calls := []apilog.Call{create("n1", "1", 201), create("n2", "1", 500), create("", "1", 201), remove("n3", 200)}
	want := []string{"a pod was created that is pinned to no node", "no pod was created for node n2", "no pod was created for node n3"}
	if got := apilog.Missing(calls, []string{"n3", "n1", "n2"}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := apilog.Missing(calls[:1], []string{"n1"}); got != nil {
		t.Errorf("%q, want nothing", got)
	}
}

func TestCounts(t *testing.T) {
	calls := []apilog.Call{create("n1", "1", 201), create("n1", "1", 500), create("n1", "1", 409), remove("a", 409), remove("a", 0), remove("a", 200)}
	tally := apilog.Tally(calls)
	if want := (map[apilog.Kind]int{{Verb: "create", Resource: "pods"}: 3, {Verb: "delete", Resource: "pods"}: 3}); !maps.Equal(tally, want) {
		t.Errorf("%v, want %v", tally, want)
	}
	creates, deletes := apilog.Kind{Verb: "create", Resource: "pods"}, apilog.Kind{Verb: "delete", Resource: "pods"}
	refused := map[apilog.Refusal]int{{Code: 500, Kind: creates}: 1, {Code: 409, Kind: creates}: 1, {Code: 409, Kind: deletes}: 1, {Kind: deletes}: 1}
	if got := apilog.Refused(calls); !maps.Equal(got, refused) {
		t.Errorf("%v, want %v", got, refused)
	}
	order := []apilog.Refusal{{Kind: deletes}, {Code: 409, Kind: creates}, {Code: 409, Kind: deletes}, {Code: 500, Kind: creates}}
	if got := slices.SortedFunc(maps.Keys(refused), apilog.Refusal.Compare); !slices.Equal(got, order) {
		t.Errorf("%v, want %v", got, order)
	}
	got := apilog.Kinds(tally, map[apilog.Kind]int{{Verb: "patch", Resource: "events"}: 1, {Verb: "create", Resource: "pods"}: 1})
	want := []apilog.Kind{{Verb: "patch", Resource: "events"}, {Verb: "create", Resource: "pods"}, {Verb: "delete", Resource: "pods"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
