//go:build !linux

package guard

// HungUp is known on Linux only.
func (c *Conn) HungUp() bool { return false }
