package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// User is somebody who can authenticate by SCRAM.
type User struct{ Name, Password string }

// SHA256 and SHA512 are the user's ways to authenticate.
func (u User) SHA256() sasl.Mechanism { return u.auth().AsSha256Mechanism() }

// SHA512 see [User.SHA256].
func (u User) SHA512() sasl.Mechanism { return u.auth().AsSha512Mechanism() }

func (u User) auth() scram.Auth { return scram.Auth{User: u.Name, Pass: u.Password} }

// User makes a user that no other test has, for both variants of SCRAM, without
// any right. Both name and password are unlike anything else.
func (c *SecuredCluster) User(t testing.TB) User {
	t.Helper()
	u := User{Name: Name(t), Password: "Secret-of-" + Name(t)}
	c.SetPassword(t, u)
	return u
}

var scramMechanisms = []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512}

// SetPassword makes the user, or gives it another password, and waits until the
// broker applies that.
func (c *SecuredCluster) SetPassword(t testing.TB, u User) {
	t.Helper()
	for _, m := range scramMechanisms {
		c.alterUser(t, nil, []kadm.UpsertSCRAM{{User: u.Name, Mechanism: m, Iterations: 4096, Password: u.Password}})
	}
	c.waitLogin(t, u, func(err error) bool { return err == nil })
}

// DeleteUser deletes the user, and waits until the broker lets it in no more.
// Sessions that are open stay.
func (c *SecuredCluster) DeleteUser(t testing.TB, u User) {
	t.Helper()
	for _, m := range scramMechanisms {
		c.alterUser(t, []kadm.DeleteSCRAM{{User: u.Name, Mechanism: m}}, nil)
	}
	c.waitLogin(t, u, func(err error) bool { return errors.Is(err, kerr.SaslAuthenticationFailed) })
}

// alterUser names a user once only: brokers refuse more in one request.
func (c *SecuredCluster) alterUser(t testing.TB, del []kadm.DeleteSCRAM, upsert []kadm.UpsertSCRAM) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	altered, err := c.admin.AlterUserSCRAMs(ctx, del, upsert)
	require.NoError(t, err, "alter user")
	require.NoError(t, altered.Error(), "alter user")
}

// waitLogin logs in by both mechanisms until the outcome is as it should be.
func (c *SecuredCluster) waitLogin(t testing.TB, u User, done func(error) bool) {
	t.Helper()
	for _, mechanism := range []sasl.Mechanism{u.SHA256(), u.SHA512()} {
		Wait(t, "login of "+u.Name, func(ctx context.Context) (string, bool) {
			client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenerAddrs(SASL)...), kgo.SASL(mechanism), kgo.RequestRetries(0))
			require.NoError(t, err)
			defer client.Close()
			err = client.Ping(ctx)
			return fmt.Sprint(err), done(err)
		})
	}
}

// Right is something that a user may do with a topic or a group.
type Right struct {
	resource kmsg.ACLResourceType
	name     string
	op       kadm.ACLOperation
}

// OnTopic is a right on a topic.
func OnTopic(op kadm.ACLOperation, topic string) Right {
	return Right{kmsg.ACLResourceTypeTopic, topic, op}
}

// OnGroup is a right on a consumer group.
func OnGroup(op kadm.ACLOperation, group string) Right {
	return Right{kmsg.ACLResourceTypeGroup, group, op}
}

// String names the right as Kafka's tools do.
func (r Right) String() string { return fmt.Sprintf("%v %v:%s", r.op, r.resource, r.name) }

// acl is the right of a user, as a filter that matches nothing else too.
func (r Right) acl(user string) *kadm.ACLBuilder {
	b := kadm.NewACLs().Allow("User:" + user).AllowHosts("*").Operations(r.op).ResourcePatternType(kadm.ACLPatternLiteral)
	if r.resource == kmsg.ACLResourceTypeGroup {
		return b.Groups(r.name)
	}
	return b.Topics(r.name)
}

// Grant gives rights to a user, and waits until the broker knows them.
func (c *SecuredCluster) Grant(t testing.TB, user string, rights ...Right) {
	t.Helper()
	for _, r := range rights {
		c.alterRight(t, user, r, true)
	}
}

// Revoke takes rights from a user, and waits until the broker knows that.
func (c *SecuredCluster) Revoke(t testing.TB, user string, rights ...Right) {
	t.Helper()
	for _, r := range rights {
		c.alterRight(t, user, r, false)
	}
}

func (c *SecuredCluster) alterRight(t testing.TB, user string, r Right, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	var err error
	if want {
		_, err = c.admin.CreateACLs(ctx, r.acl(user))
	} else {
		_, err = c.admin.DeleteACLs(ctx, r.acl(user))
	}
	require.NoError(t, err, "%v of %s", r, user)
	c.waitRight(t, user, r, want)
}

// waitRight asks the broker's own authorizer, which hears of a right only after
// the controller has taken it down.
func (c *SecuredCluster) waitRight(t testing.TB, user string, r Right, want bool) {
	t.Helper()
	Wait(t, fmt.Sprintf("%v of %s to be %v", r, user, want), func(ctx context.Context) (string, bool) {
		results, err := c.admin.DescribeACLs(ctx, r.acl(user))
		if err != nil || len(results) != 1 || results[0].Err != nil {
			return fmt.Sprint(err, results), false
		}
		return fmt.Sprint(results[0].Described), len(results[0].Described) > 0 == want
	})
}
