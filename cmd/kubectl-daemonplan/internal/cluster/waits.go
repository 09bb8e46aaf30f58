package cluster

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// LongestSilence is how long a request may be without an answer before it is said. It is longer than a page of a large cluster
// takes.
const LongestSilence = 5 * time.Second

// Unanswered is a request that the API server has not answered. It has accepted the connection, so that there is no error.
type Unanswered struct {
	// Server is the address of the server: scheme, host and port.
	Server string
	// What is what was asked for, such as "pods in namespace web".
	What string
	// Since is when the request was sent.
	Since time.Time
}

// Silence says in one printable sentence which server has not answered what, and since when; empty: nothing is waited for.
func Silence(list []Unanswered, now time.Time) string {
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, one := range list {
		if !slices.Contains(names, one.What) {
			names = append(names, one.What)
		}
	}
	first := list[0]
	return text.Printable(fmt.Sprintf("The API server at %s has not answered since %s UTC (%s ago). It was asked for %s.",
		first.Server, first.Since.UTC().Format(time.TimeOnly), text.Duration(now.Sub(first.Since)), strings.Join(names, " and ")))
}

// waits are the requests that have no answer yet.
type waits struct {
	base string // the path of the API server, which a proxy may have before the path of a request

	mu    sync.Mutex
	after time.Duration
	tell  func([]Unanswered)
	open  map[*http.Request]*waiting
}

// waiting is a request without an answer, and whether it has been so for too long.
type waiting struct {
	Unanswered
	late bool
}

// OnSilence has a function called when a request has been without an answer for a time, and when what was late has been
// answered, with all that is without an answer then: none, if nothing is late any more. The function must not wait, nor ask
// anything of the cluster. It has returned before the request does.
func (c *Cluster) OnSilence(after time.Duration, tell func([]Unanswered)) {
	c.waits.mu.Lock()
	defer c.waits.mu.Unlock()
	c.waits.after, c.waits.tell = after, tell
}

// silence is how long a request may be without an answer before it is said.
func (c *Cluster) silence() time.Duration {
	c.waits.mu.Lock()
	defer c.waits.mu.Unlock()
	return c.waits.after
}

// unanswered lists what is without an answer, the oldest first; nil as long as nothing is late. The lock is held.
func (w *waits) unanswered() []Unanswered {
	var list []Unanswered
	late := false
	for _, one := range w.open {
		list = append(list, one.Unanswered)
		late = late || one.late
	}
	if !late {
		return nil
	}
	slices.SortFunc(list, func(a, b Unanswered) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.What, b.What)) })
	return list
}

func (w *waits) list() []Unanswered {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unanswered()
}

// begin notes a request. The function that it returns notes that there is an answer, or an error. An error is no answer, and is
// told by whoever gets it.
func (w *waits) begin(r *http.Request) (end func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &waiting{Unanswered: Unanswered{
		Server: r.URL.Scheme + "://" + r.URL.Host, What: asked(strings.TrimPrefix(r.URL.Path, w.base)), Since: time.Now(),
	}}
	w.open[r] = one
	timer := time.AfterFunc(w.after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[r] == one {
			one.late = true
			w.tell(w.unanswered())
		}
	})
	return func(err error) {
		timer.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, r)
		if one.late && err == nil {
			w.tell(w.unanswered())
		}
	}
}

// watchful is a transport that notes which requests have no answer yet.
type watchful struct {
	waits *waits
	next  http.RoundTripper
}

// RoundTrip sends a request. Nothing is waited for any more when the head of the answer is there.
func (t watchful) RoundTrip(r *http.Request) (*http.Response, error) {
	end := t.waits.begin(r)
	response, err := t.next.RoundTrip(r)
	end(err)
	return response, err
}

// WrappedRoundTripper is the transport inside, which client-go asks for.
func (t watchful) WrappedRoundTripper() http.RoundTripper { return t.next }

// basePath is the path of the address of an API server, without a slash at its end.
func basePath(host string) string {
	address, err := url.Parse(host)
	if err != nil || address.Host == "" {
		return ""
	}
	return strings.TrimSuffix(address.Path, "/")
}

// asked is what the path of a request asks for: /apis/apps/v1/namespaces/web/daemonsets are daemonsets.apps in namespace web.
func asked(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) == 1 || len(parts) < 3 && parts[0] == "api" || len(parts) < 4 && parts[0] == "apis" {
		return "the groups of its API"
	}
	group, rest := "", parts[2:]
	if parts[0] == "apis" {
		group, rest = "."+parts[1], parts[3:]
	}
	namespace := ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	name := ""
	if len(rest) > 1 {
		name = " " + rest[1]
	}
	return rest[0] + group + name + in(namespace)
}
