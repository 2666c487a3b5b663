package conformance

import (
	"context"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func newFake(t *testing.T) []kgo.Opt {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}
}

func newAdmin(t *testing.T, opts []kgo.Opt) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func TestRunIDTellsItsAge(t *testing.T) {
	at := time.Now().Add(-7 * time.Hour).Truncate(time.Second)
	id := runIDAt(at)
	require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{12}$`), id)
	require.NoError(t, Config{Options: []kgo.Opt{kgo.SeedBrokers("x:1")}, RunID: id}.validate())
	for _, rest := range []string{"a-01-tv1-0", "A-01-TV2-x3", "O-08"} {
		got, ok := began(NamePrefix + id + "-" + rest)
		require.True(t, ok, rest)
		require.True(t, got.Equal(at))
	}
	for _, name := range []string{
		"orders", "rcconf-", "rcconf-" + id, "rcconf-" + id + "-orders", "my-rcconf-" + id + "-a-01-tv1-0",
		"rcconf-" + id + "0-a-01-tv1-0", "rcconf-zzzzzzzz0000-a-01-tv1-0", "rcconf-" + id + "-a-01 x",
	} {
		_, ok := began(name)
		require.False(t, ok, name)
	}
}

// What is examined is what a run then does.
func TestExaminationForetellsWhatIsSkipped(t *testing.T) {
	config := Config{Options: newFake(t), RunID: NewRunID(), Profile: Smoke}
	examination, err := Examine(t.Context(), config)
	require.NoError(t, err)
	require.NotNil(t, examination.Cluster)
	report, err := Run(t.Context(), config)
	require.NoError(t, err)
	require.Len(t, report.Results, len(examination.Scenarios))
	for i, x := range examination.Scenarios {
		require.Equal(t, x.ID, report.Results[i].ID)
		if x.Skipped != "" {
			require.Equal(t, x.Skipped, report.Results[i].Reason, x.ID)
		}
	}
	require.Positive(t, examination.Time())
	require.NotEmpty(t, examination.Rights())
}

func TestOutlineAsksNobody(t *testing.T) {
	outline, err := Outline(Config{Select: []string{"a"}})
	require.NoError(t, err)
	require.Nil(t, outline.Cluster)
	require.Equal(t, "A-01", outline.Scenarios[0].ID)
	_, err = Outline(Config{Select: []string{"Z-99"}})
	require.ErrorContains(t, err, `"Z-99"`)
}

// A required scenario is part of the run, whatever is selected.
func TestRequiredScenariosAreSelected(t *testing.T) {
	outline, err := Outline(Config{Select: []string{"A-01"}, Require: []string{"L-02"}})
	require.NoError(t, err)
	require.Len(t, outline.Scenarios, 2)
}

func TestProfilesContainOneAnotherButForTwo(t *testing.T) {
	for _, p := range []Profile{Destructive, Soak} {
		for _, of := range Profiles {
			require.Equal(t, p == of, p.includes(of), "%s of %s", p, of)
		}
	}
	require.True(t, Extended.includes(Smoke))
	require.True(t, Standard.includes(Standard))
	require.False(t, Standard.includes(Extended))
	require.False(t, Extended.includes(Destructive))
}

// Leftovers go by their whole names and their age; nothing else is touched.
func TestLeftoversAreFoundByNameAndAge(t *testing.T) {
	opts := newFake(t)
	admin := newAdmin(t, opts)
	old, young := runIDAt(time.Now().Add(-7*time.Hour)), NewRunID()
	for _, topic := range []string{
		"orders", "rcconf-orders", "rcconf-" + old, "rcconf-test0001-a-01-tv1-0",
		"rcconf-" + old + "-a-01-tv1-0", "rcconf-" + young + "-a-01-tv1-0",
	} {
		_, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic)
		require.NoError(t, err)
	}
	group := "rcconf-" + old + "-o-01-g1"
	offsets := kadm.Offsets{}
	offsets.AddOffset("orders", 0, 0, -1)
	_, err := admin.CommitOffsets(t.Context(), group, offsets)
	require.NoError(t, err)

	producer, err := kgo.NewClient(append(opts, kgo.TransactionalID("rcconf-"+old+"-A-01-TV1-x1"))...)
	require.NoError(t, err)
	defer producer.Close()
	require.NoError(t, producer.BeginTransaction())
	require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("open")}).FirstErr())

	l, err := FindLeftovers(t.Context(), opts, 6*time.Hour)
	require.NoError(t, err)
	defer l.Close()
	var found []string
	for _, f := range l.Found {
		found = append(found, f.Kind+" "+f.Name)
	}
	require.Equal(t, []string{
		"transactional ID rcconf-" + old + "-A-01-TV1-x1", "group " + group, "topic rcconf-" + old + "-a-01-tv1-0",
	}, found)
	require.Len(t, l.Younger, 1)
	require.Equal(t, young, l.Younger[0].RunID())

	require.Empty(t, l.Remove(t.Context()))
	topics, err := admin.ListTopics(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"orders", "rcconf-orders", "rcconf-" + old, "rcconf-test0001-a-01-tv1-0", "rcconf-" + young + "-a-01-tv1-0",
	}, topics.Names())
	again, err := FindLeftovers(t.Context(), opts, 6*time.Hour)
	require.NoError(t, err)
	defer again.Close()
	require.Empty(t, again.Found)
}

// A run on a cluster that goes away decides nothing more, ends, and passes
// nothing that it did not see.
func TestRunEndsWhenItsClusterDies(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer cluster.Close()
	var ended int
	report, err := Run(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, RunID: NewRunID(), Parallel: 1, Slow: 0.1,
		Select: []string{"L-01", "L-02", "A-01", "A-02"},
		Observe: func(e Event) {
			if e.Result != nil {
				if ended++; ended == 2 {
					cluster.Close()
				}
			}
		},
	})
	require.NoError(t, err)
	require.NotEmpty(t, report.Left)
	for _, r := range report.Results[2:] {
		require.Contains(t, []Outcome{Inconclusive, Skip}, r.Outcome, r.ID)
	}
	require.False(t, report.Judge(Terms{}).Judged())
}

// A cluster that answers garbage, or never, is an error and no report.
func TestBrokersThatSpeakNoKafkaAreNotJudged(t *testing.T) {
	for name, answer := range map[string]string{"garbage": "HTTP/1.1 400 Bad Request\r\n\r\n", "silence": ""} {
		t.Run(name, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					go func() {
						_, _ = conn.Read(make([]byte, 1024))
						_, _ = conn.Write([]byte(answer))
					}()
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			report, err := Run(ctx, Config{Options: []kgo.Opt{kgo.SeedBrokers(listener.Addr().String())}, RunID: NewRunID()})
			require.Error(t, err)
			require.Nil(t, report)
		})
	}
}
