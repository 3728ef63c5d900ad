package status

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redlockproxy/proxy/look"
)

func options() Options {
	return Options{
		Metrics: http.NotFoundHandler(),
		Facts:   func() Facts { return Facts{Group: "g", Votes: "3 of 5 can vote"} },
		Voters:  func() (int, int) { return 3, 5 },
		Locks: func(_ context.Context, part string) (look.Locks, error) {
			return look.Locks{Keys: []look.Key{{Name: "found " + part}}}, nil
		},
	}
}

func visit(h http.Handler, method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(method, path, nil))
	return r
}

func TestReadinessIsAQuorumOfVoters(t *testing.T) {
	o := options()
	for voters, code := range map[int]int{0: 503, 2: 503, 3: 200, 5: 200} {
		o.Voters = func() (int, int) { return voters, 5 }
		if r := visit(Handler(o), "GET", "/readyz"); r.Code != code {
			t.Errorf("%d voters: status %d", voters, r.Code)
		}
	}
	if r := visit(Handler(o), "GET", "/healthz"); r.Code != 200 {
		t.Errorf("health: status %d", r.Code)
	}
}

// The page must not be able to load, or to be put into, anything of another site, and
// what is in it must be just what the policy allows.
func TestPageMayUseNothingButItself(t *testing.T) {
	r := visit(Handler(options()), "GET", "/")
	policy := r.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "connect-src 'self'", digest(pageJS), digest(pageCSS)} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy does not have %s: %s", part, policy)
		}
	}
	body := r.Body.String()
	if strings.Contains(policy, "unsafe") || strings.Contains(body, "://") && strings.Count(body, "://") != strings.Count(body, "http://www.w3.org/2000/svg") {
		t.Error("the page or its policy names something outside")
	}
	if !strings.Contains(body, "<script>"+pageJS+"</script>") || !strings.Contains(body, "<style>"+pageCSS+"</style>") {
		t.Error("script and style are not what their digests are of")
	}
	for _, path := range []string{"/", "/status.json", "/locks.json"} {
		h := visit(Handler(options()), "GET", path).Header()
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestNothingIsServedThatIsNotAskedForByItsName(t *testing.T) {
	h := Handler(options())
	for _, path := range []string{"/nothing", "/page.js", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/vars"} {
		if r := visit(h, "GET", path); r.Code != 404 {
			t.Errorf("%s: status %d", path, r.Code)
		}
	}
	for _, path := range []string{"/", "/status.json", "/locks.json", "/readyz", "/metrics"} {
		if r := visit(h, "POST", path); r.Code != 405 {
			t.Errorf("POST %s: status %d", path, r.Code)
		}
	}
}

// The command line may hold passwords of backends.
func TestProfilesAreServedWhereAskedForButNotTheCommandLine(t *testing.T) {
	o := options()
	o.Pprof = true
	server := httptest.NewUnstartedServer(Handler(o))
	server.Config.WriteTimeout = time.Second
	server.Start()
	defer server.Close()
	for path, code := range map[string]int{
		"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/goroutine?debug=1": 200,
		"/debug/pprof/profile?seconds=2": 200, // longer than the server lets others take
		"/debug/pprof/cmdline":           404, "/debug/pprof/cmdline/": 404,
	} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if _ = answer.Body.Close(); answer.StatusCode != code {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
	}
}

func TestFactsAndLocksAreJSON(t *testing.T) {
	h := Handler(options())
	var f Facts
	if r := visit(h, "GET", "/status.json"); json.Unmarshal(r.Body.Bytes(), &f) != nil || f.Group != "g" || r.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s", r.Body)
	}
	var found look.Locks
	if r := visit(h, "GET", "/locks.json?part=a%20b%26c"); json.Unmarshal(r.Body.Bytes(), &found) != nil || found.Keys[0].Name != "found a b&c" {
		t.Errorf("%s", r.Body)
	}
	if r := visit(h, "GET", "/locks.json?part="+strings.Repeat("x", maxPart+1)); r.Code != 400 {
		t.Errorf("a long part: status %d", r.Code)
	}
	o := options()
	o.Locks = func(context.Context, string) (look.Locks, error) { return look.Locks{}, errors.New("too few") }
	if r := visit(Handler(o), "GET", "/locks.json"); r.Code != 503 || !strings.Contains(r.Body.String(), `"error":"too few"`) {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

func TestManyReadersCostOneSearchASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var searches atomic.Int64
		s := newSearch(func(context.Context, string) (look.Locks, error) {
			searches.Add(1)
			time.Sleep(100 * time.Millisecond)
			return look.Locks{}, nil
		})
		for range 50 {
			go func() { _, _ = s.find(t.Context(), "x") }()
		}
		time.Sleep(time.Second)
		if n := searches.Load(); n != 1 {
			t.Errorf("%d searches for 50 readers", n)
		}
		_, _ = s.find(t.Context(), "y")
		time.Sleep(time.Second)
		_, _ = s.find(t.Context(), "y")
		if n := searches.Load(); n != 3 {
			t.Errorf("%d searches, wanted one for another part and one for its age", n)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := s.find(gone, "z"); err == nil || searches.Load() != 3 {
			t.Error("a search for somebody who is gone")
		}
	})
}
