package lua

import (
	"context"
	"testing"

	"redlockproxy/resp"
)

const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

// A constHost answers every GET with one value, as cheaply as can be.
type constHost struct{ value string }

func (h constHost) Call(args []string) (resp.Reply, error) {
	if len(args) == 2 && (args[0] == "get" || args[0] == "GET") {
		return resp.Bulk(h.value), nil
	}
	return resp.Int(1), nil
}

// BenchmarkCompareAndDelete is the release of a lock as most libraries send it.
func BenchmarkCompareAndDelete(b *testing.B) {
	benchmark(b, compareAndDelete, []string{"lock"}, []string{"token"})
}

// BenchmarkWatched joins strings, so that each instruction is looked at.
func BenchmarkWatched(b *testing.B) {
	benchmark(b, `local k = "lock:" .. KEYS[1] `+compareAndDelete, []string{"lock"}, []string{"token"})
}

// BenchmarkNewMachine is what a failed run costs the next one.
func BenchmarkNewMachine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newVM()
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(compareAndDelete, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoop is a thousand rounds of counting: what one instruction costs.
func BenchmarkLoop(b *testing.B) {
	benchmark(b, `local n = 0 for i = 1, 1000 do n = n + i end return n`, nil, nil)
}

func benchmark(b *testing.B, text string, keys, args []string) {
	b.ReportAllocs()
	s, err := Compile(text, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	host := constHost{value: "token"}
	for b.Loop() {
		reply, err := s.Run(context.Background(), keys, args, host)
		if _, failed := reply.(resp.Error); err != nil || failed {
			b.Fatal(reply, err)
		}
	}
}
