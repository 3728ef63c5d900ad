package fences

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"redlockproxy/proxy/e2e/clients/pgtest"
	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/faults/history"
	"redlockproxy/proxy/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

const (
	ttl       = 150 * time.Millisecond
	workTime  = 4 * time.Second
	workers   = 6
	resources = 2

	// One step that takes a lock and draws its number.
	lockScript = `if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return 0 end`

	schema = `
		CREATE TABLE resource (id int PRIMARY KEY, fencing_token bigint NOT NULL);
		CREATE TABLE accepted (place bigserial PRIMARY KEY, id int NOT NULL, fencing_token bigint NOT NULL)`
)

// write is one that a worker asked the table for.
type write struct {
	resource  int
	token     int64
	call, end time.Duration
	accepted  bool
}

// site is the proxies, their backends, the table and the workers' notes.
type site struct {
	t        *testing.T
	backends redistest.Group
	proxies  []*redistest.Proxy
	db       *sql.DB
	record   *history.Recorder

	mu     sync.Mutex
	writes []write
	late   int // writes of workers whose ttl was over when they began
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, backends: redistest.StartGroup(t, 5), db: pgtest.Start(t).DB}
	for range 2 {
		s.proxies = append(s.proxies, redistest.StartProxy(t, s.backends.Addrs()))
	}
	if _, err := s.db.Exec(schema); err != nil {
		t.Fatal(err)
	}
	for id := range resources {
		if _, err := s.db.Exec(`INSERT INTO resource VALUES ($1, 0)`, id); err != nil {
			t.Fatal(err)
		}
	}
	s.record = history.NewRecorder()
	return s
}

// store writes to a resource with a fencing number, as the README says.
func (s *site) store(id int, token int64) (accepted bool, err error) {
	tx, err := s.db.Begin()
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // of no effect after the commit
	result, err := tx.Exec(`UPDATE resource SET fencing_token = $1 WHERE id = $2 AND fencing_token < $1`, token, id)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	// The row stays locked until the commit, so places are in the order of the writes.
	if _, err := tx.Exec(`INSERT INTO accepted (id, fencing_token) VALUES ($1, $2)`, id, token); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// work locks and writes until the time is up. Now and then a worker is stopped between
// its lock and its write, for longer than its lock lasts: to the proxy and to the
// table, a process that is stopped and one that sleeps are the same.
func (s *site) work(number int, r *rand.Rand) error {
	via := s.proxies[number%len(s.proxies)]
	c, err := redistest.Dial(via.Addr())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for i := 0; s.record.Now() < workTime; i++ {
		id := r.IntN(resources)
		o := history.Op{
			Client: number, Kind: history.Fenced, Key: fmt.Sprint("lock:", id), Counter: fmt.Sprint("fence:", id),
			Token: fmt.Sprintf("w%d-%d", number, i), TTL: ttl, Call: s.record.Now(),
		}
		reply, err := c.Do("EVAL", lockScript, "2", o.Key, o.Counter, o.Token, strconv.FormatInt(ttl.Milliseconds(), 10))
		o.Return = s.record.Now()
		if err != nil {
			return err
		}
		o.Number, _ = reply.(int64)
		if o.Outcome = history.Done; o.Number == 0 {
			o.Outcome = history.Failed // or refused; neither has a number
		}
		s.record.Add(o)
		if o.Outcome == history.Done {
			if r.IntN(4) == 0 {
				time.Sleep(ttl + time.Duration(r.Int64N(int64(2*ttl))))
			}
			if err := s.write(o, id); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(r.Int64N(int64(10 * time.Millisecond))))
	}
	return nil
}

func (s *site) write(lock history.Op, id int) error {
	w := write{resource: id, token: lock.Number, call: s.record.Now()}
	accepted, err := s.store(id, w.token)
	if err != nil {
		return err
	}
	w.accepted, w.end = accepted, s.record.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, w)
	if w.call > lock.Call+ttl {
		s.late++
	}
	return nil
}

// disturb stops proxies and backends for longer than a lock lasts, at most two of the
// backends at a time.
func (s *site) disturb(r *rand.Rand) {
	for s.record.Now() < workTime {
		stopped := ttl + time.Duration(r.Int64N(int64(ttl)))
		switch r.IntN(3) {
		case 0:
			p := s.proxies[r.IntN(len(s.proxies))]
			p.Pause()
			time.Sleep(stopped)
			p.Resume()
		default:
			two := r.Perm(len(s.backends))[:2]
			for _, b := range two {
				s.backends[b].Pause()
			}
			time.Sleep(stopped)
			for _, b := range two {
				s.backends[b].Resume()
			}
		}
		time.Sleep(time.Duration(r.Int64N(int64(ttl))))
	}
}

func TestTableTakesNoStaleWriteFromWorkersThatWereStopped(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	s := newSite(t)
	errs := make(chan error, workers)
	for i := range workers {
		go func() { errs <- s.work(i, rand.New(rand.NewPCG(seed, uint64(i)))) }()
	}
	s.disturb(rand.New(rand.NewPCG(seed, workers)))
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	accepted, rejected := s.judge()
	for _, complaint := range history.Check(s.record.Ops()) {
		t.Error(complaint)
	}
	faults.Figure(t, "table with a fencing number: %d writes accepted, %d rejected, %d begun after their lock was over; 0 stale ones accepted",
		accepted, rejected, s.late)
	if accepted < 10 || rejected == 0 || s.late == 0 {
		t.Error("too little happened to show anything")
	}
}

// judge looks for stale writes that were accepted: after one with a higher number, or
// out of order as the table saw them.
func (s *site) judge() (accepted, rejected int) {
	s.t.Helper()
	slices.SortFunc(s.writes, func(a, b write) int { return cmp.Compare(a.call, b.call) })
	for i, w := range s.writes {
		if !w.accepted {
			rejected++
			continue
		}
		accepted++
		for _, before := range s.writes[:i] {
			if before.accepted && before.resource == w.resource && before.end < w.call && before.token >= w.token {
				s.t.Errorf("a stale write was accepted: %+v after %+v", w, before)
			}
		}
	}
	rows, err := s.db.Query(`SELECT id, fencing_token FROM accepted ORDER BY place`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	last, n := map[int]int64{}, 0
	for rows.Next() {
		var id int
		var token int64
		if err := rows.Scan(&id, &token); err != nil {
			s.t.Fatal(err)
		}
		if n++; token <= last[id] {
			s.t.Errorf("resource %d: %d after %d", id, token, last[id])
		}
		last[id] = token
	}
	if err := rows.Err(); err != nil || n != accepted {
		s.t.Errorf("the table has %d accepted writes, the workers %d: %v", n, accepted, err)
	}
	return accepted, rejected
}
