package localkafka

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports are taken from below the ranges that Linux (32768) and macOS (49152)
// give to outgoing connections. A port from those ranges could be taken while
// its broker is down, or a client that dials the dead broker could even be
// connected to itself.
const (
	firstPort = 20000 // inclusive
	lastPort  = 32000 // exclusive
)

var errNoPorts = errors.New("localkafka: no free loopback ports")

// reservation holds ports for the life of a cluster, against other processes
// of this package too: they would find a port free while its broker is down.
type reservation struct {
	ports   []int
	unlocks []func()
}

func reservePorts(n int) (*reservation, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("localkafka: %w", err)
	}
	r := &reservation{}
	span := lastPort - firstPort
	start := rand.IntN(span)
	for i := 0; i < span && len(r.ports) < n; i++ {
		port := firstPort + (start+i)%span
		unlock, ok := tryLockFile(filepath.Join(dir, strconv.Itoa(port)))
		if !ok {
			continue
		}
		if !isFree(port) {
			unlock()
			continue
		}
		r.ports = append(r.ports, port)
		r.unlocks = append(r.unlocks, unlock)
	}
	if len(r.ports) < n {
		r.release()
		return nil, errNoPorts
	}
	return r, nil
}

// release gives the ports back. A nil reservation holds none.
func (r *reservation) release() {
	if r == nil {
		return
	}
	for _, unlock := range r.unlocks {
		unlock()
	}
	r.unlocks = nil
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
