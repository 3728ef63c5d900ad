package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"redlockproxy/conf"
	"redlockproxy/proxy/lane"
	"redlockproxy/quorum"
)

// admin is what is served by HTTP for whoever watches over the proxy.
type admin struct {
	http *http.Server
	done chan struct{}
}

// serveAdmin begins to serve the admin address; nil if there is none.
func (s *Server) serveAdmin() (*admin, error) {
	if s.cfg.Server.Admin == "" {
		return nil, nil
	}
	network, address := conf.SplitAddress(s.cfg.Server.Admin)
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s (server.admin; \"\" turns it off): %w", s.cfg.Server.Admin, err)
	}
	a := &admin{
		http: &http.Server{
			Handler: s.adminHandler(),
			// Whoever is slower than this is no health check.
			ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second,
			WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		if err := a.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error().Err(err).Msg("the admin address is served no more")
		}
	}()
	s.log.Info().Str("addr", ln.Addr().String()).Msg("admin address")
	return a, nil
}

// close ends the admin server and waits for it.
func (a *admin) close() {
	if a == nil {
		return
	}
	_ = a.http.Close() // it ends either way
	<-a.done
}

func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		voters, needed := s.voters(), quorum.Majority(len(s.lanes))
		if voters < needed {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = fmt.Fprintf(w, "%d of %d backends vote; %d are needed\n", voters, len(s.lanes), needed)
	})
	return mux
}

// voters is how many backends can vote at the moment.
func (s *Server) voters() int {
	n := 0
	for _, l := range s.lanes {
		if l.State() == lane.Voter {
			n++
		}
	}
	return n
}
