package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

func TestOptionsOfSetInAnyOrderAndCaseAreTheSameLock(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	at := time.Now().Add(time.Minute)
	for i, form := range []string{
		"set %s t ex 60 nx", "SET %s t PX 60000 NX", "SET %s t NX EX 60", "SET %s t nX pX 60000", "sEt %s t Ex 60 Nx",
		fmt.Sprintf("SET %%s t NX EXAT %d", at.Unix()), fmt.Sprintf("SET %%s t PXAT %d NX", at.UnixMilli()), "SET %s t NX NX PX 60000", "SET %s t NX PX 1 PX 60000",
	} {
		key := fmt.Sprint("k", i)
		c.want(ok, strings.Fields(fmt.Sprintf(form, key))...)
		c.want(nil, strings.Fields(fmt.Sprintf(form, key))...)
		if left, _ := c.do("PTTL", key).(int64); left < 50_000 || left > 60_000 {
			t.Errorf("%s: %d ms left", form, left)
		}
		c.want(int64(1), "EVAL", release, "1", key, "t")
	}
	c.wantError("ERR syntax error", "SET", "joined", "t", "NX PX 1000")
	w.gone("joined", "k0")
}

func TestEmptyKeysAndValuesAreKept(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.want(ok, "SET", "", "", "NX", "PX", "60000")
	c.want("", "GET", "")
	c.want(nil, "SET", "", "", "NX", "PX", "60000")
	c.want(int64(0), "STRLEN", "")
	c.want(int64(1), "EVAL", release, "1", "", "")
	c.want(nil, "GET", "")
	const binary = "\x00\r\n\xff~rl:AAAAAAAAAAAAAAAA"
	c.want(ok, "SET", binary, binary, "NX", "PX", "60000")
	c.want(binary, "GET", binary)
	c.want(int64(len(binary)), "STRLEN", binary)
	c.want(int64(1), "EVAL", release, "1", binary, binary)
	w.gone("", binary)
}

// inline sends lines as they stand to the proxy and to one Redis.
func TestInlineCommandsAreReadAsRedisReadsThem(t *testing.T) {
	w, redis := newWorld(t), redistest.Start(t)
	p := newPair(t, w, redis)
	for _, line := range []string{
		`PING`, `  PING  `, "PING\tx", `SET a "a b" NX PX 60000`, `GET a`, `SET b 'a b' NX PX 60000`, `GET b`, `SET c "\x00\xff" PX 60000`, `GET c`,
		`SET d "" NX PX 60000`, `GET d`, `SET e '\x41' PX 60000`, `GET e`, `SET f "\n\r\t\\\"" PX 60000`, `GET f`, `sEt g G`, `ECHO 'it\'s'`, `NOSUCH 'x y'`,
	} {
		for _, end := range []string{"\r\n", "\n"} {
			for _, c := range []*client{p.proxy, p.redis} {
				if err := c.Write([]byte(line + end)); err != nil {
					t.Fatal(err)
				}
			}
			if here, there := render(p.proxy.receive()), render(p.redis.receive()); here != there {
				t.Errorf("%q\n\tRedis: %s\n\tproxy: %s", line, there, here)
			}
		}
	}
	for _, c := range []*client{p.proxy, p.redis} {
		if err := c.Write([]byte("SET h \"unbalanced\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	if here, there := render(p.proxy.receive()), render(p.redis.receive()); here != there || !strings.Contains(here, "unbalanced quotes") {
		t.Errorf("Redis: %s, proxy: %s", there, here)
	}
	p.proxy.wantClosed()
	w.gone("h")
}
