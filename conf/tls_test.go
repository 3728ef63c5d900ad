package conf

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"
)

// selfSigned makes a certificate for "h", and its key, in PEM.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "h"}, DNSNames: []string{"h"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs}))
}

var tlsEnviron = []string{
	"REDLOCK_PROXY_SERVER_TLS_CERT=cert", "REDLOCK_PROXY_SERVER_TLS_KEY=key", "REDLOCK_PROXY_SERVER_TLS_CLIENT_CA=cert",
	"REDLOCK_PROXY_GROUP_TLS_CA=cert", "REDLOCK_PROXY_GROUP_TLS_CERT=cert", "REDLOCK_PROXY_GROUP_TLS_KEY=key",
	"REDLOCK_PROXY_GROUP_BACKENDS=rediss://h:1", "REDLOCK_PROXY_SERVER_LISTEN=0.0.0.0:6380",
}

func TestServerAndBackendTLSMeet(t *testing.T) {
	cert, key := selfSigned(t)
	f := files{"cert": cert, "key": key}
	c, _ := load(t, nil, tlsEnviron, f)
	server, err := c.Server.TLS(f.read)
	if err != nil {
		t.Fatal(err)
	}
	client, err := c.Group.TLS(0, f.read)
	if err != nil {
		t.Fatal(err)
	}
	client.ServerName = "h"
	if err := handshake(t, server, client); err != nil {
		t.Errorf("with certificates on both sides: %v", err)
	}
	client.Certificates = nil
	if err := handshake(t, server, client); err == nil {
		t.Error("a client without a certificate got in")
	}
}

// handshake returns what goes wrong when the two talk to each other.
func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	deadline := time.Now().Add(10 * time.Second)
	if err := errors.Join(a.SetDeadline(deadline), b.SetDeadline(deadline)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		err := tls.Server(a, server).Handshake()
		_ = a.Close()
		done <- err
	}()
	clientErr := tls.Client(b, client).Handshake()
	_ = b.Close()
	return errors.Join(<-done, clientErr)
}

func TestUnusableCertificatesAreFoundAtTheStart(t *testing.T) {
	cert, key := selfSigned(t)
	_, otherKey := selfSigned(t)
	for _, c := range []struct {
		f    files
		part string
	}{
		{files{"key": key}, "server.tls_cert"},
		{files{"cert": cert}, "server.tls_key"},
		{files{"cert": "nonsense", "key": key}, "server.tls_cert"},
		{files{"cert": cert, "key": otherKey}, "server.tls_key"},
	} {
		loadFails(t, nil, tlsEnviron, c.f, c.part)
	}
	loadFails(t, nil, []string{"REDLOCK_PROXY_GROUP_TLS_CA=key", "REDLOCK_PROXY_GROUP_BACKENDS=rediss://h:1"}, files{"key": key},
		"group.tls_ca", "key holds no certificate")
}

func TestNoTLSWithoutCertificate(t *testing.T) {
	if c, err := Default().Server.TLS(nil); c != nil || err != nil {
		t.Errorf("%v %v", c, err)
	}
}
