package clients

import (
	"strings"
	"testing"
	"time"
)

// shell is a driver that is a shell script.
func shell(t *testing.T, script string) (*driver, error) {
	t.Helper()
	c, err := driven("sh", "-c", script)(t, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.close)
	return c.(*driver), nil
}

func TestDriversErrorsAreTheLibrarysOwn(t *testing.T) {
	d, err := shell(t, `echo ready; read -r line; echo "error UNAVAILABLE 1 granted"; read -r line; echo "value $line"; cat >/dev/null`)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := d.acquire("a", time.Second); ok || err == nil || err.Error() != "UNAVAILABLE 1 granted" {
		t.Errorf("acquire: %v, %v", ok, err)
	}
	if text, err := d.call("acquire", "b", millis(1500*time.Millisecond)); text != "acquire b 1500" || err != nil {
		t.Errorf("what the driver was asked: %q, %v", text, err)
	}
}

func TestDriversAnswersAreNeverGuessed(t *testing.T) {
	for name, reply := range map[string]string{
		"nothing":            "exit 0",
		"another word":       "echo OK",
		"an empty line":      "echo",
		"yes with more":      "echo yes indeed",
		"no answer to a try": "echo done",
	} {
		d, err := shell(t, "echo ready; read -r line; "+reply+"; cat >/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := d.acquire("a", time.Second); ok || err == nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

func TestDriverThatIsNotReadySaysWhy(t *testing.T) {
	_, err := shell(t, "echo 'no such module' >&2; echo error connection refused")
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "no such module") {
		t.Errorf("error: %v", err)
	}
}
