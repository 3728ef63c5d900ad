package conf

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// What a text setting must look like. None of these errors repeats the text.

func checkListen(text string) error {
	if socket, ok := strings.CutPrefix(text, unixPrefix); ok {
		_, err := socketPath(socket)
		return err
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host != "" && !hostChars(host) {
		return errors.New(`must be "host:port", ":port" for all interfaces, or "unix:/path"`)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("needs a port of 0 (any that is free) to 65535 behind the host")
	}
	return nil
}

func checkAdmin(text string) error {
	if text == "" {
		return nil
	}
	return checkListen(text)
}

func checkPath(text string) error {
	// 4096 bytes is the longest path that Linux takes.
	if len(text) >= 4096 || strings.ContainsRune(text, 0) {
		return errors.New("must be a path of less than 4096 bytes, without zero bytes")
	}
	return nil
}

func checkName(text string) error {
	ok := text != "" && len(text) <= 64
	for _, c := range []byte(text) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0)
	}
	if !ok {
		return errors.New(`must be 1 to 64 letters, digits, dots, "-" or "_"`)
	}
	return nil
}

func checkVersion(text string) error {
	parts := strings.Split(text, ".")
	ok := len(parts) == 3
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		ok = ok && err == nil && strconv.FormatUint(n, 10) == p
	}
	if !ok {
		return errors.New(`must be three numbers from 0 to 255, such as "8.4.0"`)
	}
	return nil
}
