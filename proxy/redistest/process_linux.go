package redistest

import "syscall"

// dieWithParent has the kernel end a child when the test process is killed or
// runs into its time limit, where no clean-up runs.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
