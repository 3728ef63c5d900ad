// Package lua runs the scripts of clients (EVAL, EVALSHA) inside the proxy, in a
// sandboxed Lua 5.1. A script touches data only through a Host, which decides what
// its commands mean; no backend ever sees a script. The package knows nothing of
// connections, quorums or backends.
//
//	cache := lua.NewCache(1000, 4<<20, lua.Limits{})
//	script, err := cache.Load(ctx, text)        // or cache.Get(ctx, digest)
//	reply, err := script.Run(ctx, keys, args, host)
//
// A Draft is the cache as a transaction has it, which happens later or never.
//
// The measure is Redis 7.0.15: same values, same conversions, same error texts,
// compared byte for byte with a real server over some 600 scripts
// (testdata/scripts.txt), the scripts of lock libraries in every state of a lock,
// and random ones. What is known to differ is in testdata/differences.txt, with
// both answers, and tested as well; in short:
//
//   - Messages of failing operators do not name the variable ("attempt to index a
//     nil value", without "local 'a'"), nor the type of what cannot be called.
//     Syntax errors have the right line, but other words.
//   - coroutine, cmsgpack, struct, string.dump and redis.acl_check_cmd are absent;
//     cjson has encode, decode and null only.
//   - goto and empty statements are accepted, as in Lua 5.2.
//   - pairs goes through a table in the order of insertion; # of a table with
//     holes may find another border; % of fractions may differ in the last bits.
//   - Words in the first line of a script (#!lua flags=...) can't be quoted.
//   - Every run draws the same random numbers. Redis goes on with the sequence.
//   - {verbatim_string=..} of another format than txt reaches RESP3 clients as a
//     bulk string.
//
// # The sandbox
//
// gopher-lua executes the code, but none of its libraries are opened: all functions
// are this package's own. There is no io, os, debug, package, require, dofile,
// print, getfenv, setfenv or newproxy, and load reads text only. Every table that
// scripts share is read-only, whichever way it is written to; KEYS and ARGV are new
// in each run; undefined globals raise an error, as in Redis. Machines are used
// again, one script at a time, except after a run that was stopped.
//
// # The bounds
//
// A run that goes over a bound is void: Run returns an error, and no pcall of the
// script sees it. What bounds what:
//
//   - Loops and recursion: Limits.MaxSteps, asked before every instruction, and a
//     call depth of 1024, or 256 inside a pcall; pcall nests 200 deep.
//   - Time: Limits.MaxTime, looked at every 64 instructions, and in library
//     functions. A single instruction takes a millisecond at most. Time in the Host
//     does not count.
//   - Other runs: one that has used much more than a lock script does waits for its
//     turn; the heavy runs of a cache's scripts go on one at a time (turn.go), and
//     let everybody else go first every tenth of a millisecond.
//   - Memory: Limits.MaxMemory. Code that joins strings, fills tables or makes
//     closures is looked at instruction by instruction (watch.go), and library
//     functions pay for what they make; other code cannot allocate more than its
//     own length. The count is an estimate; measured with the defaults, a run
//     allocates up to three times as much, all told. The stack of values is bounded to 1 MiB.
//   - Strings: Limits.MaxString, checked before a string is made (.., string.rep,
//     string.format, gsub, table.concat ...).
//   - Patterns: own matcher; every 16 comparisons cost a step, so catastrophic
//     patterns run into MaxSteps. Depth 200, 32 captures.
//   - Replies: nested 128 deep; each value costs steps and memory, so tables that
//     contain one another many times end too.
//   - Texts: Limits.MaxSource, 200 levels of nesting, 4096 different constants:
//     compiling takes under a second in the worst case. Texts of more than 1 KiB wait for
//     the turn of the heavy runs, and those that are no scripts are known for a while.
//
// Some statements are rewritten before they are compiled, because gopher-lua
// compiles them wrongly (rewrite.go).
package lua
