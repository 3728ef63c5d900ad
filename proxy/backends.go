package proxy

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"redlockproxy/conf"
	"redlockproxy/proxy/embedded"
	"redlockproxy/proxy/lane"
	"redlockproxy/proxy/lua"
)

// embeddedBackends is how many stand-ins there are when no backends are named: as
// many as a group usually has.
const embeddedBackends = 5

// laneConfigs says for every backend how to reach it.
func (s *Server) laneConfigs(readFile func(string) ([]byte, error)) ([]lane.Config, error) {
	if s.cfg().Embedded {
		s.own = embedded.Start(embeddedBackends)
		configs := make([]lane.Config, len(s.own))
		for i, b := range s.own {
			configs[i] = s.laneConfig(i, fmt.Sprintf("embedded-%d", i+1), redis.Options{Addr: "embedded", Dialer: b.Dial})
		}
		return configs, nil
	}
	logins, err := logins(s.cfg().Group, readFile)
	if err != nil {
		return nil, err
	}
	configs := make([]lane.Config, len(logins))
	for i, b := range s.cfg().Group.Backends {
		a := lane.NewAccess(logins[i])
		s.access = append(s.access, a)
		configs[i] = s.laneConfig(i, b.String(), a.Options(b.Network, b.Address))
	}
	return configs, nil
}

// logins are what each backend asks of those who connect.
func logins(g conf.Group, readFile func(string) ([]byte, error)) ([]lane.Login, error) {
	all := make([]lane.Login, len(g.Backends))
	for i, b := range g.Backends {
		config, err := g.TLS(i, readFile)
		if err != nil {
			return nil, err
		}
		all[i] = lane.Login{User: b.User.Reveal(), Password: b.Password.Reveal(), TLS: config}
	}
	return all, nil
}

func (s *Server) laneConfig(i int, name string, o redis.Options) lane.Config {
	c := s.cfg().Lane
	return lane.Config{
		Index: i, Name: name, Options: o,
		Connect: c.Connect, Vote: c.Vote, Stall: c.Stall,
		BackoffMin: c.BackoffMin, BackoffMax: c.BackoffMax,
		BatchRequests: c.BatchRequests, BatchBytes: c.BatchBytes, Queue: c.Queue, Debts: c.Debts,
		RoundTrip: s.roundTrip(i), Votes: s.votes,
		Admission: admissionRule(*s.cfg(), i), Twin: s.twin(i),
		Log: s.log,
	}
}

// twin finds another backend that is the same process.
func (s *Server) twin(index int) func(runID string) string {
	return func(runID string) string {
		i := s.twins.meet(index, runID)
		if i < 0 {
			return ""
		}
		return s.cfg().Group.Backends[i].String()
	}
}

func names(configs []lane.Config) []string {
	all := make([]string, len(configs))
	for i, c := range configs {
		all[i] = c.Name
	}
	return all
}

// scriptBytes bounds the texts of all scripts that are kept.
const scriptBytes = 8 << 20

func scriptCache(c conf.Config) *lua.Cache {
	return lua.NewCache(c.Script.Cache, scriptBytes, scriptLimits(c))
}

func scriptLimits(c conf.Config) lua.Limits {
	return lua.Limits{
		MaxSource: c.Script.MaxSource, MaxSteps: int64(c.Script.MaxSteps), MaxTime: c.Script.MaxTime,
		Version: c.Server.AdvertisedVersion,
	}
}
