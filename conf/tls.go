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
	certificate, err := keyPair("server.tls_cert", s.TLSCert, "server.tls_key", s.TLSKey, readFile)
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

// TLS is what connections to the backend with that index need, from 0; nil if it is
// not reached by TLS. Whoever dials sets ServerName to the backend's host. It reads
// the files anew at each call. An error names the setting and the file.
func (g Group) TLS(i int, readFile func(string) ([]byte, error)) (*tls.Config, error) {
	b := g.Backends[i]
	if !b.TLS {
		return nil, nil
	}
	// name is the setting that a file comes from: the group's, or the entry's own.
	name := func(option, own, groups string) string {
		if own == groups {
			return "group." + option
		}
		return fmt.Sprintf("group.backends: entry %d: %s", i+1, option)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if b.TLSCA != "" {
		if c.RootCAs, err = pool(name("tls_ca", b.TLSCA, g.TLSCA), b.TLSCA, readFile); err != nil {
			return nil, err
		}
	}
	if b.TLSCert != "" {
		certificate, err := keyPair(name("tls_cert", b.TLSCert, g.TLSCert), b.TLSCert,
			name("tls_key", b.TLSKey, g.TLSKey), b.TLSKey, readFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{certificate}
	}
	return c, nil
}

func keyPair(certName, certPath, keyName, keyPath string, readFile func(string) ([]byte, error)) (tls.Certificate, error) {
	cert, err := readFile(certPath)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w", certName, err)
	}
	key, err := readFile(keyPath)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w", keyName, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s %s and %s %s: %w", certName, certPath, keyName, keyPath, err)
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
