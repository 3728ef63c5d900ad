package switches

// votes are rules of what votes amount to, and when a lock is one.
var votes = []breach{
	{
		rule: "one vote less than a majority decides", file: "quorum/vote.go", pkg: quorumPkg,
		old:   "func Majority(n int) int { return n/2 + 1 }",
		new:   "func Majority(n int) int { return max(1, n/2) }",
		tests: []string{"TestTwoMajoritiesMeet", "TestQuorumIsOfAllConfiguredBackends"},
	}, {
		rule: "one refusal less than a majority is a refusal", file: "quorum/vote.go", pkg: quorumPkg,
		old:   "case t.Refused >= q:",
		new:   "case t.Refused >= q-1:",
		tests: []string{"TestResultIsTheNaiveOneInEveryOrder"},
	}, {
		rule: "an outage looks like a refusal", file: "quorum/vote.go", pkg: quorumPkg,
		old:   "case t.Granted+pending < q && t.Refused+pending < q:\n\t\treturn Unavailable",
		new:   "case t.Granted+pending < q && t.Refused+pending < q:\n\t\treturn Lost",
		tests: []string{"TestQuorumIsOfAllConfiguredBackends"},
	}, {
		rule: "no validity check when the votes are in", file: "quorum/acquire.go", pkg: quorumPkg,
		old:   "if result == Won && lock.Valid(r.ended) {",
		new:   "if result == Won {",
		tests: []string{"TestGrantsThatComeTooLateAreNoLock"},
	}, {
		rule: "a validity of nothing is one (≥ for >)", file: "quorum/acquire.go", pkg: quorumPkg,
		old:   "l.TTL == 0 || l.Validity(now) > 0 }",
		new:   "l.TTL == 0 || l.Validity(now) >= 0 }",
		tests: []string{"TestLockIsValidByTheClockThatSaysMore"},
	}, {
		rule: "validity without the drift", file: "quorum/validity.go", pkg: quorumPkg,
		old:   "return stored - elapsed - Drift(ttl)",
		new:   "return stored - elapsed",
		tests: []string{"TestValidityTable"},
	}, {
		rule: "ttls are stored without the pad", file: "quorum/validity.go", pkg: quorumPkg,
		old:   "ttl += Drift(ttl)\n\t}\n\treturn (ttl",
		new:   "ttl += 0\n\t}\n\treturn (ttl",
		tests: []string{"TestPaddedTTLOutlivesTheClientsOwn"},
	}, {
		rule: "a suspended machine's time does not count", file: "quorum/validity.go", pkg: quorumPkg,
		old:   "return max(now.Sub(s.start), now.Round(0).Sub(s.wall))",
		new:   "return now.Sub(s.start)",
		tests: []string{"TestLockIsValidByTheClockThatSaysMore"},
	}, {
		rule: "late replies of a stopped operation are counted", file: "quorum/round.go", pkg: quorumPkg,
		old:   "if r.ended = time.Now(); r.op.stale(r.ended) {",
		new:   "if r.ended = time.Now(); r.op.stale(r.ended) && false {",
		tests: []string{"TestVotesOfAStoppedOperationDoNotCount"},
	}, {
		rule: "split votes are taken for a holder", file: "quorum/acquire.go", pkg: quorumPkg,
		old:   "func taken(r *round) bool { return mostHeld(r) >= Majority(r.tally.N) }",
		new:   "func taken(r *round) bool { return true }",
		tests: []string{"TestSplitVoteIsTriedAgain"},
	}, {
		rule: "contention is called an outage", file: "quorum/acquire.go", pkg: quorumPkg,
		old:   "case result == Unavailable && !refused:",
		new:   "case result == Unavailable && (!refused || true):",
		tests: []string{"TestContentionIsNeverCalledAnOutage"},
	}, {
		rule: "calls for one key enter the backends in any order", file: "quorum/group.go", pkg: quorumPkg,
		old:   "b.Send(call)\n\t\t}\n\t}\n\tunlock()",
		new:   "go b.Send(call)\n\t\t}\n\t}\n\tunlock()",
		tests: []string{"TestClientsOfOneGroupNeverSplitTheVotes"},
	}, {
		rule: "a minority's value is read", file: "quorum/read.go", pkg: quorumPkg,
		old:   "case b.most >= Majority(r.tally.N):\n\t\t\tholdings[i] = b.holding(full)",
		new:   "case b.most >= Majority(r.tally.N)-1:\n\t\t\tholdings[i] = b.holding(false)",
		tests: []string{"TestMinorityLeftoversAreNoLock"},
	}, {
		rule: "equal values of different attempts agree", file: "quorum/read.go", pkg: quorumPkg,
		old:   "return a.Kind == b.Kind && a.Stored == b.Stored && a.Type == b.Type",
		new:   "return a.Kind == b.Kind && a.Stored.Value() == b.Stored.Value() && a.Type == b.Type",
		tests: []string{"TestMinorityLeftoversAreNoLock"},
	}, {
		rule: "the remaining time is the longest of any backend", file: "quorum/read.go", pkg: quorumPkg,
		old:   "h.TTL = Remaining(left[Majority(b.n)-1])",
		new:   "h.TTL = Remaining(left[0])",
		tests: []string{"TestRemainingTimeIsTheQuorums"},
	},
}

// writes are rules of undoing and removing.
var writes = []breach{
	{
		rule: "all attempts have the same tag (undo by value)", file: "quorum/value.go", pkg: quorumPkg,
		old:   "base64.RawURLEncoding.Encode(b[copy(b, text):], raw[:])",
		new:   "base64.RawURLEncoding.Encode(b[copy(b, text):], make([]byte, len(raw)))",
		tests: []string{"TestUndoSparesAnEqualValue", "TestTagsDiffer"},
	}, {
		rule: "backends undo by value", file: "proxy/lane/run.go", pkg: lanePkg,
		old:   "[]quorum.Guard{{Kind: quorum.StoredIs, Key: it.debt.Key, Text: string(it.debt.Stored)}}",
		new:   "[]quorum.Guard{{Kind: quorum.ValueIs, Key: it.debt.Key, Text: it.debt.Stored.Value()}}",
		tests: []string{"TestLaneToRedisKeepsTheContract"},
	}, {
		rule: "undo where the backend refused", file: "quorum/group.go", pkg: quorumPkg,
		old:   "if answer.Vote == Granted || answer.Vote == Failed && !answer.Unsent {",
		new:   "if answer.Vote != Pending && !answer.Unsent {",
		tests: []string{"TestTakenIsAnsweredWithoutRetry"},
	}, {
		rule: "no undo where the outcome is not known", file: "quorum/group.go", pkg: quorumPkg,
		old:   "if answer.Vote == Granted || answer.Vote == Failed && !answer.Unsent {",
		new:   "if answer.Vote == Granted {",
		tests: []string{"TestLostRoundLeavesNothing"},
	}, {
		rule: "no undo of what stragglers granted", file: "quorum/round.go", pkg: quorumPkg,
		old:   "\tr.settle(f)\n",
		new:   "\tr.settle(nil)\n",
		tests: []string{"TestLostRoundLeavesNothing"},
	}, {
		rule: "plain DEL: a removal without its guard", file: "quorum/remove.go", pkg: quorumPkg,
		old:   "Commit{Guards: []Guard{guard}, Writes:",
		new:   "Commit{Guards: []Guard{guard}[:0], Writes:",
		tests: []string{"TestLateGuardedRemovalSparesTheNextOwner"},
	}, {
		rule: "a report that came late says what to remove", file: "quorum/remove.go", pkg: quorumPkg,
		old:   "case rm.reported(a.Held[rm.index]):",
		new:   "case true:",
		tests: []string{"TestLateReportDoesNotSayWhatToRemove"},
	}, {
		rule: "a deletion is not owed to a backend that was down", file: "quorum/remove.go", pkg: quorumPkg,
		old:   "if rm.agreed() && rm.ballot.best.Kind == String {",
		new:   "if rm.agreed() && false {",
		tests: []string{"TestRemoveReachesABackendThatWasDown"},
	}, {
		rule: "a release is not owed to a backend that missed it", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "if rm := t.newRemovals(r, op); rm != nil {\n\t\tr.each",
		new:   "if rm := t.newRemovals(r, op); rm != nil && false {\n\t\tr.each",
		tests: []string{"TestReleaseOwesEveryStoredValueThatItRemoved"},
	}, {
		rule: "a thawed backend says what else is to be removed", file: "quorum/removals.go", pkg: quorumPkg,
		old:   "return rm.round.answers[backend].Vote != Pending ||",
		new:   "return true || rm.round.answers[backend].Vote != Pending ||",
		tests: []string{"TestThawedBackendDoesNotSayWhatElseIsToBeRemoved"},
	},
}

// counters are rules of numbers.
var counters = []breach{
	{
		rule: "the highest of the replies is the number", file: "quorum/counter.go", pkg: quorumPkg,
		old:   "count, err = c.settle(op)",
		new:   "count = Count{Number: max(c.target, c.seen)}",
		tests: []string{"TestCounterNumbersAreUniqueAndRise"},
	}, {
		rule: "whoever replied a lower number has given this one", file: "quorum/counter.go", pkg: quorumPkg,
		old:   "c.accepted[i] = r.answers[i].Vote == Granted && r.answers[i].Number == c.target",
		new:   "c.accepted[i] = r.answers[i].Vote == Granted",
		tests: []string{"TestCounterNumbersAreUniqueAndRise"},
	}, {
		rule: "a number that was not had is tried for again", file: "quorum/counter.go", pkg: quorumPkg,
		old:   "c.target, c.seen, c.accepted = m+c.by, m, [MaxBackends]bool{}",
		new:   "c.target, c.seen, c.accepted = m, m, [MaxBackends]bool{}",
		tests: []string{"TestIncrementOfOddNumbers"},
	}, {
		rule: "a raise lowers backends that are further", file: "quorum/counter.go", pkg: quorumPkg,
		old:   "Guards: []Guard{{Kind: Lower, Key: key, Text: text}},",
		new:   "",
		tests: []string{"TestCounterNumbersAreUniqueAndRise"},
	}, {
		rule: "a number is read before a majority has it", file: "quorum/read.go", pkg: quorumPkg,
		old:   "g.equalize(op, keys[i], holdings[i].Stored)",
		new:   `g.equalize(op, keys[i], "0")`,
		tests: []string{"TestCounterReadsNeverFall"},
	}, {
		rule: "an increment of unknown outcome is tried again", file: "quorum/counter.go", pkg: quorumPkg,
		old:   "if r.tally.Reached() < c.g.Q() {\n\t\treturn unavailable(r.tally)\n\t}\n\tif err := refusal(r)",
		new:   "if r.tally.Reached() < c.g.Q() {\n\t\tgo c.g.Increment(r.op, c.key, c.by)\n\t\treturn unavailable(r.tally)\n\t}\n\tif err := refusal(r)",
		tests: []string{"TestIncrementOfUnknownOutcomeIsNotRepeated"},
	},
}

// programs are rules of transactions.
var programs = []breach{
	{
		rule: "a program that only reads is answered from a guess", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "case len(v.writes) == 0 && t.guessed(v):",
		new:   "case len(v.writes) == 0 && t.guessed(v) && false:",
		tests: []string{"TestReadOnlyProgramIsNeverAnsweredFromAGuess"},
	}, {
		rule: "what a program saw is not checked with its writes", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "op := Commit{Guards: v.guards,",
		new:   "op := Commit{Guards: v.guards[:0],",
		tests: []string{"TestWhatAProgramSawIsConfirmedWithItsWrites"},
	}, {
		rule: "what a lost program created stays", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "r.each(func(backend int, a Answer) { t.undo(backend, a, locks) })",
		new:   "r.settle(nil)",
		tests: []string{"TestCreatedKeysOfALostProgramAreUndone"},
	}, {
		rule: "programs that come too late have won", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "if result == Won && (validity > 0 || validity == NoTTL) {",
		new:   "if result == Won {",
		tests: []string{"TestProgramsThatComeTooLateAreUndone"},
	}, {
		rule: "an extension does not heal", file: "quorum/transact.go", pkg: quorumPkg,
		old:   "if h := t.heal(r, op); h != nil {",
		new:   "if h := t.heal(r, op); h != nil && false {",
		tests: []string{"TestExtensionPutsTheLockWhereItIsMissing"},
	}, {
		rule: "an extension heals without a majority's word", file: "quorum/heal.go", pkg: quorumPkg,
		old:   "if agree < t.g.Q() {",
		new:   "if agree < 1 {",
		tests: []string{"TestExtensionOfWhatNoMajorityAgreesOnHealsNothing"},
	}, {
		rule: "an extension heals although a later call came", file: "quorum/heal.go", pkg: quorumPkg,
		old:   "if stripe.calls != h.calls {",
		new:   "if stripe.calls != h.calls && false {",
		tests: []string{"TestHealingBringsNothingBackThatIsLost"},
	}, {
		rule: "a transaction whose WATCH failed is carried out", file: "proxy/multi.go", pkg: "proxy",
		old:   "m.blind = m.blind || reply != resp.OK",
		new:   "_ = reply",
		tests: []string{"TestExecAfterAFailedWatchWritesNothing"},
	},
}
