//go:build !linux

package pgtest

import "syscall"

// dieWithParent is for Linux only; elsewhere a killed test leaves its server.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
