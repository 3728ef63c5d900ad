package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/redcon"
)

// certificates makes a server's and a client's configuration.
func certificates(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// From long ago: virtual time begins in the year 2000.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots, ServerName: "localhost"}
}

func TestCommandsWorkOverTLS(t *testing.T) {
	config, client := certificates(t)
	s := serve(t, "tcp", config, Limits{}, nil)
	c := tls.Client(s.dial(t), client)
	if _, err := io.WriteString(c, "PING\r\n"+array("ECHO", "a")+"*x\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if want := "+PONG\r\n$1\r\na\r\n-ERR Protocol error: invalid multibulk length\r\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestUnfinishedHandshakesHinderNobodyAndEnd(t *testing.T) {
	config, client := certificates(t)
	s := serve(t, "tcp", config, Limits{HandshakeTime: time.Second}, nil)
	silent := s.dial(t)
	c := tls.Client(s.dial(t), client)
	if got := exchange(t, c, "PING\r\n", 7); got != "+PONG\r\n" {
		t.Errorf("got %q", got)
	}
	closedAfter(silent)
	s.until(t, "counted", func() bool { return s.count(CauseHandshake) == 1 && s.Clients() == 1 })
}

func TestTheHandshakeHasOneDeadline(t *testing.T) {
	config, _ := certificates(t)
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		serveOn(t, ln, config, Limits{}, nil)
		c := ln.dial(t)
		trickle(t, c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", time.Second)
		if d := closedAfter(c); d != 5*time.Second {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestPlainTextToATLSPortFails(t *testing.T) {
	config, _ := certificates(t)
	failed := make(chan error, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := ListenTLS(ln, config, Limits{}, Hooks{HandshakeFail: func(err error) { failed <- err }})
	done := make(chan error, 1)
	go func() {
		done <- redcon.Serve(l, func(redcon.Conn, redcon.Command) {}, nil, nil)
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, "PING\r\n", manyBytes)
	c.Close()
	<-failed
	l.Close()
	<-done
}

func TestNothingIsWrittenBeforeTheHandshake(t *testing.T) {
	config, _ := certificates(t)
	client, server := net.Pipe()
	defer client.Close()
	c := newConn(ListenTLS(nil, config, Limits{}, Hooks{}), server)
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != errNoHandshake {
		t.Errorf("got %v", err)
	}
}

func TestClosingDoesNotWaitForAClientThatDoesNotRead(t *testing.T) {
	config, client := certificates(t)
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		s := serveOn(t, ln, config, Limits{}, nil)
		c := tls.Client(ln.dial(t), client)
		if got := exchange(t, c, "PING\r\n", 7); got != "+PONG\r\n" {
			t.Errorf("got %q", got)
		}
		synctest.Wait()
		start := time.Now() // from here on, nobody takes TLS's goodbye out of the pipe
		s.Close()
		<-s.done
		if d := time.Since(start); d != partingTime {
			t.Errorf("took %v", d)
		}
		s.done <- nil
	})
}
