//go:build !linux

package redistest

import "syscall"

// dieWithParent is for Linux only; elsewhere a killed test leaves its children.
func dieWithParent() *syscall.SysProcAttr { return nil }
