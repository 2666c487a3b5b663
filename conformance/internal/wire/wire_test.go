package wire_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

func TestWaysInWhichAnExchangeEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(frame []byte) ([]byte, bool)
		want   error // nil: there is an answer
		bytes  string
	}{
		{"an answer", metadata, nil, ""},
		{"never", func([]byte) ([]byte, bool) { return nil, true }, wire.ErrTimeout, ""},
		{"cut", func([]byte) ([]byte, bool) { return nil, false }, wire.ErrCut, ""},
		{"cut within the size", func([]byte) ([]byte, bool) { return []byte{0, 0}, false }, wire.ErrCut, ""},
		{"cut within the answer", func(f []byte) ([]byte, bool) { a, _ := metadata(f); return a[:len(a)-1], false }, wire.ErrCut, ""},
		{"half an answer, and no more", func(f []byte) ([]byte, bool) { a, _ := metadata(f); return a[:len(a)-1], true }, wire.ErrTimeout, ""},
		{"something else than Kafka", func([]byte) ([]byte, bool) { return []byte("HTTP/1.1 400 Bad Request\r\n"), true }, wire.ErrGarbage, "HTTP"},
		{"a size that is too large", func([]byte) ([]byte, bool) { return []byte{0x7f, 0xff, 0xff, 0xff}, true }, wire.ErrGarbage, "\x7f\xff\xff\xff"},
		{"a size that is too small", func([]byte) ([]byte, bool) { return []byte{0, 0, 0, 3, 1, 2, 3}, true }, wire.ErrGarbage, "\x00\x00\x00\x03"},
		{"a negative size", func([]byte) ([]byte, bool) { return []byte{0xff, 0xff, 0xff, 0xff}, true }, wire.ErrGarbage, "\xff\xff\xff\xff"},
		{"another correlation ID", func(f []byte) ([]byte, bool) { a, _ := metadata(f); a[7]++; return a, true }, wire.ErrGarbage, ""},
		{"a body that does not decode", func(f []byte) ([]byte, bool) { return framed(f, []byte{0, 'a', 'b'}), true }, wire.ErrGarbage, "ab"},
		{"a header that does not decode", func(f []byte) ([]byte, bool) { return framed(f, []byte{9, 1, 200}), true }, wire.ErrGarbage, "\x09\x01\xc8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := broker(t, c.answer)
			cl := client(t, wire.Config{Seeds: []string{s.addr}, Timeout: 500 * time.Millisecond})
			e := cl.Do(t.Context(), wire.Bootstrap, "a", ask())
			if c.want == nil {
				require.NoError(t, e.Err)
				require.NotZero(t, e.Took())
				return
			}
			require.ErrorIs(t, e.Err, c.want)
			require.True(t, wire.IsUnknown(e.Err))
			require.Nil(t, e.Response)
			if c.bytes != "" {
				require.Equal(t, c.bytes, string(e.Bytes))
			}
			// The stream is of no use any more: the lane gets another one.
			first := s.dials.Load()
			_ = cl.Do(t.Context(), wire.Bootstrap, "a", ask())
			require.Greater(t, s.dials.Load(), first)
		})
	}
}

func TestNothingIsSentThatTheBrokerDoesNotHave(t *testing.T) {
	s := broker(t, metadata)
	c := client(t, wire.Config{Seeds: []string{s.addr}})
	tooNew := ask()
	tooNew.Version = 13
	require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", tooNew).Err, wire.ErrUnsupported)
	require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", kmsg.NewPtrEndTxnRequest()).Err, wire.ErrUnsupported)
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)
	require.EqualValues(t, 1, s.dials.Load())
}

// There are brokers that cut the connection, or answer what nobody can read,
// for a version of ApiVersions that they do not know.
func TestApiVersionsFallsBack(t *testing.T) {
	unsupported := func(frame []byte) ([]byte, bool) {
		resp := kmsg.NewPtrApiVersionsResponse() // in version 0, whatever was asked
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		return framed(frame, resp.AppendTo(nil)), true
	}
	naming := func(newest int16) func([]byte) ([]byte, bool) { // which it knows, as Kafka does (KIP-511)
		return func(frame []byte) ([]byte, bool) {
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MaxVersion = kmsg.ApiVersions.Int16(), newest
			resp.ApiKeys = append(resp.ApiKeys, k)
			return framed(frame, resp.AppendTo(nil)), true
		}
	}
	for _, c := range []struct {
		name   string
		newest int16 // that is answered
		dials  int32
		answer func(frame []byte) ([]byte, bool) // to newer ones
	}{
		{"the newest", 4, 1, nil},
		{"an error in version 0", 3, 2, unsupported},
		{"errors in version 0", 2, 3, unsupported},
		{"an error that names what there is", 3, 2, naming(3)},
		{"an error that names old ones", 2, 2, naming(2)},
		{"an error that names none but the first", 0, 2, naming(0)},
		{"cut", 3, 3, func([]byte) ([]byte, bool) { return nil, false }},
		{"unreadable", 2, 3, func(f []byte) ([]byte, bool) { return framed(f, []byte{1, 2, 3}), true }},
		{"another correlation ID", 3, 2, func(f []byte) ([]byte, bool) { a := versions(f); a[7]++; return a, true }},
		{"cut down to 0", 0, 7, func([]byte) ([]byte, bool) { return nil, false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(frame []byte) ([]byte, bool) {
				switch {
				case keyOf(frame) != kmsg.ApiVersions.Int16():
					return metadata(frame)
				case versionOf(frame) > c.newest:
					return c.answer(frame)
				}
				return versions(frame), true
			})
			cl := client(t, wire.Config{Seeds: []string{s.addr}})
			conn, err := cl.Conn(t.Context(), wire.Bootstrap, "a")
			require.NoError(t, err)
			require.Equal(t, c.newest, conn.Versions().Asked)
			require.Equal(t, c.dials, s.dials.Load())
			require.NoError(t, cl.On(t.Context(), conn, ask()).Err)

			_, err = cl.Conn(t.Context(), wire.Bootstrap, "b")
			require.NoError(t, err)
			require.Equal(t, c.dials+1, s.dials.Load(), "what worked is remembered")
		})
	}
}

// A connection that was cut once says nothing of the versions.
func TestACutConnectionIsMadeOnceMore(t *testing.T) {
	var cut atomic.Bool
	s := serve(t, func(frame []byte) ([]byte, bool) {
		if cut.CompareAndSwap(false, true) {
			return nil, false
		}
		return versions(frame), true
	})
	conn, err := client(t, wire.Config{Seeds: []string{s.addr}}).Conn(t.Context(), wire.Bootstrap, "a")
	require.NoError(t, err)
	require.EqualValues(t, 4, conn.Versions().Asked)
}

func TestNobodyAnswersApiVersions(t *testing.T) {
	s := serve(t, func([]byte) ([]byte, bool) { return nil, true })
	c := client(t, wire.Config{Seeds: []string{s.addr}, Timeout: 200 * time.Millisecond})
	require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err, wire.ErrTimeout)
	require.LessOrEqual(t, s.dials.Load(), int32(1), "no answer is not a refusal of the version")
}

func TestSeedsAreTriedInOrder(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := l.Addr().String()
	require.NoError(t, l.Close())
	s := broker(t, metadata)
	c := client(t, wire.Config{Seeds: []string{gone, s.addr}})
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)

	c = client(t, wire.Config{Seeds: []string{gone}})
	err = c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err
	require.ErrorIs(t, err, wire.ErrUnreachable)
	require.False(t, wire.IsUnknown(err))
	require.ErrorIs(t, c.Do(t.Context(), 7, "a", ask()).Err, wire.ErrUnreachable, "a broker that nobody has named")
}

func TestContextsEndExchanges(t *testing.T) {
	asked := make(chan struct{}, 9)
	s := broker(t, func([]byte) ([]byte, bool) { asked <- struct{}{}; return nil, true })
	c := client(t, wire.Config{Seeds: []string{s.addr}})
	t.Run("cancelled while it waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		err := c.Do(ctx, wire.Bootstrap, "a", ask()).Err
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, wire.IsUnknown(err), "the broker has the request")
	})
	t.Run("over while it waits", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.Do(ctx, wire.Bootstrap, "a", ask()).Err, wire.ErrTimeout)
		<-asked
	})
	t.Run("over before it is sent", func(t *testing.T) {
		conn, err := c.Conn(t.Context(), wire.Bootstrap, "b")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = conn.Do(ctx, ask()).Err
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, wire.IsUnknown(err), "nothing was sent")
		again, err := c.Conn(t.Context(), wire.Bootstrap, "b")
		require.NoError(t, err)
		require.Same(t, conn, again, "and the connection is as good as before")
		require.Empty(t, asked)
	})
}

// A context that ends just after its exchange leaves nothing behind.
func TestContextsEndNothingElse(t *testing.T) {
	s := broker(t, metadata)
	c := client(t, wire.Config{Seeds: []string{s.addr}})
	conn, err := c.Conn(t.Context(), wire.Bootstrap, "a")
	require.NoError(t, err)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); time.Sleep(50 * time.Microsecond); cancel() }()
		if err := conn.Do(ctx, ask()).Err; err != nil {
			require.ErrorIs(t, err, context.Canceled)
			conn, err = c.Conn(t.Context(), wire.Bootstrap, "a")
			require.NoError(t, err)
		}
		require.NoError(t, c.On(t.Context(), conn, ask()).Err)
		<-done
	}
}

func TestClosing(t *testing.T) {
	asked := make(chan struct{}, 9)
	silent := func([]byte) ([]byte, bool) { asked <- struct{}{}; return []byte{}, true }
	t.Run("a connection with an exchange under way", func(t *testing.T) {
		c := client(t, wire.Config{Seeds: []string{broker(t, silent).addr}})
		conn, err := c.Fresh(t.Context(), wire.Bootstrap)
		require.NoError(t, err)
		go func() { <-asked; conn.Close() }()
		require.ErrorIs(t, conn.Do(t.Context(), ask()).Err, wire.ErrCut)
		require.ErrorIs(t, conn.Do(t.Context(), ask()).Err, wire.ErrUnreachable)
	})
	t.Run("an idle connection of a lane", func(t *testing.T) {
		s := broker(t, metadata)
		c := client(t, wire.Config{Seeds: []string{s.addr}})
		conn, err := c.Conn(t.Context(), wire.Bootstrap, "a")
		require.NoError(t, err)
		conn.Close()
		err = conn.Do(t.Context(), ask()).Err
		require.ErrorIs(t, err, wire.ErrUnreachable)
		require.False(t, wire.IsUnknown(err), "nothing was sent")
		require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)
		require.EqualValues(t, 2, s.dials.Load())
	})
	t.Run("a client with an exchange under way", func(t *testing.T) {
		c := client(t, wire.Config{Seeds: []string{broker(t, silent).addr}})
		go func() { <-asked; c.Close() }()
		require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err, wire.ErrCut)
		require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err, wire.ErrUnreachable)
		_, err := c.Fresh(t.Context(), wire.Bootstrap)
		require.ErrorIs(t, err, wire.ErrUnreachable)
	})
	t.Run("a client that is dialing", func(t *testing.T) {
		dialing := make(chan struct{})
		c := client(t, wire.Config{Seeds: []string{"127.0.0.1:1"}, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		go func() { <-dialing; c.Close() }()
		begin := time.Now()
		require.ErrorIs(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err, wire.ErrUnreachable)
		require.Less(t, time.Since(begin), 4*time.Second)
	})
}

func TestLeavingBeforeTheAnswer(t *testing.T) {
	asked := make(chan int16, 1)
	c := client(t, wire.Config{Seeds: []string{broker(t, func(f []byte) ([]byte, bool) { asked <- keyOf(f); return nil, true }).addr}})
	conn, err := c.Fresh(t.Context(), wire.Bootstrap)
	require.NoError(t, err)
	e := conn.SendAndLeave(t.Context(), ask())
	require.ErrorIs(t, e.Err, wire.ErrCut)
	require.Equal(t, kmsg.Metadata.Int16(), <-asked)
	require.ErrorIs(t, conn.Do(t.Context(), ask()).Err, wire.ErrUnreachable)
}

// Requests of different lanes do not wait for each other; those of one do.
func TestLanes(t *testing.T) {
	hold := make(chan struct{})
	c := client(t, wire.Config{Seeds: []string{broker(t, func(f []byte) ([]byte, bool) {
		if keyOf(f) == kmsg.Fetch.Int16() {
			<-hold
			resp := kmsg.NewPtrFetchResponse()
			resp.SetVersion(versionOf(f))
			return framed(f, append([]byte{0}, resp.AppendTo(nil)...)), true
		}
		return metadata(f)
	}).addr}})
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 12
	done := make(chan *wire.Exchange)
	go func() { done <- c.Do(t.Context(), wire.Bootstrap, "a", fetch) }()
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "b", ask()).Err)
	close(hold)
	require.NoError(t, (<-done).Err)
}

// The time that a request lets the broker wait is not counted.
func TestLongPollsMayTakeTheirTime(t *testing.T) {
	c := client(t, wire.Config{Timeout: 300 * time.Millisecond, Seeds: []string{broker(t, func(f []byte) ([]byte, bool) {
		time.Sleep(600 * time.Millisecond)
		resp := kmsg.NewPtrFetchResponse()
		resp.SetVersion(versionOf(f))
		return framed(f, append([]byte{0}, resp.AppendTo(nil)...)), true
	}).addr}})
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version, fetch.MaxWaitMillis = 12, 5000
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", fetch).Err)
}

func TestEveryExchangeIsWatched(t *testing.T) {
	var seen []error
	s := broker(t, func(f []byte) ([]byte, bool) { return binary.BigEndian.AppendUint32(nil, 1), true })
	c := wire.New(wire.Config{Seeds: []string{s.addr}}, func(e *wire.Exchange) { seen = append(seen, e.Err) })
	defer c.Close()
	c.Do(t.Context(), wire.Bootstrap, "a", ask())
	require.Len(t, seen, 1)
	require.True(t, errors.Is(seen[0], wire.ErrGarbage))
}

// Brokers close connections that nobody uses (connections.max.idle.ms). Nothing
// was asked then, and nothing is left open.
func TestIdleConnectionsThatWereClosedAreMadeAnew(t *testing.T) {
	var asked atomic.Int32
	s := broker(t, func(frame []byte) ([]byte, bool) {
		answer, _ := metadata(frame)
		return answer, asked.Add(1) > 1
	})
	c := client(t, wire.Config{Seeds: []string{s.addr}})
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)
	time.Sleep(1100 * time.Millisecond) // the time is what is tested
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)
	require.EqualValues(t, 2, s.dials.Load())
	time.Sleep(1100 * time.Millisecond)
	require.NoError(t, c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err)
	require.EqualValues(t, 2, s.dials.Load(), "one that is there is kept")
}

// A port that reads lines answers at once, and only once.
func TestAPortOfHTTPIsFoundOutAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			}
			_ = conn.Close()
		}
	}()
	c := client(t, wire.Config{Seeds: []string{l.Addr().String()}, ClientID: "rcc-check-0123456789ab"})
	begin := time.Now()
	err = c.Do(t.Context(), wire.Bootstrap, "a", ask()).Err
	require.ErrorIs(t, err, wire.ErrGarbage)
	require.ErrorContains(t, err, `"HTTP"`)
	require.Less(t, time.Since(begin), 3*time.Second)
	require.EqualValues(t, 1, conns.Load())
	require.NoError(t, l.Close())
	<-done
}

// An address without a port has Kafka's, as for every other client.
func TestAddressesHaveAPort(t *testing.T) {
	config, err := wire.FromKgo(kgo.SeedBrokers("kafka-1", "kafka-2:9093", "::1", "[::2]", "[::3]:9094"))
	require.NoError(t, err)
	require.Equal(t, []string{"kafka-1:9092", "kafka-2:9093", "[::1]:9092", "[::2]:9092", "[::3]:9094"}, config.Seeds)
}
