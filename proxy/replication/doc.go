// Package replication measures how far the replicas of one Redis primary are behind it,
// in time. It is for a group of a single backend, where a failover forgets what had not
// been replicated; a quorum has no use for replicas.
//
// Redis tells offsets, not times: INFO replication has the primary's own offset, and for
// each replica the offset that it acknowledged last. So a Watch remembers when the
// primary was at which offset; the time since the primary passed a replica's offset is
// how far that replica is behind.
//
// Replicas acknowledge once a second only. What an acknowledgement says was true when it
// came, so a lag is taken when a replica's offset has just moved; between two of them it
// counts as unchanged, and grows only when the next one is overdue.
package replication
