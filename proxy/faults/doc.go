// Package faults plays histories on real processes: five redis-servers, one to three
// proxies in front of them, clients that lock and count, and a schedule of what goes
// wrong. It is for tests only.
//
//	clients ── proxy 0 ── relay ×5 ──┐
//	clients ── proxy 1 ── relay ×5 ──┼── redis-server ×5
//	clients ── proxy 2 ── relay ×5 ──┘
//
// A Plan is drawn from a seed alone: how many take part, and which fault begins and
// ends when. Played again, the same things happen at the same times, though real
// processes never do exactly the same twice. What the clients saw is a Story, which
// package history judges.
//
// The binary is a black box: nothing here knows the proxy's packages.
package faults
