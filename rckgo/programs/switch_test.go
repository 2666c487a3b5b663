package programs

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// A group may go from kgo to rckgo and back at any time: each goes on where the
// other one ended, and kgo stays where rckgo committed past what no reader sees.
func TestGroupSwitchesBackAndForth(t *testing.T) {
	service := program{name: "service", group: true}
	built := build(t, service)
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, cluster *kafkatest.Cluster) {
		log := fill(t, cluster)
		group := kafkatest.Name(t)
		turn := func(f form, records int, quiet string) output {
			args := append(service.args(log, group, ""), "-records", strconv.Itoa(records), "-quiet", quiet)
			return run(t, built.path(f, service.name), args...)
		}
		whole := output{records: map[string][]string{}}
		for _, f := range []form{formKgo, formRckgo, formKgo, formRckgo} {
			part := turn(f, 30, "0s")
			t.Logf("%s went on with %d records", f, part.count())
			require.GreaterOrEqual(t, part.count(), 30)
			whole.add(part)
		}
		whole.add(turn(formKgo, log.count()-whole.count(), "400ms"))
		require.Equal(t, log.lines(), whole.records, "records that both printed in turn")
		require.Positive(t, log.lag(t, group), "lag after kgo read the rest")

		require.Zero(t, turn(formRckgo, 0, "400ms").count(), "records that nobody had read")
		require.Zero(t, log.lag(t, group), "lag after rckgo came again")
		require.Zero(t, turn(formKgo, 0, "400ms").count(), "records that nobody had read")
		require.Zero(t, log.lag(t, group), "lag after kgo came back")
	})
}

// add appends what was printed later.
func (o output) add(later output) {
	for key, lines := range later.records {
		o.records[key] = append(o.records[key], lines...)
	}
}
