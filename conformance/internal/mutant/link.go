package mutant

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// link is one client connection and the one to the broker behind it. Brokers
// answer in the order of the requests.
type link struct {
	proxy          *Proxy
	broker         int32
	client, server net.Conn
	waiting        chan *Call // answered in this order
}

// header is the fixed part of a request's header.
type header struct {
	key, version int16
	correlation  int32
}

// pending adds to a call what the link needs to answer it.
type pending struct {
	header
	decoded bool
}

func (l *link) requests() {
	defer l.end()
	defer close(l.waiting)
	r := bufio.NewReader(l.client)
	for {
		frame, err := readFrame(r)
		if err != nil || len(frame) < 8 {
			return
		}
		call := &Call{Broker: l.broker, Forward: l.forward}
		call.pending.header = header{
			int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])), int32(binary.BigEndian.Uint32(frame[4:])),
		}
		frame = l.damageRequest(call, frame)
		l.waiting <- call
		if frame == nil {
			continue // answered by the damage
		}
		if err := writeFrame(l.server, frame); err != nil {
			return
		}
	}
}

// damageRequest returns the frame to send on, nil if there is an answer already.
func (l *link) damageRequest(call *Call, frame []byte) []byte {
	if !l.wants(call.pending.key) {
		return frame
	}
	req := kmsg.RequestForKey(call.pending.key)
	req.SetVersion(call.pending.version)
	clientID, body, ok := splitRequest(frame, req)
	if !ok || req.ReadFrom(body) != nil {
		return frame
	}
	call.Request, call.pending.decoded = req, true
	if l.proxy.damage.Request == nil || !slices.Contains(l.proxy.damage.Keys, kmsg.Key(call.pending.key)) {
		return frame
	}
	l.proxy.turn.Lock()
	l.proxy.damage.Request(call)
	l.proxy.turn.Unlock()
	if call.Response != nil {
		call.Response.SetVersion(call.pending.version)
		return nil
	}
	call.Request.SetVersion(call.pending.version)
	var opts []kmsg.RequestFormatterOpt
	if clientID != nil {
		opts = append(opts, kmsg.FormatterClientID(*clientID))
	}
	return kmsg.NewRequestFormatter(opts...).AppendRequest(nil, call.Request, call.pending.correlation)[4:]
}

func (l *link) responses() {
	defer l.end()
	r := bufio.NewReader(l.server)
	for call := range l.waiting {
		if call.Response != nil { // answered by the damage
			if l.answer(call, call.Response) != nil {
				return
			}
			continue
		}
		frame, err := readFrame(r)
		if err != nil || len(frame) < 4 {
			return
		}
		if !call.pending.decoded {
			if writeFrame(l.client, frame) != nil {
				return
			}
			continue
		}
		resp := call.Request.ResponseKind()
		resp.SetVersion(call.pending.version)
		body, ok := splitResponse(frame[4:], call)
		if !ok || resp.ReadFrom(body) != nil {
			if writeFrame(l.client, frame) != nil {
				return
			}
			continue
		}
		if l.answer(call, resp) != nil {
			return
		}
	}
}

// answer damages an answer and gives it to the client.
func (l *link) answer(call *Call, resp kmsg.Response) error {
	call.Response = resp
	if l.proxy.damage.Response != nil && slices.Contains(l.proxy.damage.Keys, kmsg.Key(call.pending.key)) {
		l.proxy.turn.Lock()
		l.proxy.damage.Response(call)
		l.proxy.turn.Unlock()
	}
	l.proxy.readdress(call.Response)
	call.Response.SetVersion(call.pending.version)
	frame := binary.BigEndian.AppendUint32(nil, uint32(call.pending.correlation))
	if call.Response.IsFlexible() && call.pending.key != int16(kmsg.ApiVersions) {
		frame = append(frame, 0) // no tagged fields
	}
	return writeFrame(l.client, call.Response.AppendTo(frame))
}

// forward asks the cluster something of the damage's own.
func (l *link) forward(req kmsg.Request) kmsg.Response {
	resp, err := l.proxy.upstream.Broker(int(l.broker)).RetriableRequest(context.Background(), req)
	if err != nil {
		return nil
	}
	return resp
}

func (l *link) end() {
	l.proxy.untrack(l.client)
	l.proxy.untrack(l.server)
}

// namesBrokers are the requests whose answers name brokers.
var namesBrokers = []kmsg.Key{kmsg.Metadata, kmsg.FindCoordinator, kmsg.DescribeCluster, kmsg.Fetch, kmsg.Produce}

// wants reports whether a request has to be decoded: for the damage, or because
// its answer names brokers.
func (l *link) wants(key int16) bool {
	if slices.Contains(namesBrokers, kmsg.Key(key)) {
		return true
	}
	return slices.Contains(l.proxy.damage.Keys, kmsg.Key(key))
}

// readdress puts the proxy's addresses where an answer names brokers.
func (p *Proxy) readdress(resp kmsg.Response) {
	to := func(broker int32, host *string, port *int32) {
		if broker < 0 || *host == "" {
			return
		}
		at, err := p.address(broker, *host, *port)
		if err != nil {
			return
		}
		h, s, _ := net.SplitHostPort(at.String())
		n, _ := strconv.ParseInt(s, 10, 32)
		*host, *port = h, int32(n)
	}
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			to(r.Brokers[i].NodeID, &r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.FindCoordinatorResponse:
		to(r.NodeID, &r.Host, &r.Port)
		for i := range r.Coordinators {
			to(r.Coordinators[i].NodeID, &r.Coordinators[i].Host, &r.Coordinators[i].Port)
		}
	case *kmsg.DescribeClusterResponse:
		for i := range r.Brokers {
			to(r.Brokers[i].NodeID, &r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.FetchResponse:
		for i := range r.Brokers {
			to(r.Brokers[i].NodeID, &r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	case *kmsg.ProduceResponse:
		for i := range r.Brokers {
			to(r.Brokers[i].NodeID, &r.Brokers[i].Host, &r.Brokers[i].Port)
		}
	}
}

// splitRequest takes the header off a request.
func splitRequest(frame []byte, req kmsg.Request) (clientID *string, body []byte, ok bool) {
	if len(frame) < 10 {
		return nil, nil, false
	}
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[10:]
	if n >= 0 {
		if n > len(body) {
			return nil, nil, false
		}
		id := string(body[:n])
		clientID, body = &id, body[n:]
	}
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, nil, false // tagged fields: nobody sends any
		}
		body = body[1:]
	}
	return clientID, body, true
}

func splitResponse(body []byte, call *Call) ([]byte, bool) {
	if !call.Request.IsFlexible() || call.pending.key == int16(kmsg.ApiVersions) {
		return body, true
	}
	if len(body) == 0 || body[0] != 0 {
		return nil, false
	}
	return body[1:], true
}
