package pgtest

import "syscall"

// dieWithParent has the kernel end the server when the test process is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
}
