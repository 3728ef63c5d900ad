package conf

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// TLS is what the server needs for its handshakes, nil if TLS is off. It reads
// the files anew at each call, so that renewed certificates can be taken over.
// An error names the setting and the file.
func (s Server) TLS(readFile func(string) ([]byte, error)) (*tls.Config, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	certificate, err := keyPair("server", s.TLSCert, s.TLSKey, readFile)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	if s.TLSClientCA != "" {
		if c.ClientCAs, err = pool("server.tls_client_ca", s.TLSClientCA, readFile); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// TLS is what the connections to rediss:// backends need. Whoever dials sets
// ServerName to the backend's host. It reads the files anew at each call.
func (g Group) TLS(readFile func(string) ([]byte, error)) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if g.TLSCA != "" {
		if c.RootCAs, err = pool("group.tls_ca", g.TLSCA, readFile); err != nil {
			return nil, err
		}
	}
	if g.TLSCert != "" {
		certificate, err := keyPair("group", g.TLSCert, g.TLSKey, readFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{certificate}
	}
	return c, nil
}

func keyPair(section, certPath, keyPath string, readFile func(string) ([]byte, error)) (tls.Certificate, error) {
	cert, err := readFile(certPath)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s.tls_cert: %w", section, err)
	}
	key, err := readFile(keyPath)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s.tls_key: %w", section, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s.tls_cert %s and %s.tls_key %s: %w", section, certPath, section, keyPath, err)
	}
	return pair, nil
}

func pool(key, path string, readFile func(string) ([]byte, error)) (*x509.CertPool, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM", key, path)
	}
	return p, nil
}
