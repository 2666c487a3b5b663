package localkafka

import "syscall"

// dieWithParent has the kernel kill the process when the thread that started
// it ends, stopped or not.
func dieWithParent() *syscall.SysProcAttr {
	attr := ownGroup()
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}
