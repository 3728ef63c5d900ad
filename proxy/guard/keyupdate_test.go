package guard

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"time"
)

// expand is HKDF-Expand-Label of RFC 8446 without a context.
func expand(t testing.TB, secret []byte, label string, length int) []byte {
	t.Helper()
	label = "tls13 " + label
	info := string([]byte{0, byte(length), byte(len(label))}) + label + "\x00"
	key, err := hkdf.Expand(sha256.New, secret, info, length)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// record is the one with that number of those that are sent with a secret.
func record(t testing.TB, secret []byte, number byte, kind byte, text string) []byte {
	t.Helper()
	block, err := aes.NewCipher(expand(t, secret, "key", 16))
	if err != nil {
		t.Fatal(err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	content := append([]byte(text), kind)
	nonce := expand(t, secret, "iv", 12)
	nonce[11] ^= number
	head := []byte{23, 3, 3, 0, byte(len(content) + seal.Overhead())}
	return seal.Seal(head, nonce, content, head)
}

// clientSecret is what the client's records are encrypted with at first, from a log of keys.
func clientSecret(t testing.TB, keys string) []byte {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(keys)); lines.Scan(); {
		if words := strings.Fields(lines.Text()); words[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(words[2])
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
	}
	t.Fatalf("no secret in %q", keys)
	return nil
}

// Go's client never asks for new keys, so its records are made by hand. Reading answers
// them by writing, long after the handshake or the last reply.
func TestAClientMayAskForNewKeysAtAnyTime(t *testing.T) {
	for name, limits := range map[string]Limits{
		"after the handshake":  {HandshakeTime: 100 * time.Millisecond},
		"after the last reply": {WriteStall: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			config, client := certificates(t)
			var keys bytes.Buffer
			client.KeyLogWriter = &keys
			s := serve(t, "tcp", config, limits, nil)
			raw := s.dial(t)
			c := tls.Client(raw, client)
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
			if suite := c.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
				t.Skipf("the two speak %s", tls.CipherSuiteName(suite))
			}
			const keyUpdate, handshake, data = "\x18\x00\x00\x01\x01", 22, 23
			secret := clientSecret(t, keys.String())
			for i := range byte(3) {
				time.Sleep(150 * time.Millisecond) // longer than the limit
				next := expand(t, secret, "traffic upd", 32)
				update := record(t, secret, min(i, 1), handshake, keyUpdate)
				secret = next
				if _, err := raw.Write(append(update, record(t, secret, 0, data, "PING\r\n")...)); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 7)
				if _, err := io.ReadFull(c, got); string(got) != "+PONG\r\n" || err != nil {
					t.Fatalf("update %d: got %q, %v", i, got, err)
				}
			}
		})
	}
}
