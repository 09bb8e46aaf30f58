package integration_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// transport stands between a controller and the API server.
type transport func(*http.Request, http.RoundTripper) (*http.Response, error)

// through lets all requests of a controller go through it.
func through(t transport) func(*rest.Config) {
	return func(config *rest.Config) {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) { return t(request, next) })
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// isAction tells whether a request changes pods or revisions. Events, leases and the status of the set are not judged.
func isAction(request *http.Request) bool {
	return request.Method != http.MethodGet && (strings.Contains(request.URL.Path, "/pods") || strings.Contains(request.URL.Path, "/controllerrevisions"))
}

// answer is one that the API server did not give.
func answer(request *http.Request, code int) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"storm","reason":"","code":%d}`, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// lateRevision refuses a revision three times, and counts the pods that are created before it is there.
type lateRevision struct {
	attempts, early atomic.Int64
	written         atomic.Bool
}

func (l *lateRevision) transport(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if request.Method == http.MethodPost && of(request, "controllerrevisions") {
		if l.attempts.Add(1) < 4 {
			return answer(request, http.StatusForbidden), nil
		}
		l.written.Store(true)
	}
	if request.Method == http.MethodPost && of(request, "pods") && !l.written.Load() {
		l.early.Add(1)
	}
	return next.RoundTrip(request)
}

var errCut = errors.New("the connection was cut")

// storm refuses some of the actions, with every code that an API server has for it, and cuts the connection of some before, and of
// some after they were executed. It ends after so many actions: a controller must survive it, not live with it.
func storm(seed uint64, actions int) transport {
	var mutex sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	codes := []int{409, 429, 500, 503, 504}
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isAction(request) {
			return next.RoundTrip(request)
		}
		mutex.Lock()
		dice, code := random.IntN(10), codes[random.IntN(len(codes))]
		if actions--; actions < 0 {
			dice = 9
		}
		mutex.Unlock()
		switch {
		case dice < 3:
			return answer(request, code), nil
		case dice < 4:
			return nil, errCut
		case dice < 6:
			response, err := next.RoundTrip(request)
			if err == nil {
				_ = response.Body.Close()
			}
			return nil, errCut
		default:
			return next.RoundTrip(request)
		}
	}
}

// lagging holds back what watches say.
func lagging(by time.Duration) transport {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.Contains(request.URL.Path, "/pods") {
			response.Body = late(response.Body, by)
		}
		return response, err
	}
}

// late passes on what it reads from body, in order, a while later.
func late(body io.ReadCloser, by time.Duration) io.ReadCloser {
	type chunk struct {
		data []byte
		due  time.Time
		err  error
	}
	chunks := make(chan chunk, 10000)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 32<<10)
			n, err := body.Read(data)
			chunks <- chunk{data[:n], time.Now().Add(by), err}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := writer.Write(c.data); err != nil {
				break
			}
			if c.err != nil {
				_ = writer.CloseWithError(c.err)
			}
		}
		_ = body.Close()
	}()
	return reader
}

// mortal dies right before, or right after, its n-th action: from then on nothing reaches the API server.
type mortal struct {
	mutex sync.Mutex
	left  int
	after bool
	dead  chan struct{}
}

func newMortal(actions int, after bool) *mortal {
	return &mortal{left: actions, after: after, dead: make(chan struct{})}
}

func (m *mortal) transport(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	m.mutex.Lock()
	last := false
	if isAction(request) && m.left > 0 {
		m.left--
		last = m.left == 0
	}
	dead := m.left == 0 && (!last || !m.after)
	if last {
		defer close(m.dead)
	}
	m.mutex.Unlock()
	if dead {
		return nil, errCut
	}
	response, err := next.RoundTrip(request)
	if last && err == nil {
		_ = response.Body.Close()
		return nil, errCut
	}
	return response, err
}
