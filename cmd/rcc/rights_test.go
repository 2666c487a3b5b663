package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// allow is a right of alice's.
func allow(resource kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
}

var (
	readTopic     = allow(kmsg.ACLResourceTypeTopic, "orders", kmsg.ACLOperationRead)
	describeTopic = allow(kmsg.ACLResourceTypeTopic, "orders", kmsg.ACLOperationDescribe)
	readGroup     = allow(kmsg.ACLResourceTypeGroup, "billing", kmsg.ACLOperationRead)
)

// guarded starts a broker on which alice has these rights alone, and returns an
// admin client of a super user.
func guarded(t *testing.T, rights ...kfake.ACL) (*port, *kadm.Client) {
	t.Helper()
	p := fakePort(t, kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser("SCRAM-SHA-256", "root", "root"), kfake.User("SCRAM-SHA-256", "alice", secret, rights...))
	client, err := kgo.NewClient(kgo.SeedBrokers(p.address), kgo.DefaultProduceTopic("orders"),
		kgo.SASL(scram.Auth{User: "root", Pass: "root"}.AsSha256Mechanism()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Value: []byte("first")}).FirstErr())
	return p, kadm.NewClient(client)
}

func TestMissingRights(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rights []kfake.ACL
		args   []string
		want   string
		advice string
	}{
		{"all", []kfake.ACL{readTopic, readGroup}, []string{"-g", "billing"}, "", ""},
		{
			"no right on the topic", nil, nil,
			`metadata of topic orders: TOPIC_AUTHORIZATION_FAILED: .*`,
			`look at the ACLs: user alice needs READ and DESCRIBE on the topic`,
		},
		{
			"DESCRIBE alone",
			[]kfake.ACL{describeTopic},
			nil,
			`topic orders .*: TOPIC_AUTHORIZATION_FAILED: .*`,
			`look at the ACLs: user alice needs READ and DESCRIBE on the topic`,
		},
		{
			"no right on the group",
			[]kfake.ACL{readTopic},
			[]string{"-g", "billing"},
			`group billing: GROUP_AUTHORIZATION_FAILED: .*`,
			`look at the ACLs: user alice needs READ on the group`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := guarded(t, tt.rights...)
			before := p.conns.Load()
			args := append([]string{"consume", "orders", "-e", "hw", "-b", p.address, "-f", "%v"}, tt.args...)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var out, errs bytes.Buffer
			code := run(ctx, append(args, properties(scramLogin...)...), nil, &out, &errs)
			require.NotContains(t, errs.String(), secret)
			if tt.want == "" {
				require.Equal(t, exitOK, code, &errs)
				require.Equal(t, "first", out.String())
				return
			}
			require.Equal(t, exitError, code, &errs)
			requireFailure(t, errs.String(), tt.want, tt.advice)
			require.LessOrEqual(t, p.conns.Load()-before, int64(10), "connections")
			t.Log(errs.String())
		})
	}
}

// requireFailure checks the one error line and the advice below it.
func requireFailure(t *testing.T, stderr, want, advice string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(stderr, "error: "), stderr)
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	require.GreaterOrEqual(t, len(lines), 2, stderr)
	require.Regexp(t, "^rcc: error: "+want+"$", lines[len(lines)-2])
	require.Regexp(t, "^rcc: "+advice+"$", lines[len(lines)-1])
}

// A right that is taken away while a read runs ends it, after what was read is
// out.
func TestRightsTakenAwayWhileReading(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		revoke  func(*kadm.ACLBuilder) *kadm.ACLBuilder
		want    string
		advice  string
		printed string
	}{
		{
			"topic", nil, func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics("orders").Operations(kadm.OpRead) },
			`topic orders.*: TOPIC_AUTHORIZATION_FAILED: .*`,
			`look at the ACLs: user alice needs READ and DESCRIBE on the topic`, "first",
		},
		{
			"group",
			[]string{"-g", "billing"},
			func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Groups("billing").Operations(kadm.OpRead) },
			`group billing: .*GROUP_AUTHORIZATION_FAILED: .*`,
			`look at the ACLs: user alice needs READ on the group`, "first",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, admin := guarded(t, readTopic, readGroup)
			m := startMember(t, append(append([]string{"orders", "-b", p.address, "-f", "%v"}, tt.args...), properties(scramLogin...)...)...)
			require.Eventually(t, func() bool { return m.out.String() == tt.printed }, 20*time.Second, 10*time.Millisecond, &m.errs)
			acl := kadm.NewACLs().Allow("User:alice").AllowHosts("*").ResourcePatternType(kadm.ACLPatternLiteral)
			deleted, err := admin.DeleteACLs(t.Context(), tt.revoke(acl))
			require.NoError(t, err)
			require.Len(t, deleted, 1)
			require.NotEmpty(t, deleted[0].Deleted)

			require.Equal(t, exitError, m.wait(t))
			require.NotContains(t, m.errs.String(), secret)
			require.Contains(t, m.errs.String(), "record delivered", "the summary is there")
			requireFailure(t, m.errs.String(), tt.want, tt.advice)
			t.Log(m.errs.String())
		})
	}
}

// wait returns the exit code of a read that ends by itself.
func (m *member) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-m.code:
		return code
	case <-time.After(30 * time.Second):
		require.Fail(t, "the read does not end", &m.errs)
		return 0
	}
}

// A password that is changed while a read runs ends it when the broker asks for
// it again.
func TestLoginTakenAwayWhileReading(t *testing.T) {
	p := fakePort(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "alice", secret),
		kfake.BrokerConfigs(map[string]string{"connections.max.reauth.ms": "1500"}))
	var changed atomic.Bool
	p.cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		p.cluster.KeepControl()
		if !changed.Load() {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	m := startMember(t, append([]string{"orders", "-b", p.address}, properties(scramLogin...)...)...)
	m.says(t, "reading at read_committed")
	changed.Store(true)
	before := p.conns.Load()

	require.Equal(t, exitError, m.wait(t))
	require.NotContains(t, m.errs.String(), secret)
	requireFailure(t, m.errs.String(), `.*: SASL_AUTHENTICATION_FAILED: .*`, `look at the user name and password of user alice; .*`)
	require.LessOrEqual(t, p.conns.Load()-before, int64(20), fmt.Sprintf("connections: %d", p.conns.Load()-before))
	t.Log(p.conns.Load()-before, "connections\n", m.errs.String())
}

// A demo writes, and needs more.
func TestDemoWithoutRights(t *testing.T) {
	p, _ := guarded(t, readTopic)
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"demo", "-b", p.address}, properties(scramLogin...)...), nil, &out, &errs)
	require.Equal(t, exitError, code, &errs)
	require.NotContains(t, errs.String(), secret)
	requireFailure(t, errs.String(), `create topic rcc-demo-[0-9a-f]{8}: .*AUTHORIZATION_FAILED: .*`, `look at the ACLs: user alice needs .*`)
	t.Log(errs.String())
}
