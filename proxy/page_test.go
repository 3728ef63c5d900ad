package proxy_test

import (
	"flag"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

var screenshots = flag.String("screenshots", "", "a folder for pictures of the status page, for people to look at")

func TestStatusPageInABrowser(t *testing.T) {
	group := redistest.StartGroup(t, 5)
	group[1].MustDo("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	w := join(t, group, "LANE_VOTE=1s", "SERVER_ANSWER_WITHIN=2s")
	server := httptest.NewServer(w.server.Admin())
	defer server.Close()
	c := w.client()
	c.want(ok, "SET", "order:1", "T0ken-canary", "NX", "PX", "600000")
	c.want(ok, "SET", "order:2", "T0ken-canary", "NX", "PX", "600000")
	c.want(ok, "SET", "batch<img src=x>", "T0ken-canary", "NX", "PX", "600000")
	w.onAll("batch<img src=x>")
	w.backends[0].MustDo("SET", "remnant", "T0ken-canary", "PX", "600000")

	if err := w.client().Write([]byte("*x\r\n")); err != nil {
		t.Fatal(err)
	}

	b := startBrowser(t)
	b.open(server.URL, 1280, 900)
	text := `document.body.innerText`
	b.eventually("all can vote", text+`.includes("5 of 5 can vote, 3 needed, 2 to spare")`)
	b.eventually("five voters", `document.querySelectorAll("#backends .badge.voter").length === 5`)
	b.eventually("what needs a look, of a voter too", `[...document.querySelectorAll("#backends .warning")].map((e) => e.textContent).join() === "needs a look: eviction_policy"`)
	b.eventually("the limit that was hit", `document.querySelector("#tiles").innerText.includes("limits hit: multibulk_length")`)
	b.eventually("the locks", `[...document.querySelectorAll("#locks .row .name")].map((e) => e.textContent).join() === "batch<img src=x>,order:1,order:2,remnant"`)
	b.eventually("the remnant is none", `[...document.querySelectorAll("#locks .row")].pop().innerText.includes("leftover")`)
	b.eventually("charts", `document.querySelectorAll("svg.chart").length === 2 && document.querySelector("#rate rect.won") !== null`)
	b.picture("desktop")

	b.eval(`document.querySelector("#search").value = "order:2"; document.querySelector("#search").dispatchEvent(new Event("input")); 0`)
	b.eventually("the search", `document.querySelectorAll("#locks .row .name").length === 1 && document.querySelector("#locks").innerText.includes("order:2")`)
	b.eval(`document.querySelector("#search").value = ""; document.querySelector("#search").dispatchEvent(new Event("input")); 0`)

	// It updates by itself.
	w.backends[3].Kill()
	w.backends[4].Kill()
	b.eventually("two are down", text+`.includes("3 of 5 can vote, 3 needed, none to spare") && document.querySelectorAll("#backends .badge.down").length === 2`)
	w.backends[2].Kill()
	b.eventually("no decisions", text+`.includes("no decisions") && document.querySelector("#verdict").classList.contains("bad")`)

	w.backends[0].MustDo("SET", redistest.Marker, strings.Replace(w.backends[0].Get(redistest.Marker), " voter ", " locker ", 1))
	b.eventually("a voter about locks alone", text+`.includes("it votes about locks, and not yet about numbers")`)

	b.resize(390, 844)
	b.eventually("nothing is wider than a phone", `document.documentElement.scrollWidth <= 390 && innerWidth === 390`)
	b.picture("phone")
	if b.eval(`document.documentElement.outerHTML.includes("T0ken-canary")`) == true {
		t.Error("a token stands in the page")
	}
	b.wantOnly(server.URL)
}

// picture keeps a picture if they are wanted.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots != "" {
		b.screenshot(filepath.Join(*screenshots, name+".png"))
	}
}

// wantOnly checks that the page asked nobody else, and that nothing in it failed.
func (b *browser) wantOnly(url string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, url+"/") && !strings.HasPrefix(r, "data:,") {
			b.t.Errorf("the page asked for %s", r)
		}
	}
	if len(b.requests) < 3 {
		b.t.Errorf("only %q were asked for", b.requests)
	}
	for _, trouble := range b.troubles {
		if !strings.Contains(trouble, "503") { // of a search without enough backends, which the page shows
			b.t.Errorf("the browser complains: %s", trouble)
		}
	}
}
