package proxy_test

import (
	"testing"
)

// Scripts that advance a number which they store: each answers 1 if it did. They are
// written in as many ways as came to mind.
var advances = map[string]string{
	"plain":      `local n = tonumber(redis.call('GET', KEYS[1]) or '0') if tonumber(ARGV[1]) > n then redis.call('SET', KEYS[1], ARGV[1]) return 1 end return 0`,
	"early nil":  `local n = redis.call('get', KEYS[1]) if n and tonumber(n) >= tonumber(ARGV[1]) then return nil end redis.call('set', KEYS[1], ARGV[1]) return 1`,
	"error":      `local n = redis.call('GET', KEYS[1]) if n and tonumber(n) >= tonumber(ARGV[1]) then return redis.error_reply('STALE fencing number') end redis.call('SET', KEYS[1], ARGV[1]) return 1`,
	"with ttl":   `if tonumber(redis.call('GET', KEYS[1]) or -1) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'PX', 600000) return 1 end return false`,
	"and writes": `if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) redis.call('SET', KEYS[1] .. ':data', ARGV[2]) return 1 end return 0`,
	"and reads":  `if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) redis.call('GET', KEYS[1] .. ':data') return 1 end return 0`,
	"other last": `local v = redis.call('GET', KEYS[1]) local n = tonumber(ARGV[1]) if not v or n > tonumber(v) then redis.call('SET', KEYS[1], n) return 1 else return 0 end`,
}

const staleSeries = "stale_fencing_token_rejections_total"

func TestScriptThatRefusesAStaleNumberIsCounted(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for name, script := range advances {
		key := "fence:" + name
		run := func(number string, counted float64) {
			t.Helper()
			before := w.scrape()[staleSeries]
			reply := c.do("EVAL", script, "1", key, number, "data")
			if (reply == int64(1)) != (counted == 0) {
				t.Errorf("%s: %s was answered with %v", name, number, reply)
			}
			if rise := w.scrape()[staleSeries] - before; rise != counted {
				t.Errorf("%s: %s counted %g times as stale, wanted %g", name, number, rise, counted)
			}
		}
		run("33", 0)
		run("34", 0)
		run("33", 1) // another holder has come since
		run("34", 1) // it was used already
		run("1", 1)
		run("35", 0)
		run("9007199254740000", 0)
		run("9007199254730000", 1)
	}
	// One that INCR has made is a number as well, and an application may advance it.
	c.want(int64(1), "INCR", "fence:counted")
	c.want(int64(2), "INCR", "fence:counted")
	w.wantRise(staleSeries, map[string]float64{staleSeries: 1}, func() { c.want(int64(0), "EVAL", advances["plain"], "1", "fence:counted", "1") })
}

// Locks whose tokens are numbers, and limits: all refuse while they look at a number
// that is no less than their argument.
func TestOtherRefusalsAreNoStaleNumbers(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.want(ok, "SET", "lock", "4711", "NX", "PX", "600000")
	c.want(ok, "SET", "lasting", "4711", "NX")
	c.want(ok, "SET", "differs", "12", "NX")
	for range 3 {
		c.do("INCR", "used")
	}
	w.wantRise(staleSeries, nil, func() {
		c.want(int64(0), "EVAL", release, "1", "lock", "123")
		c.want(int64(0), "EVAL", release, "1", "lasting", "123")
		c.want(int64(0), "EVAL", extend, "1", "lock", "123", "4000")
		c.want(int64(0), "EVAL", extend, "1", "lasting", "4710", "4000")
		c.want(nil, "EVAL", `return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`, "1", "lock", "17", "4000")
		c.want(int64(0), "EVAL", `local n = tonumber(redis.call('GET', KEYS[1]) or '0') if n < tonumber(ARGV[1]) then return redis.call('INCR', KEYS[1]) end return 0`, "1", "used", "3")
		c.want(int64(0), "EVAL", `local n = tonumber(redis.call('GET', KEYS[1]) or '0') if n < tonumber(ARGV[1]) then return redis.call('INCR', KEYS[1]) end return 0`, "1", "used", "1")
		c.want(int64(0), "EVAL", `if redis.call('GET', KEYS[1]) ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) return 1 end return 0`, "1", "differs", "12")
		c.want("12", "EVAL", `return redis.call('GET', KEYS[1])`, "1", "differs", "11")
		c.want(nil, "EVAL", `return redis.call('GET', KEYS[1])`, "1", "absent", "11")
		c.want("3", "GET", "used")
	})
}
