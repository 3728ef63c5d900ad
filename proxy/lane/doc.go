// Package lane carries a group's operations to one Redis primary.
//
// A lane is one goroutine and one connection. Requests wait in its queue; the
// goroutine takes all that wait, up to a bound, sends them as one pipeline, hands
// every answer to its round, and takes what has gathered meanwhile. So the depth of
// the pipelines grows with the load by itself, without timers, and requests for one
// key reach the backend in the order in which they entered the queue. Releases and
// other small commits of a batch are put into one call of a script, ahead of the rest,
// unless that changed the order for their key; each has an answer of its own.
//
// What a lane promises:
//
//   - A request that was sent is never taken back, and its connection is not closed
//     because somebody stopped waiting: what is queued behind it, such as its undo,
//     can't overtake it.
//   - A connection that is lost may still have requests on the way. The next one
//     begins with CLIENT KILL ID of the old one, so that nothing of it can run after
//     that; only then the removals that are owed to the backend are sent.
//   - A lane that is down, that waits too long for its backend or that has too much
//     waiting answers Failed at once. Removals (debts) are kept meanwhile, up to a
//     bound.
//   - A backend that can't hold locks as it is (a replica, a cluster node, another
//     backend's twin, …) is sent nothing. One that only refuses to write for now is sent
//     everything: each answer of it says how it is.
//   - Credentials and certificates may change while a lane is in use. New credentials
//     are shown on the connection that is there, between two batches, and whatever the
//     backend says to them, it stays.
//   - Nothing is sent twice. A request whose answer did not come has failed, and
//     whether it was carried out is not known.
//
// This package knows Redis commands and go-redis, and nothing of clients, replies
// or votes beyond the backend's own. go-redis's types don't leave it.
package lane
