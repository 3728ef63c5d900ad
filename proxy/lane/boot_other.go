//go:build !linux

package lane

import "time"

// sinceBoot reads a clock that does not jump.
func sinceBoot() time.Duration { return time.Since(start) }

var start = time.Now()
