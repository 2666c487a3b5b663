package localkafka

import "syscall"

// dieWithParent leaves it to the keeper's shell: macOS has no parent death
// signal.
func dieWithParent() *syscall.SysProcAttr { return ownGroup() }
