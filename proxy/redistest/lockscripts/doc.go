// Package lockscripts holds the scripts that applications and lock libraries lock
// with on one Redis: what they mean, in words of its own, with every reply code that
// clients are known to look for. Tests run them against a real Redis and against
// what stands in for it.
package lockscripts
