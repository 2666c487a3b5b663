package netfault

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// peer answers each frame with "yes" and tells what it got.
func peer(t *testing.T) (address string, got chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					var head [4]byte
					if _, err := io.ReadFull(c, head[:]); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(head[:]))
					if _, err := io.ReadFull(c, body); err != nil {
						got <- "half"
						return
					}
					got <- string(body[4:])
					_, _ = c.Write(framed("yes"))
				}
			}()
		}
	}()
	return l.Addr().String(), got
}

func framed(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func request(key int16, body string) []byte {
	return framed(string(binary.BigEndian.AppendUint16(nil, uint16(key))) + "\x00\x00" + body)
}

func TestFaults(t *testing.T) {
	const wait = 50 * time.Millisecond
	for _, k := range []struct {
		name     string
		fault    Fault
		arrives  string // "" for nothing
		answered bool
		slow     bool
	}{
		{"none", Fault{}, "one", true, false},
		{"delay", Fault{Delay, wait}, "one", true, true},
		{"stall", Fault{Stall, wait}, "one", true, true},
		{"drop", Fault{Kind: Drop}, "one", false, false},
		{"cut", Fault{Kind: Cut}, "half", false, false},
		{"late", Fault{Late, wait}, "one", false, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			address, got := peer(t)
			n := New((&net.Dialer{}).DialContext)
			if k.fault.Kind != None {
				n.Arm(26, "one", k.fault)
			}
			c, err := n.Dial(context.Background(), "tcp", address)
			require.NoError(t, err)
			defer c.Close()
			answered := func(key int16, body string) bool {
				_, err := c.Write(request(key, body))
				require.NoError(t, err)
				answer := make([]byte, 7)
				_, err = io.ReadFull(c, answer)
				return err == nil
			}
			require.True(t, answered(26, "another one's"[:7]), "it has not the mark")
			require.Equal(t, "another", <-got)
			require.True(t, answered(0, "one"), "it has another key")
			require.Equal(t, "one", <-got)
			begin := time.Now()
			require.Equal(t, k.answered, answered(26, "one"))
			_ = c.Close() // it may be closed already
			if k.slow {
				require.GreaterOrEqual(t, time.Since(begin), wait)
			}
			require.Equal(t, k.arrives, <-got)
			if k.fault.Kind == Late {
				require.GreaterOrEqual(t, time.Since(begin), wait)
			}
			n.Wait()
			if k.fault.Kind != None {
				require.Equal(t, 1, n.Done())
			}
		})
	}
}

func TestFaultsInTurn(t *testing.T) {
	n := New(nil)
	n.Every(1, 3, Fault{Kind: Drop}, Fault{Kind: Cut})
	var kinds []Kind
	for range 9 {
		kinds = append(kinds, n.take(request(1, "")).Kind)
		require.Zero(t, n.take(request(2, "")))
		require.Zero(t, n.take([]byte("not a request")))
	}
	require.Equal(t, []Kind{0, 0, Cut, 0, 0, Drop, 0, 0, Cut}, kinds)
	n.Arm(0, "x", Fault{Kind: Cut})
	n.Disarm("x")
	require.Zero(t, n.take(request(0, "x")))
}
