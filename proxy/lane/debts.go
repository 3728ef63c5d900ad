package lane

import (
	"slices"
	"time"

	"redlockproxy/quorum"
)

// Debts is the number of removals that are kept or on their way; Lost is how many
// were given up because there were too many.
func (l *Lane) Debts() (kept int, lost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.debts) + l.owed, l.lostDebts.Load()
}

// Owe implements quorum.Backend.
func (l *Lane) Owe(debt quorum.Debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		l.keep(debt)
		return
	}
	if l.room(debt) {
		l.queue = append(l.queue, item{debt: debt})
		l.bytes.debts += debtSize(debt)
		l.owed++
		l.signal()
	}
}

// unpaid keeps a debt that was sent and perhaps not carried out: it is sent with the
// next connection or, if the backend has answered with an error, a while later.
func (l *Lane) unpaid(debt quorum.Debt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(debt)
}

// keep takes a debt on for later. The caller holds mu.
func (l *Lane) keep(debt quorum.Debt) {
	if l.room(debt) {
		l.debts = append(l.debts, debt)
		l.bytes.debts += debtSize(debt)
	}
}

// debtSize is about how many bytes a debt takes.
func debtSize(d quorum.Debt) int { return 64 + len(d.Key) + len(d.Stored) }

// room tells whether there may be this debt too, and counts it as lost if not. The
// caller holds mu.
//
// A debt is not dropped because its date has passed: the write that it undoes may
// be unread at a backend that is paused, and begins its whole life when that backend
// goes on. Only when there are too many, those that are past their date go first.
func (l *Lane) room(debt quorum.Debt) bool {
	full := func() bool {
		return len(l.debts)+l.owed >= l.cfg.Debts || l.bytes.debts > maxDebtBytes && debtSize(debt) > largeBytes
	}
	if !full() {
		return true
	}
	now := time.Now()
	l.debts = slices.DeleteFunc(l.debts, func(d quorum.Debt) bool {
		over := now.After(d.Until)
		if over {
			l.bytes.debts -= debtSize(d)
		}
		return over
	})
	if !full() {
		return true
	}
	l.lostDebts.Add(1)
	return false
}

// sendDebts puts all that is kept behind what waits. The caller holds mu.
func (l *Lane) sendDebts() {
	for _, d := range l.debts {
		l.queue = append(l.queue, item{debt: d})
	}
	l.owed += len(l.debts)
	l.debts = nil
}

// again sends the debts that the backend has refused to take.
func (l *Lane) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.debts) > 0 {
		l.sendDebts()
		l.signal()
	}
}
