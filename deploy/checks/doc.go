// Package checks tests what stands in the folder deploy: the manifests by the types and
// the validation of their owners, the commands in them by running them, the dashboard
// and the alerts against what the real binary serves. It is a module of its own, so that
// none of what it imports is a dependency of the proxy.
package checks
