package faults_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redlockproxy/proxy/faults"
	"redlockproxy/proxy/redistest"
)

// certificate writes a certificate for 127.0.0.1 and its key into files.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	if text, err := os.ReadFile(cert); err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatalf("the certificate: %v", err)
	}
	return cert, key, roots
}

func TestOpenHandshakesHinderNobodyAndEnd(t *testing.T) {
	cert, key, roots := certificate(t)
	backends := redistest.StartGroup(t, 5)
	config := limits + fmt.Sprintf("tls_cert = %q\ntls_key = %q\n", cert, key)
	p := redistest.StartRelease(t, backends.Addrs(), settings(t, config)...)
	before := faults.Files(t, p)
	stopped := make(chan map[string]int)
	go func() {
		// The head of a record that would hold a ClientHello, and no more.
		a := attack{clients: attackers, do: after("\x16\x03\x01\x02\x00\x01", wait)}
		stopped <- a.strike(t, p)
	}()
	redistest.Eventually(t, 5*time.Second, "the handshakes are open", func() bool { return faults.Files(t, p) > before+attackers/2 })
	conn, err := tls.Dial("tcp", p.Addr(), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	reply := make([]byte, len("+OK\r\n"))
	if _, err := conn.Write(redistest.Encode("SET", "k", "a", "NX", "PX", "5000")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, reply); err != nil || !bytes.Equal(reply, []byte("+OK\r\n")) {
		t.Errorf("a lock beside open handshakes: %q, %v", reply, err)
	}
	ends := <-stopped
	faults.Figure(t, "attack open TLS handshakes: at most %d MB; ends: %v", peakMemory(t, p)>>20, ends)
	if ends["time is up"] > 0 || peakMemory(t, p) > mostMemory {
		t.Error("handshakes that stayed open, or too much memory")
	}
	_ = conn.Close()
	redistest.Eventually(t, 5*time.Second, "the attackers' files are closed", func() bool { return faults.Files(t, p) <= before })
}
