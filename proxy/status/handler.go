package status

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"redlockproxy/proxy/look"
	"redlockproxy/quorum"
)

// Options are what the handler shows.
type Options struct {
	Metrics http.Handler
	Facts   func() Facts
	// Voters are the backends that can vote, and all.
	Voters func() (voters, all int)
	// Locks searches for locks by a part of their name.
	Locks func(ctx context.Context, part string) (look.Locks, error)
	// Pprof serves the profiles of the Go runtime, too. Making them takes processor time.
	Pprof bool
}

// profileTime is how long a profile may take to be made and sent.
const profileTime = 2 * time.Minute

// maxPart is the longest part of a name that is searched for, in bytes. Keys can be
// longer, but nobody types that.
const maxPart = 256

// Handler serves /healthz, /readyz, /metrics, the page at /, its facts at /status.json
// and /locks.json, and, where it is asked for, /debug/pprof/.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		voters, all := o.Voters()
		needed := quorum.Majority(all)
		if voters < needed {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintf(w, "%d of %d backends vote; %d are needed\n", voters, all, needed)
	})
	mux.Handle("GET /metrics", o.Metrics)
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) { serveJSON(w, http.StatusOK, o.Facts()) })
	search := newSearch(o.Locks)
	mux.HandleFunc("GET /locks.json", func(w http.ResponseWriter, r *http.Request) {
		part := r.URL.Query().Get("part")
		if len(part) > maxPart {
			serveJSON(w, http.StatusBadRequest, problem{fmt.Sprintf("a part of a name has at most %d bytes", maxPart)})
			return
		}
		found, err := search.find(r.Context(), part)
		if err != nil {
			serveJSON(w, http.StatusServiceUnavailable, problem{err.Error()})
			return
		}
		serveJSON(w, http.StatusOK, found)
	})
	if o.Pprof {
		serveProfiles(mux)
	}
	return mux
}

// problem is what is served in place of facts.
type problem struct {
	Error string `json:"error"`
}

func serveJSON(w http.ResponseWriter, code int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"the facts can't be written"}`)
	}
	guardHeaders(w.Header(), "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

// guardHeaders keep what is served out of caches and other sites' pages.
func guardHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// The parts of the page.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// page is the whole page, and pagePolicy what it may do: to run this one script, use
// this one style, and ask the server that it came from.
var (
	page = strings.NewReplacer("/*css*/", pageCSS, "/*js*/", pageJS).Replace(pageHTML)

	pagePolicy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; style-src " + digest(pageCSS) + "; script-src " + digest(pageJS)
)

// digest names an inline text in a policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	guardHeaders(w.Header(), pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page))
}

// serveProfiles adds the handlers of net/http/pprof, except for the one that shows the
// command line, in which passwords may stand. They refuse profiles that take
// longer than the server lets an answer take, which for everything else is short; so
// they are not shown that server, and get a limit of their own.
func serveProfiles(mux *http.ServeMux) {
	for path, f := range map[string]http.HandlerFunc{
		"/debug/pprof/": profileIndex, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), profileTime)
			defer cancel()
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTime)) // else the short one holds
			f(w, r.WithContext(context.WithValue(ctx, http.ServerContextKey, "")))
		})
	}
}

// profileIndex is pprof's, without the command line, which its own list would serve too.
func profileIndex(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/debug/pprof/cmdline") {
		http.NotFound(w, r)
		return
	}
	pprof.Index(w, r)
}
