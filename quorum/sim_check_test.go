package quorum_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"redlockproxy/quorum"
)

// window is a time in which a client surely held a lock: from the answer until its
// ttl, counted from the call, is over, or until it, or anybody else with the same
// right, asked for its end. It errs on the short side at both ends.
type window struct {
	grant    int // the index of the acquisition
	key      quorum.Key
	from, to time.Duration
}

// checkAll is everything that is wrong with what the clients saw.
func checkAll(events []event) (complaints []string) {
	var windows []window
	for i := range events {
		windows = append(windows, windowsOf(events, i, -1)...)
	}
	complaints = append(complaints, checkExclusion(events, windows)...)
	complaints = append(complaints, checkReleases(events)...)
	complaints = append(complaints, checkNumbers(events)...)
	return complaints
}

// windowsOf finds the definite windows of a grant and its extensions, as if the event
// with the index without had not been.
func windowsOf(events []event, i, without int) (all []window) {
	grant := events[i]
	if grant.op != "acquire" || grant.reply != 1 {
		return nil
	}
	all = append(all, cut(events, grant, window{i, grant.key, grant.end, grant.call + grant.ttl}, grant.call, without))
	for _, e := range events {
		// Only clients with values of their own extend.
		if e.op == "extend" && e.key == grant.key && e.value == grant.value && e.reply == 1 {
			all = append(all, cut(events, grant, window{i, grant.key, e.end, e.call + e.ttl}, e.call, without))
		}
	}
	return slices.DeleteFunc(all, func(w window) bool { return w.from >= w.to })
}

// cut ends a window where its lock may have been taken away: by a release of the same
// value or a plain deletion that had not ended before the lock was asked for, or by
// an extension to a shorter time that came after the call that opened the window.
func cut(events []event, grant event, w window, opened time.Duration, without int) window {
	for i, e := range events {
		if i == without || e.key != w.key || e.end < grant.call {
			continue
		}
		switch mine := e.value == grant.value; {
		case e.op == "release" && mine, e.op == "remove":
			w.to = min(w.to, e.call)
		case e.op == "extend" && mine && e.call >= opened:
			w.to = min(w.to, e.call+e.ttl)
		}
	}
	return w
}

// checkExclusion finds windows of different grants that overlap.
func checkExclusion(events []event, windows []window) (complaints []string) {
	for i, a := range windows {
		for _, b := range windows[:i] {
			if a.key == b.key && a.grant != b.grant && max(a.from, b.from) < min(a.to, b.to) {
				complaints = append(complaints, fmt.Sprintf("two holders from %v to %v:\n  %v\n  %v",
					max(a.from, b.from), min(a.to, b.to), events[a.grant], events[b.grant]))
			}
		}
	}
	return complaints
}

// checkReleases finds releases that were told 1 twice for one grant, releases and
// extensions told 1 for what was never granted, or 0 for a lock that was held.
func checkReleases(events []event) (complaints []string) {
	released := map[string]bool{}
	for i, e := range events {
		if e.op != "release" && e.op != "extend" || e.err != nil {
			continue
		}
		if e.op == "release" && e.reply == 1 && !e.shared {
			if released[e.value] {
				complaints = append(complaints, fmt.Sprintf("released twice: %v", e))
			}
			released[e.value] = true
		}
		for g, a := range events {
			if a.op != "acquire" || a.value != e.value || a.client != e.client || a.err != nil {
				continue
			}
			if a.reply == 0 && e.reply == 1 && !a.shared {
				complaints = append(complaints, fmt.Sprintf("released or extended, never granted: %v", e))
			}
			without := i
			if e.op == "extend" {
				without = -1 // it may have set a time that was over before its answer
			}
			for _, w := range windowsOf(events, g, without) {
				if e.reply == 0 && w.key == e.key && w.from <= e.call && e.end < w.to {
					complaints = append(complaints, fmt.Sprintf("held, and lost: %v\n  %v", a, e))
				}
			}
		}
	}
	return complaints
}

// checkNumbers finds numbers that are there twice or fall in real time, and reads that
// say less than was known before.
func checkNumbers(events []event) (complaints []string) {
	var counted []event
	for _, e := range events {
		if (e.op == "increment" || e.op == "read") && e.err == nil {
			counted = append(counted, e)
		}
	}
	byCall := slices.Clone(counted)
	slices.SortFunc(byCall, func(a, b event) int { return cmp.Compare(a.call, b.call) })
	slices.SortFunc(counted, func(a, b event) int { return cmp.Compare(a.end, b.end) })
	seen := map[int64]event{}
	var highest event
	for _, e := range byCall {
		for len(counted) > 0 && counted[0].end < e.call {
			if counted[0].reply > highest.reply {
				highest = counted[0]
			}
			counted = counted[1:]
		}
		if e.reply < highest.reply || e.op == "increment" && e.reply == highest.reply {
			complaints = append(complaints, fmt.Sprintf("not above what was known:\n  %v\n  %v", highest, e))
		}
		if twin, ok := seen[e.reply]; ok && e.op == "increment" {
			complaints = append(complaints, fmt.Sprintf("a number twice:\n  %v\n  %v", twin, e))
		}
		if e.op == "increment" {
			seen[e.reply] = e
		}
	}
	return complaints
}
