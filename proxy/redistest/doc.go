// Package redistest runs real processes for tests: redis-servers that can be
// paused, killed and restarted, with their data, without, or with a part, and whose
// clocks can be wrong; TCP relays that hold, delay and lose what passes through them;
// and the redlock-proxy binary itself.
//
// It is for tests only. Helpers take a testing.TB, end the test with a clear
// message when something can't be had (a missing redis-server is a failure,
// never a skip), and register the clean-up of all they start. It knows nothing
// of the proxy's packages: what it learns about the binary, it learns from the
// binary's arguments, its log and its socket, as any user does.
package redistest
