package lane

import (
	"slices"
	"strings"
	"time"

	"redlockproxy/quorum"
)

// A ledger is what is owed to a backend. A debt stands in it from Owe until it is
// paid, wherever it is: one that the backend has refused must find its place still
// there, also if younger ones came while it was on its way.
type ledger struct {
	kept   []quorum.Debt // until there is a connection, or the backend may take them
	queued int           // wait in the queue
	waits  int           // about what those take, in bytes
	sent   int           // wait for an answer
	bytes  int           // about what all of them take
}

func (b *ledger) len() int { return len(b.kept) + b.queued + b.sent }

// debtSize is about how many bytes a debt takes.
func debtSize(d quorum.Debt) int { return 64 + len(d.Key) + len(d.Stored) }

// room tells whether there may be another debt of this size, at most limit of them.
//
// A debt is not dropped because its date has passed: the write that it undoes may
// be unread at a backend that is paused, and begins its whole life when that backend
// goes on. Only when there are too many, those that are past their date go first.
func (b *ledger) room(size, limit int) bool {
	full := func() bool { return b.len() >= limit || b.bytes > maxDebtBytes && size > largeBytes }
	if !full() {
		return true
	}
	now := time.Now()
	b.kept = slices.DeleteFunc(b.kept, func(d quorum.Debt) bool {
		over := now.After(d.Until)
		if over {
			b.bytes -= debtSize(d)
		}
		return over
	})
	return !full()
}

// Debts is the number of removals that are kept or on their way; Lost is how many
// were given up because there were too many.
func (l *Lane) Debts() (kept int, lost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.debts.len(), l.lostDebts.Load()
}

// Owe implements quorum.Backend.
func (l *Lane) Owe(debt quorum.Debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := debtSize(debt)
	if !l.debts.room(size, l.cfg.Debts) {
		l.lostDebts.Add(1)
		return
	}
	l.debts.bytes += size
	debt.Key = quorum.Key(strings.Clone(string(debt.Key))) // not with the rest of a client's command
	if !l.open {
		l.debts.kept = append(l.debts.kept, debt)
		return
	}
	l.queue = append(l.queue, item{debt: debt})
	l.debts.queued++
	l.debts.waits += size
	l.signal()
}

// unpaid keeps a debt that was sent and perhaps not carried out: it is sent with the
// next connection or, if the backend has answered with an error, a while later.
func (l *Lane) unpaid(debt quorum.Debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.debts.sent--
	l.debts.kept = append(l.debts.kept, debt)
}

// paid forgets a debt that is none any more: what was owed is gone.
func (l *Lane) paid(debt quorum.Debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.debts.sent--
	l.debts.bytes -= debtSize(debt)
}

// sendDebts puts all that is kept behind what waits. The caller holds mu.
func (l *Lane) sendDebts() {
	for _, d := range l.debts.kept {
		l.queue = append(l.queue, item{debt: d})
		l.debts.waits += debtSize(d)
	}
	l.debts.queued += len(l.debts.kept)
	l.debts.kept = nil
}

// again sends the debts that the backend has refused to take.
func (l *Lane) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.debts.kept) > 0 {
		l.sendDebts()
		l.signal()
	}
}
