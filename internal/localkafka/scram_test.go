package localkafka_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// requireSCRAM requires that the user gets in and, with another password, does
// not.
func requireSCRAM(t *testing.T, addr, user, password string) {
	t.Helper()
	ping := func(password string) error {
		auth := scram.Auth{User: user, Pass: password}
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.SASL(auth.AsSha256Mechanism()))
		require.NoError(t, err)
		defer client.Close()
		return client.Ping(t.Context())
	}
	require.NoError(t, ping(password))
	require.Error(t, ping("not "+password))
}
