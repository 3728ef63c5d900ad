// Package clients drives real client and lock libraries against the redlock-proxy
// binary in front of five redis-servers: Go libraries from here, those of Python
// and Node.js through the scripts in the folders python and node. Each takes the
// proxy for the one Redis it was written for, so each of its scenarios also runs
// against one plain redis-server.
//
// It is a module of its own, so that none of these libraries becomes a
// dependency of the proxy. ../setup.sh installs what it needs beside Go.
package clients
