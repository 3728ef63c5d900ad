package replication

// Overdue is overdue, for the tests with real servers.
const Overdue = overdue
