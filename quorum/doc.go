// Package quorum makes one decision of the answers of N independent Redis
// primaries. It knows no protocol, no socket and no logger; what it needs of a
// backend it says in the interface Backend.
//
// # Words
//
// A backend is one of the N primaries of a group; N is 1, 3, 5 or 7, and the quorum
// Q is N/2+1. A round sends one operation to all backends at once and gathers their
// votes: granted, refused, or failed. Failed means that there is no usable answer;
// the operation may have been carried out all the same, or may still be. The client
// value is what a client wrote, its lock's token; the stored value is what a backend
// holds: the client value and, behind it, a tag that is new for each attempt to
// write. A straggler is a vote that arrives after the result. An undo removes what
// one attempt wrote, by its tag; a debt is a removal that is owed to a backend.
//
// # The rule for answers
//
// Won: Q backends granted. Lost: Q backends refused. Unavailable: neither can happen
// any more, because too many failed. An outage never looks like "somebody else has
// it", like "you have it", or like "it was not yours". Because N is odd, a full set
// of grants and refusals always decides.
//
//   - I1. A result is given as early as it is certain, and never changes: the
//     slow minority costs no latency.
//     [TestResultIsTheNaiveOneInEveryOrder, TestDecisionsComeWithTheDecidingVote,
//     TestAcquireUnderEveryMask]
//   - I2. The quorum is a majority of the N configured backends for ever, however
//     many of them can be reached.
//     [TestQuorumIsOfAllConfiguredBackends]
//
// # Writing
//
// Client values are often not unique: a process number, a host name, "1". If two
// clients write the same one, undoing by value what the first wrote would remove the
// second's lock. So every attempt has a tag, and undo compares all of the stored
// value. Whatever is compared or returned for a client is without the tag. A value
// without one, written by another tool straight into a backend, is a client value as
// it stands, so Redlock libraries on the same backends exclude the group's clients
// and are excluded by them.
//
// Acquire stores a value under an absent key, in one round. A plain client can't be
// told how much of its time is left: it counts its ttl from the moment it sent the
// command. So backends are given ttl + drift(ttl), and the check is
//
//	validity = stored ttl − elapsed − drift(ttl) > 0,   drift(t) = t/100 + 2 ms
//
// with elapsed from just before the backends were asked, by whichever of the
// monotonic and the wall clock says more.
//
//   - I3. A lock is Q grants and validity > 0, checked when the votes are in and once
//     more by Lock.Valid right before the client hears of it.
//     [TestGrantsThatComeTooLateAreNoLock, TestValidityTable]
//   - I4. A padded ttl keeps the client's whole ttl: at the backends the key lives
//     longer than the client counts, although their clocks run up to 1 % fast.
//     [TestPaddedTTLOutlivesTheClientsOwn]
//   - I5. What an attempt that was not won wrote is undone on every backend that
//     granted or failed, never where it was refused, stragglers included, and never
//     before the attempt's own write was answered there or its connection fenced off.
//     Nothing that may run late hurts anyone else: every removal is guarded by the
//     exact stored value to be removed, and a plain deletion is a read first, of
//     which only what was reported in time counts. One exception: a release that
//     guesses the client value is guarded by that. On a backend that gets it late it
//     may remove, there alone, the lock of a client of another group that wrote the
//     very same value; clients of its own group are queued behind it.
//     [TestLostRoundLeavesNothing, TestLateRemovalSparesTheNextOwner,
//     TestUndoSparesAnEqualValue]
//   - I6. Calls for one key enter all backends in one order, so clients of one group
//     never split the votes among themselves.
//     [TestClientsOfOneGroupNeverSplitTheVotes]
//   - I7. Refused by one holder with Q backends: taken, at once. Refused without such
//     a holder: nobody has it; undo, wait a random delay, and try again, at most
//     Attempts times, never past AnswerWithin or the client's own ttl. What a
//     majority refused is never called an outage because a later try was cut short.
//     The same where just a majority answers and its members disagree, as when a key
//     expires a moment sooner on one backend than on another: that is tried again.
//     [TestTakenIsAnsweredWithoutRetry, TestSplitVoteIsTriedAgain,
//     TestContentionIsNeverCalledAnOutage, TestBareMajorityThatDisagreesIsAskedAgain]
//
// # Reading
//
//   - I8. What Q backends agree on, tag included, is the answer, absence being a value
//     too. If no value could reach Q even with the missing answers, nobody holds the
//     key. Otherwise: unavailable. The leftovers of a split vote on a minority are no
//     lock. The remaining time is the Q-th largest among the holders, less the drift
//     that is still ahead.
//     [TestMinorityLeftoversAreNoLock, TestRemainingTimeIsTheQuorums,
//     TestReadUnderEveryMask]
//
// # Walking through the keys
//
// A key that a majority holds is on at least one of any N-Q+1 backends. A walk goes
// through the keys of that many, one backend after the other, a part at a time, and
// gives the names under which a majority holds something, by a read of each part (I8).
// Where a backend can't be gone through to its end, another one takes its place. A name
// comes up on several backends; within one step it is given once. Where a walk is
// stands in a Place, which any group over the same backends understands. A key that is
// held from the first step to the last by the same backends comes; if backends restart
// meanwhile, their own order of keys is another, and what they held by themselves may
// be passed over, as in a walk through one Redis that restarts.
// [TestWalkGivesWhatAMajorityHoldsAndNothingElse, TestWalkMissesNothingUnderAnyMask]
//
// # A group keeps nothing
//
//   - I9. Safety depends on nothing that a group remembers: any number of groups over
//     the same backends may run in different processes, and any may end at any time.
//     Debts are a courtesy; what they miss ends with its ttl.
//     [TestSimulationTwoGroups]
//
// # Counters
//
// Answering an increment with the highest reply of a majority is wrong: it repeats
// numbers and falls behind. What holds:
//
//  1. Increment on all. If Q backends reply the same number, that is the answer: each
//     backend gives each number to one operation only, and any number returned
//     earlier is known to some backend of this majority.
//  2. Otherwise let m be the highest reply. The others are asked to become m if they
//     are lower. One that was lower gives m to this operation; one that was not says
//     what it has. Q acceptances, those that replied m counted, make m the answer.
//  3. Otherwise m = the highest number seen + 1, and again, a bounded number of times.
//
// With an increment by n, + 1 becomes + n. Numbers are exact up to 2^63-1: they are
// compared as decimal strings at the backends.
//
//   - I10. Numbers never repeat and never fall in real time. An outcome that is not
//     known is an error, never a number, and is never tried again silently. Gaps are
//     allowed.
//     [TestCounterNumbersAreUniqueAndRise, TestIncrementOfUnknownOutcomeIsNotRepeated]
//   - I11. Reading a counter answers the highest number of a majority, after a
//     majority has it.
//     [TestCounterReadsNeverFall]
//
// # Transactions
//
// A program (a script, an EXEC, a command with a condition) runs on a View: what a
// quorum read found, or, to save a round, a guess. Its reads leave guards, its writes
// a list. Commit sends both to all backends, and each checks all guards and applies
// all writes in one step of its own. Won: the program's reply stands. Lost: read, run
// again on what is there, commit again, a bounded number of times. A program that meets
// one key after the other is run again for each until the time is up; what it announced
// is read at once. [TestProgramMayMeetAsManyKeysAsItLikes]
//
//   - I12. A reply of a program is given only if a majority confirmed, in the same
//     step as the writes, everything that the program had seen; if it wrote nothing,
//     only from one quorum read. A wrong guess costs a round, never correctness.
//     [TestWrongGuessCostsARoundOnly, TestReadOnlyProgramIsNeverAnsweredFromAGuess,
//     TestWhatAProgramSawIsConfirmedWithItsWrites]
//
// Transactions of one group that get in each other's way at a key take turns there:
// each then reads, runs and commits while the others wait, so that the slower ones are
// not beaten until their time is up. [TestBusyCounterIsRaisedByEveryProgram]
//
// Where the outcome is not known, what a transaction overwrote or prolonged on some
// backends stays: the old state can't be restored, and an extension that failed half
// way must not cost its owner the lock. What it created is undone; what it removed on
// some backends is owed to those that failed. Where a majority refused, all that it
// stored anywhere is undone.
//
// What a majority confirms to be the holder's while the holder prolongs it is put back
// on the backends that lack it. Those that could have voted for somebody else are fewer
// than a quorum then, so nothing that was lost comes back.
//
//   - I14. An extension puts the lock where it is missing, as the very attempt that it
//     is; nowhere if a majority has not confirmed it in the same step, and not where
//     another call came after it for the key, or for one that shares its order lock.
//     [TestExtensionPutsTheLockWhereItIsMissing, TestHealingBringsNothingBackThatIsLost]
//
// # A backend without a vote
//
// A backend may be connected and yet not vote, because it may have forgotten: package
// admission says when. It receives every write; its answers are Failed. The group needs
// to know only two things more. Whoever refills a backend relies on old votes being over
// some time after they were given:
//
//   - I13. Votes count only while the operation that asked for them, all its rounds
//     together, has taken no longer than AnswerWithin, by whichever of the monotonic and
//     the wall clock says more. A process that was stopped in the middle finds votes
//     that came in time, and does not count them.
//     [TestVotesOfAStoppedOperationDoNotCount]
//
// And a backend that was refilled may hold a block under a key: a stored value that is
// nobody's and stands for one that could not be told any more.
//
//   - I15. A block refuses whoever wants the key, and is no answer to anything else: to
//     what the key holds, or whether it holds what somebody says, the backend has Failed.
//     [TestBlockIsNoAnswer]
package quorum
