package wire_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"example.com/readcommitted/conformance/internal/wire"
	"example.com/readcommitted/internal/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, kafkatest.LeakOptions()...) }

// server is a listener that says what a test wants it to say.
type server struct {
	addr  string
	dials atomic.Int32
	stop  chan struct{} // closed when the test ends
}

// serve answers each request by a script. What it returns is written as it
// stands; nil writes nothing. The connection ends when the script says so.
func serve(t testing.TB, script func(frame []byte) (answer []byte, goOn bool)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{addr: l.Addr().String(), stop: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.dials.Add(1)
			running.Go(func() {
				end := make(chan struct{})
				defer close(end)
				running.Go(func() {
					select {
					case <-s.stop:
					case <-end:
					}
					_ = conn.Close()
				})
				talk(conn, script)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(s.stop)
		running.Wait()
	})
	return s
}

func talk(conn net.Conn, script func([]byte) ([]byte, bool)) {
	r := bufio.NewReader(conn)
	for {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		answer, goOn := script(frame)
		if _, err := conn.Write(answer); err != nil || !goOn {
			return
		}
	}
}

func keyOf(frame []byte) int16     { return int16(binary.BigEndian.Uint16(frame)) }
func versionOf(frame []byte) int16 { return int16(binary.BigEndian.Uint16(frame[2:])) }

// framed is an answer to a request.
func framed(frame, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	return append(append(out, frame[4:8]...), body...)
}

// versions answers ApiVersions with what the tests use.
func versions(frame []byte) []byte {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.SetVersion(versionOf(frame))
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.Fetch, kmsg.ApiVersions} {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key.Int16(), 12
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return framed(frame, resp.AppendTo(nil))
}

// broker is a server that answers ApiVersions, and everything else by a script.
func broker(t testing.TB, script func(frame []byte) ([]byte, bool)) *server {
	t.Helper()
	return serve(t, func(frame []byte) ([]byte, bool) {
		if keyOf(frame) == kmsg.ApiVersions.Int16() {
			return versions(frame), true
		}
		return script(frame)
	})
}

// metadata answers Metadata without brokers or topics.
func metadata(frame []byte) ([]byte, bool) {
	resp := kmsg.NewPtrMetadataResponse()
	resp.SetVersion(versionOf(frame))
	body := resp.AppendTo(nil)
	if resp.IsFlexible() {
		body = append([]byte{0}, body...)
	}
	return framed(frame, body), true
}

func client(t testing.TB, config wire.Config) *wire.Client {
	t.Helper()
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	c := wire.New(config, nil)
	t.Cleanup(c.Close)
	return c
}

func ask() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return req
}
