package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// An Authority signs certificates for one test. Its files are gone when the test ends.
type Authority struct {
	tb   testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number
}

// A Certificate is the paths of a certificate and of its key, in PEM.
type Certificate struct {
	Cert, Key string
	Serial    int64 // another one at each renewal
}

// NewAuthority makes an authority whose certificates are good for some hours.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, dir: tb.TempDir()}
	a.key = newKey(tb)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: filepath.Base(a.dir) + " " + tb.Name()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(12 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	a.last = 1
	a.write(a.CA(), "CERTIFICATE", der)
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// CA is the path of the authority's own certificate.
func (a *Authority) CA() string { return filepath.Join(a.dir, "ca.crt") }

// Issue signs a certificate for servers at 127.0.0.1 and for clients. A second one of
// that name is a renewal, in the same files.
func (a *Authority) Issue(name string) Certificate {
	a.tb.Helper()
	return a.issue(name, time.Now().Add(6*time.Hour))
}

// IssueExpired is Issue for a certificate that is over.
func (a *Authority) IssueExpired(name string) Certificate {
	a.tb.Helper()
	return a.issue(name, time.Now().Add(-time.Minute))
}

func (a *Authority) issue(name string, until time.Time) Certificate {
	a.tb.Helper()
	a.last++
	key := newKey(a.tb)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	c := Certificate{Cert: filepath.Join(a.dir, name+".crt"), Key: filepath.Join(a.dir, name+".key"), Serial: a.last}
	a.write(c.Cert, "CERTIFICATE", der)
	a.write(c.Key, "PRIVATE KEY", private)
	return c
}

func (a *Authority) write(path, kind string, der []byte) {
	a.tb.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.tb.Fatal(err)
	}
}

// Client is what a client needs to trust servers of this authority and, with a
// certificate, to be trusted by them.
func (a *Authority) Client(certs ...Certificate) *tls.Config {
	a.tb.Helper()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	c.RootCAs.AddCert(a.cert)
	for _, cert := range certs {
		pair, err := tls.LoadX509KeyPair(cert.Cert, cert.Key)
		if err != nil {
			a.tb.Fatal(err)
		}
		c.Certificates = append(c.Certificates, pair)
	}
	return c
}

// TLS makes the server speak TLS on its port, and ask clients for a certificate of the
// authority. Its socket stays as it is.
func (a *Authority) TLS(cert Certificate) Option {
	return func(c *config) {
		c.tls = []string{
			"--tls-cert-file", cert.Cert, "--tls-key-file", cert.Key, "--tls-ca-cert-file", a.CA(), "--tls-auth-clients", "yes",
		}
	}
}

// portArgs are redis-server's arguments for its port.
func (s *Server) portArgs() []string {
	if s.config.tls == nil {
		return []string{"--port", strconv.Itoa(s.port)}
	}
	return append([]string{"--port", "0", "--tls-port", strconv.Itoa(s.port)}, s.config.tls...)
}

// DialTLS is Dial with TLS.
func DialTLS(addr string, config *tls.Config) (*Client, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", addr, config)
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

// Peer is the serial number of the certificate that the server has shown; 0 without TLS.
func (c *Client) Peer() int64 {
	t, isTLS := c.conn.(*tls.Conn)
	if !isTLS {
		return 0
	}
	return t.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}
