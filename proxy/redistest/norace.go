//go:build !race

package redistest

// raceBuild adds the race detector to the binary when the test has it.
const raceBuild = false
