// Package admission decides which backends of a group may vote. Redlock's known hole is
// a backend that restarts without its memory: it votes again at once, and a second
// client gets a majority. Here such a backend loses its vote until it has been refilled
// from the others, in about a second.
//
// Any number of proxies admit the backends of one group at the same time, know nothing
// of each other, and may end at any time; what they share is a marker on each backend.
// This package knows no protocol and no socket. What it needs of a backend it says in
// the interface Member.
//
// # The marker
//
// A marker names the group, how many backends it has, the backend's place among them,
// the server process that it was written for, what the backend is, and a token that is
// new with each admission.
//
//   - A1. A vote counts only if the backend's lane knew a token before it sent the
//     request, and finds the same one behind it. In between the backend has forgotten
//     nothing: what loses its memory (a restart, FLUSHALL, SWAPDB, a full
//     resynchronisation) loses the marker too, or brings back one of another process,
//     and no token is written twice. That a marker is there says nothing: after a torn
//     log or an old dump, marker and keys are both there and both stale. Two losses do
//     not show in the marker: keys that were evicted, and a resynchronisation from the
//     backend's own replica, which gives the marker back. Where the lane learns of one
//     of them, the marker does not count, and a proxy replaces it by a learner's.
//     [TestRestartedEmptyBackendDoesNotVoteUntilItIsRefilled, TestVoteIsLostWithTheMemory,
//     TestVoteIsLostWithKeysThatWereEvicted, TestVoteIsLostByABackendThatWasAReplica]
//   - A2. A marker of another group, another number of backends or another place means
//     that two proxies have different lists, whose majorities need not meet. The
//     backend is not used, and its marker is left alone.
//     [TestBackendOfAnotherGroupIsUnfit, TestBackendThatIsMarkedForAnotherGroupBecomesUnfit]
//
// # Refill
//
// A backend without a right marker is a learner: it gets every write, its votes do not
// count. To make it a voter again, a proxy
//
//  1. marks it as a learner, with a token of its own, or joins a proxy that has done so;
//  2. notes what it holds, all of its former life;
//  3. waits for the quiet period: a vote that it gave before it forgot may still be
//     counted by some proxy, together with votes of others that are yet to come;
//  4. reads every key of the other voters, all that can be read and at least N-Q+1, and
//     settles it on the learner by the rule below;
//  5. removes what the learner noted, still holds, and shares with nobody;
//  6. replaces the learner's marker by a voter's, if it is still the same.
//
// Every change is guarded by the learner's marker and by what it was decided on, so that
// one that runs late, or on a backend that has forgotten again, does nothing.
//
//   - A3. The quiet period is longer than any proxy counts the votes of one operation,
//     measured from when the backend was known to have forgotten. Package quorum
//     discounts votes that are counted later (I13). A proxy with longer rounds than a
//     voter's marker says makes the marker say so before it takes that voter's votes.
//     [TestLostVoteThatIsCountedLateIsRespected, TestLongerRoundsLengthenTheQuietPeriod]
//
//   - A4. A value that may have been granted with the lost vote is on at least
//     Q-1-(other backends not read) of those that were read. None: nothing. One: the
//     learner gets it, with the longest of its remaining times. Several: it gets a
//     block, which belongs to nobody. A block met elsewhere stands for a value that is
//     not known any more: it counts towards every value. Where something newer is on
//     the learner already, a block takes its place.
//     [TestWhatMayHaveBeenGrantedIsHeldOrBlocked, TestRuleOfTheRefill]
//
//   - A5. Numbers are raised to the highest.
//     [TestRuleOfTheRefill, TestCountersSurviveAnyMinoritysLossOfMemory]
//
//   - A6. A block ends as soon as it can be told whose the key is. While it is there the
//     backend has not voted under that key since it forgot, so that the rule goes on to
//     hold.
//     [TestBlockEndsWhenTheContentionIsOver, TestBlockOfASlowerProxyEndsToo]
//
//   - A10. A copy whose value is on no source any more goes soon: its lock was released
//     while it was copied, and the release may have come before it. Not before the quiet
//     period is over, though: a release that comes after it must find what it takes.
//     [TestCopyOfAReleasedLockGoes]
//
// # A new group, and one that has lost too much
//
// Nobody has a marker, all backends are reachable, and this proxy has never seen a voter
// of the group: then it is new. All are marked as founders first, and only when all are,
// as voters, each on condition that it is still the same founder: a proxy that is late
// with what it saw changes nothing. A group that has lost all its memory at once looks
// the same; who fears that founds groups by hand only.
//
// Too few voters to refill from: a majority may have forgotten. Then locks of before are
// waited out, for the longest time that a lock may last; then backends vote about locks.
// The wait begins when a backend is marked as a learner, and begins anew with each other
// token: where a proxy could not look for a while, another may have let the backend vote.
// About numbers they vote when all backends can be asked, and take the highest that any
// of them has kept. A person may end the wait.
//
//   - A7. A group is founded only while none of its backends has ever voted.
//     [TestSeveralProxiesFoundOneGroup, TestGroupIsFoundedByHandOnlyIfSoConfigured]
//   - A8. Where a majority may have forgotten, no lock is given before those of before
//     are over, and no number before the highest that is left is known.
//     [TestMajorityThatForgotWaitsOutItsLocks, TestWaitBeginsAnewWhereItCouldNotBeSeen,
//     TestMajorityThatForgotCountsOnlyWhenAllCanBeAsked]
//
// # Clocks
//
// A backend's clock that jumps ends its locks too soon, or keeps them too long. Each
// pipeline ends with a look at it.
//
//   - A9. From the very pipeline that shows the jump on, a backend whose clock jumped,
//     or runs at a wrong rate, has no vote at the proxy that saw it; a moment later at
//     none, for its marker is taken. Once its clock has been right for a while it is
//     refilled. If most clocks jump at once and as far as each other, and none that was
//     looked at denies it, it was the proxy's own.
//     [TestVoteIsLostWhenTheClockJumps, TestBackendWhoseClockJumpedIsRefilled,
//     TestJumpOfOurOwnClockTakesNobodysVote,
//     TestJumpsOneAfterTheOtherAreNotOurOwnClocks, TestJumpsThatOtherClocksDenyAreNotOurs,
//     TestJumpsOfDifferentSizesAreNotOurs, TestSlowBackendsDoNotDenyAJumpOfOurOwn,
//     TestClocksNotYetKnownDoNotDenyAJumpOfOurOwn, TestRefillTrustsNoSourceWhoseClockJumps,
//     TestClockThatJumpsDuringARefillEndsIt]
package admission
