// Package fences shows what fencing numbers are for: workers that lock at the proxy
// and write to a PostgreSQL table, which refuses a number that is not above the last.
package fences
