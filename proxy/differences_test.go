package proxy_test

import "testing"

// A row that fits more than its reason says would hide what is wrong.
func TestDocumentedRefusalsOfTimesAreOfLongOnesAlone(t *testing.T) {
	const invalid, long = "-ERR invalid expire time in 'x' command", "-UNSUPPORTED a time to live above 1000 ms: x"
	for _, d := range []struct{ command, redis, proxy string }{
		{"SET k v PX 90001", "+OK", invalid}, {"SET k v EXAT 2000000000", "+OK", invalid}, {"SET k v PXAT 4611686018427387904", "+OK", invalid},
		{"EXPIRE k 100", ":1", invalid}, {"PEXPIREAT k 2000000000000", ":1", invalid}, {"EXPIREAT k 4611686018427387", ":0", invalid},
		{"GET k", `"v"`, long}, {"SET k v PX 1000000", "+OK", long}, {"SET k v", "+OK", long}, {"PEXPIRE k 1000000", ":1", long},
		{"SET k v PX 9223372036854775", "-ERR syntax error", long}, {"INCRBY k 1", ":1", "-UNSUPPORTED INCRBY with an increment of zero or less"},
	} {
		if documented(d.command, d.redis, d.proxy) {
			t.Errorf("%s: %s, but %s is documented", d.command, d.redis, d.proxy)
		}
	}
}
