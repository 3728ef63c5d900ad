// Package status is what the admin address serves for people: a page that shows how the
// backends, the quorum and the locks are, and the same facts as JSON, which the page and
// `redlock-proxy top` read.
//
// The page is one file, with its style and its script inside; it asks nobody but the
// server that it came from, and its policy lets the browser ask nobody else. Everything
// is read-only. No token and no password is ever shown: of tokens there is a short hash.
//
// The package knows how things look. What they are it is told, through Options.
package status
