package proxy_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"redlockproxy/proxy/redistest"
)

// browserPatience is how long a browser on a busy machine may take for anything.
const browserPatience = 60 * time.Second

// A browser is a headless Chromium with one page, driven through its debugging pipe:
// JSON messages, each ended by a zero byte.
type browser struct {
	t       *testing.T
	to      *os.File
	session string

	mu       sync.Mutex
	last     int
	replies  map[int]chan devtools
	requests []string // URLs that the page asked for
	troubles []string // what the page complained of
}

type devtools struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Session   string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	ErrorText *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// startBrowser starts Chromium, which ends with the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	fromUs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // 3 and 4, where it looks for them
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium can't be run (Debian: apt-get install chromium): %v", err)
	}
	_, _ = fromUs.Close(), toUs.Close()
	b := &browser{t: t, to: to, replies: map[int]chan devtools{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.read(from)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it and the processes that it has started
		_ = cmd.Wait()
		<-ended
		_, _ = to.Close(), from.Close()
		// Its helpers may be writing there while they end.
		redistest.Eventually(t, 10*time.Second, "the profile is removed", func() bool { return os.RemoveAll(profile) == nil })
	})
	return b
}

// read takes in what the browser says until it ends.
func (b *browser) read(from *os.File) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m devtools
		if json.Unmarshal(text[:len(text)-1], &m) == nil {
			b.take(m)
		}
	}
}

func (b *browser) take(m devtools) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reply, waiting := b.replies[m.ID]; waiting {
		reply <- m
		delete(b.replies, m.ID)
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		var p struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		_ = json.Unmarshal(m.Params, &p)
		b.requests = append(b.requests, p.Request.URL)
	case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
		b.troubles = append(b.troubles, string(m.Params))
	}
}

// do sends a command and decodes its result into result, if that is not nil.
func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	encoded, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	reply := make(chan devtools, 1)
	b.mu.Lock()
	b.last++
	m := devtools{ID: b.last, Method: method, Params: encoded, Session: b.session}
	b.replies[m.ID] = reply
	b.mu.Unlock()
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case got := <-reply:
		if got.ErrorText != nil {
			b.t.Fatalf("%s: %s", method, got.ErrorText.Message)
		}
		if result != nil {
			if err := json.Unmarshal(got.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
	case <-time.After(browserPatience):
		b.t.Fatalf("%s: no answer within %s", method, browserPatience)
	}
}

// open shows a page.
func (b *browser) open(url string, width, height int) {
	b.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.do("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	b.session = attached.Session
	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		b.do(domain+".enable", map[string]any{}, nil)
	}
	b.resize(width, height)
	b.do("Page.navigate", map[string]any{"url": url}, nil)
}

// resize makes the window as large as that of a device.
func (b *browser) resize(width, height int) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
}

// eval is the value of a piece of JavaScript.
func (b *browser) eval(script string) any {
	b.t.Helper()
	var got struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	b.do("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &got)
	if got.Exception != nil {
		b.t.Fatalf("%s: %s", script, got.Exception)
	}
	return got.Result.Value
}

// eventually waits until a piece of JavaScript gives true. What it looks at may not be
// there yet.
func (b *browser) eventually(what, script string) {
	b.t.Helper()
	redistest.Eventually(b.t, browserPatience, what, func() bool { return b.eval("(() => { try { return "+script+" } catch { return false } })()") == true })
}

// screenshot writes a picture of the page into a file.
func (b *browser) screenshot(file string) {
	b.t.Helper()
	var got struct {
		Data string `json:"data"`
	}
	b.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &got)
	picture, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err != nil {
		b.t.Fatal(fmt.Errorf("screenshot: %w", err))
	}
}
