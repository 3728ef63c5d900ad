// Package metrics counts what the proxy does, and shows it to Prometheus.
//
// Two kinds of numbers meet here. What happens on the way of a command is pushed: an
// atomic addition or two for each, into counters that were looked up when the program
// began. What is a state of its own, such as how many requests wait for a backend, is
// pulled through a Source when somebody asks.
//
// The number of series is constant: a label is a backend of the configuration, or a word
// out of a list in this package or in package guard. No key, no client and no token is
// ever one. Names that begin with redlock_proxy_ are in Prometheus's base units; the
// five without that prefix are the ones that dashboards for Redis locks share, and are
// in milliseconds where their name says so.
//
// The package knows nothing of connections, votes or replies.
package metrics
