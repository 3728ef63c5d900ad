package switches

// memory are rules of backends that forget.
var memory = []breach{
	{
		rule: "no marker check", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: `return before.token != "" && before == s.right &&`, new: `return true || before.token != "" &&`,
		tests: []string{"TestLearnerGetsEveryWriteAndHasNoVote", "TestVoteIsLostWithTheMemory"},
	}, {
		rule: "the marker need not be the one of before", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: `return before.token != "" && before == s.right`, new: `return before.token != ""`,
		tests: []string{"TestVoteIsLostWithAnotherAdmission", "TestVoteIsLostWithTheMemory"},
	}, {
		rule: "the marker is read before the votes", file: "proxy/lane/run.go", pkg: lanePkg,
		old: `	commands := s.compose()
	s.sent = s.sent[:0]
	s.cmds = slices.Grow(s.cmds[:0], len(commands))
	s.attempts = slices.Grow(s.attempts[:0], len(commands))
	for _, words := range commands {
		s.queue(ctx, pipe, words)
	}
	end := s.addLast(ctx, pipe)
`,
		new: `	commands := s.compose()
	end := s.addLast(ctx, pipe)
	s.sent = s.sent[:0]
	s.cmds = slices.Grow(s.cmds[:0], len(commands))
	s.attempts = slices.Grow(s.attempts[:0], len(commands))
	for _, words := range commands {
		s.queue(ctx, pipe, words)
	}
`,
		tests: []string{"TestMarkerIsReadBehindTheVotes"},
	}, {
		rule: "a marker of another process is right", file: "quorum/admission/marker.go", pkg: admissionPkg,
		old: "case m.RunID != runID:", new: "case m.RunID != runID && false:",
		tests: []string{"TestMarkersAreReadAsTheyWereWritten", "TestRestartedEmptyBackendDoesNotVoteUntilItIsRefilled"},
	}, {
		rule: "a marker of another group is right", file: "quorum/admission/marker.go", pkg: admissionPkg,
		old: "case !ok, m.Identity != r.Identity:", new: "case !ok:",
		tests: []string{"TestMarkersAreReadAsTheyWereWritten"},
	}, {
		rule: "of several values any is copied by a refill", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "case candidates == 1:", new: "case candidates >= 1:",
		tests: []string{"TestRuleOfTheRefill", "TestWhatMayHaveBeenGrantedIsHeldOrBlocked"},
	}, {
		rule: "refill spreads what nobody can have been granted", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "least := max(1, quorum.Majority(n)-1-(n-1-len(reads)))", new: "least := min(1, n)",
		tests: []string{"TestRuleOfTheRefill"},
	}, {
		rule: "refill copies only what a whole majority has", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "least := max(1, quorum.Majority(n)-1-(n-1-len(reads)))", new: "least := quorum.Majority(n)",
		tests: []string{"TestRuleOfTheRefill", "TestWhatMayHaveBeenGrantedIsHeldOrBlocked"},
	}, {
		rule: "a block stands for nothing but itself", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "if count+blocks >= least {", new: "if count >= least {",
		tests: []string{"TestRuleOfTheRefill", "TestWhatMayHaveBeenGrantedIsHeldOrBlocked"},
	}, {
		rule: "blocks alone block nothing", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "if blocks >= least {", new: "if blocks >= least && false {",
		tests: []string{"TestRuleOfTheRefill"},
	}, {
		rule: "what is newer on a learner stays unblocked", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "\tcase now.held.Stored.IsBlock() && later(now.held.TTL, v.ttl) == now.held.TTL:", new: "\tcase now.held.Stored != \"\":",
		tests: []string{"TestChangesOfALearner", "TestWhatMayHaveBeenGrantedIsHeldOrBlocked"},
	}, {
		rule: "leftovers of an old dump stay", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "return s.held.Kind == quorum.String && s.noted && !s.elsewhere", new: "return s.held.Kind == quorum.String && s.noted && !s.elsewhere && false",
		tests: []string{"TestOldDumpIsBroughtUpToDate"},
	}, {
		rule: "what is newer is taken for a leftover", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "return s.held.Kind == quorum.String && s.noted && !s.elsewhere", new: "return s.held.Kind == quorum.String && !s.elsewhere",
		tests: []string{"TestChangesOfALearner"},
	}, {
		rule: "counters are not raised by a refill", file: "quorum/admission/rule.go", pkg: admissionPkg,
		old: "return numbers[len(numbers)-1], quorum.NoTTL, true", new: "return numbers[0], quorum.NoTTL, true",
		tests: []string{"TestRuleOfTheRefill"},
	}, {
		rule: "refill from too few", file: "quorum/admission/sources.go", pkg: admissionPkg,
		old: "return n - quorum.Majority(n) + 1", new: "return n - quorum.Majority(n)",
		tests: []string{"TestRefillTrustsNoSourceThatForgetsMeanwhile"},
	}, {
		rule: "no quiet period", file: "quorum/admission/refill.go", pkg: admissionPkg,
		old: "sleep(ctx, r.quiet)", new: "sleep(ctx, 0)",
		tests: []string{"TestLostVoteThatIsCountedLateIsRespected", "TestLongerRoundsLengthenTheQuietPeriod"},
	}, {
		rule: "the quiet period is this proxy's own", file: "quorum/admission/sources.go", pkg: admissionPkg,
		old: "r.quiet = max(r.quiet, mark.Quiet)", new: "r.quiet = max(r.quiet, min(0, mark.Quiet))",
		tests: []string{"TestLongerRoundsLengthenTheQuietPeriod"},
	}, {
		rule: "a source that has forgotten is read from", file: "quorum/admission/sources.go", pkg: admissionPkg,
		old: "if err != nil || text != s.text || r.unsound(s) {", new: `if err != nil || text == "none" {`,
		also:  [2]string{"err == nil && text == s.text && !r.unsound(s) {", `err == nil && text != "none" {`},
		tests: []string{"TestRefillTrustsNoSourceThatForgetsMeanwhile"},
	}, {
		rule: "a group that lost all its memory is founded anew", file: "quorum/admission/keeper.go", pkg: admissionPkg,
		old: "connected == len(looks) && !k.seen && allNew(looks):", new: "connected == len(looks) && allNew(looks):",
		tests: []string{"TestGroupThatLostAllItsMemoryIsNotNew"},
	}, {
		rule: "a majority that forgot votes at once", file: "quorum/admission/keeper.go", pkg: admissionPkg,
		old: "time.Now().Before(end) {", new: "end.IsZero() {",
		tests: []string{"TestMajorityThatForgotWaitsOutItsLocks"},
	}, {
		rule: "a wait goes on although nobody could look", file: "quorum/admission/keeper.go", pkg: admissionPkg,
		old: `votes || token == "" || token != s.token {`, new: "votes || s.since.IsZero() {",
		tests: []string{"TestWaitBeginsAnewWhereItCouldNotBeSeen"},
	}, {
		rule: "a block is read as a value", file: "quorum/read.go", pkg: quorumPkg,
		old: "if a := r.answers[i]; a.Vote == Granted && !a.Held[key].Stored.IsBlock() {", new: "if a := r.answers[i]; a.Vote == Granted {",
		tests: []string{"TestBlockIsNoAnswer"},
	}, {
		rule: "a copy goes before the release that is on its way", file: "quorum/admission/again.go", pkg: admissionPkg,
		old: "if time.Since(w.gone) < r.quiet {", new: "if false {",
		tests: []string{"TestCopyOfAReleasedLockGoes"},
	}, {
		rule: "a block says that a lock is not its owner's", file: "quorum/round.go", pkg: quorumPkg,
		old: "if r.unknowing(answer) {", new: "if r.unknowing(answer) && false {",
		tests: []string{"TestBlockIsNoAnswer"},
	},
}

// clocks are rules of clocks that are wrong.
var clocks = []breach{
	{
		rule: "a clock's jump does not matter", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "jump = 50 * time.Millisecond", new: "jump = 100 * time.Hour",
		tests: []string{"TestClocksThatJumpOrRunWrongAreFound", "TestBackendWhoseClockJumpedIsRefilled"},
	}, {
		rule: "our own clock's jump takes everybody's vote", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "len(same) > 1 && 2*len(same) > len(looks) {", new: "len(same) > len(looks) {",
		tests: []string{"TestJumpOfOurOwnClockTakesNobodysVote"},
	}, {
		rule: "a source whose clock jumped is read from", file: "quorum/admission/sources.go", pkg: admissionPkg,
		old: "return r.from != fromAll && (look.Jumped || look.lost())", new: "return r.from != fromAll && look.lost()",
		tests: []string{"TestRefillTrustsNoSourceWhoseClockJumps"},
	}, {
		rule: "jumps that other clocks deny are taken for our own", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "!by.empty() && !denied", new: "!by.empty() && (denied || !denied)",
		tests: []string{"TestJumpsThatOtherClocksDenyAreNotOurs"},
	}, {
		rule: "jumps of all lengths are one jump of our own", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "!by.empty() && !denied", new: "!denied",
		tests: []string{"TestJumpsOfDifferentSizesAreNotOurs"},
	}, {
		rule: "a slow answer denies a jump of our own", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "> watched && by.and(l.Moved).empty()", new: "> watched",
		tests: []string{"TestSlowBackendsDoNotDenyAJumpOfOurOwn"},
	}, {
		rule: "a clock that is hardly known denies a jump of our own", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "first.Sub(l.ClockSince) > watched", new: "true",
		tests: []string{"TestClocksNotYetKnownDoNotDenyAJumpOfOurOwn"},
	}, {
		rule: "a clock on trial may jump", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "case look.Standing == Learning && now.Before(s.trial):", new: "case false:",
		tests: []string{"TestBackendWhoseClockRunsWrongStaysOut"},
	}, {
		rule: "a clock is watched from its first answer only", file: "quorum/admission/clock.go", pkg: admissionPkg,
		old: "c.ahead = both", new: "_ = both",
		tests: []string{"TestClockIsWatchedFromTheBestAnswerOn", "TestClocksThatJumpOrRunWrongAreFound"},
	}, {
		rule: "a refill ends well although the clock jumped meanwhile", file: "quorum/admission/refill.go", pkg: admissionPkg,
		old: "look.lost() || look.Jumped", new: "look.lost()",
		tests: []string{"TestClockThatJumpsDuringARefillEndsIt"},
	}, {
		rule: "keys that were evicted do not matter", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: "st.evicted >= 0 && g.Evicted > st.evicted", new: "false",
		tests: []string{"TestVoteIsLostWithKeysThatWereEvicted"},
	}, {
		rule: "a replica's memory is its own again when it is a primary", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: "st.followed = st.followed || g.replica()", new: "_ = g.replica()",
		tests: []string{"TestReplicaIsRememberedWithoutItsHistory"},
	}, {
		rule: "who was a replica between two looks goes on voting", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: `g.ReplID2 != "" && g.ReplID2 != st.replID2`, new: "false",
		tests: []string{"TestVoteIsLostByABackendThatWasAReplica"},
	}, {
		rule: "a backend whose clock jumped goes on voting", file: "proxy/lane/standing.go", pkg: lanePkg,
		old: "st.is != admission.Locking || st.jumped ||", new: "st.is != admission.Locking ||",
		tests: []string{"TestVoteIsLostWhenTheClockJumps"},
	},
}

// connections are rules of the way to one backend.
var connections = []breach{
	{
		rule: "the library retries on EOF", file: "proxy/lane/connect.go", pkg: lanePkg,
		old: "o.MaxRetries = -1", new: "o.MaxRetries = 3",
		tests: []string{"TestOneAttemptToConnectIsOneDial", "TestRequiredOptionsAreSpelledOut"},
	}, {
		rule: "the lane sends again what it lost the answer to", file: "proxy/lane/answers.go", pkg: lanePkg,
		old:   "\ts.lane.vote(it.call, answer)\n",
		new:   "\tif answer.Vote == quorum.Failed && !answer.Unsent {\n\t\ts.lane.Send(it.call)\n\t\treturn\n\t}\n\ts.lane.vote(it.call, answer)\n",
		tests: []string{"TestLostReplyIsAFailedVoteAndNothingIsSentAgain"},
	}, {
		rule: "no fence: the old connection lives on", file: "proxy/lane/connect.go", pkg: lanePkg,
		old: "old := l.connID", new: "old := 0 * l.connID",
		tests: []string{"TestOldConnectionIsKilledBeforeDebtsArePaid"},
	}, {
		rule: "the fence hits somebody else after a restart", file: "proxy/lane/connect.go", pkg: lanePkg,
		old: "if g.RunID != l.runID {", new: "if g.RunID != l.runID && false {",
		tests: []string{"TestNothingIsKilledAfterARestart"},
	}, {
		rule: "a replica votes", file: "proxy/lane/connect.go", pkg: lanePkg,
		old: "case g.replica():", new: "case g.replica() && false:",
		tests: []string{"TestReplicasAndClusterNodesAreUnfit"},
	}, {
		rule: "debts to a backend that is down are forgotten", file: "proxy/lane/debts.go", pkg: lanePkg,
		old: "\t\tl.debts.kept = append(l.debts.kept, debt)\n\t\treturn\n", new: "\t\treturn\n",
		tests: []string{"TestDebtsAreKeptWhileDownWithinTheirBoundAndPaidOnReturn"},
	}, {
		rule: "a debt that a backend refused is forgotten", file: "proxy/lane/answers.go", pkg: lanePkg,
		old: "s.lane.unpaid(it.debt)", new: "_ = it",
		tests: []string{"TestRefusedRemovalIsSentAgain"},
	}, {
		rule: "a debt loses its place while it is on its way", file: "proxy/lane/debts.go", pkg: lanePkg,
		old: "return len(b.kept) + b.queued + b.sent", new: "return len(b.kept) + b.queued",
		tests: []string{"TestRefusedRemovalIsSentAgain"},
	}, {
		rule: "a stalled lane makes callers wait", file: "proxy/lane/lane.go", pkg: lanePkg,
		old: "return since != 0 && time.Now().UnixNano()-since > int64(l.cfg.Vote)", new: "return since != 0 && since < 0",
		tests: []string{"TestStalledLaneFailsAtOnceAndVotesAgainSoonAfter"},
	}, {
		rule: "a request past its deadline is sent", file: "proxy/lane/lane.go", pkg: lanePkg,
		old: "case now.After(it.call.Deadline):", new: "case now.After(it.call.Deadline) && false:",
		tests: []string{"TestRequestPastItsDeadlineIsNotSent"},
	}, {
		rule: "a release overtakes what came before it", file: "proxy/lane/compose.go", pkg: lanePkg,
		old: "s.alone[i] = s.before[op.(quorum.Commit).Writes[0].Key]", new: "s.alone[i] = false",
		tests: []string{"TestEachKeysOrderIsTheQueues"},
	}, {
		rule: "a queue without a bound", file: "proxy/lane/lane.go", pkg: lanePkg,
		old: "case len(l.queue)-l.debts.queued >= l.cfg.Queue, l.bytes > maxQueueBytes && size(call.Op) > largeBytes:", new: "case l.bytes < 0:",
		tests: []string{"TestQueueIsBounded"},
	}, {
		rule: "a client that never stops sending keeps all others waiting", file: "proxy/guard/conn.go", pkg: guardPkg,
		old: "if c.more {", new: "if c.more && false {",
		tests: []string{"TestWhoSendsMuchWaitsForItsTurnAndOthersDoNot"},
	},
}
