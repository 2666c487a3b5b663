//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used so far, of user and system time on all
// cores, garbage collection included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
