package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// stillThere ends the script if the log begins above an offset by now: what a
// reader gets there says nothing of the cluster then.
func (t *trial) stillThere(p model.Partition, offset int64) {
	if start := t.list(p, model.ReadUncommitted, earliest); start > offset {
		t.undecided("reading %s at %d: its log begins at %d by now", p, offset, start)
	}
}

// kept is the witness of every scenario that its records stayed until they were
// looked at. A log that begins higher than the script made it begin has lost
// some: rightly if the topic's settings say so, and then nothing is missed.
func (t *trial) kept(p model.Partition) {
	t.mu.Lock()
	at := t.placeLocked(p)
	start, deleted, cleaned := at.start, at.deleted, t.cleaned
	t.mu.Unlock()
	if cleaned || start <= deleted {
		return
	}
	if why := t.mayDelete(p.Topic); why != "" {
		t.witness(false, "the log of %s begins at %d by now: %s", p, start, why)
	}
}

// mayDelete is the setting of a topic for which the cluster may delete records
// by itself, "" if it has none.
func (t *trial) mayDelete(topic string) (why string) {
	for _, name := range []string{"retention.ms", "retention.bytes"} {
		var told *string
		t.guarded(func() {
			if t.run.features.has(kmsg.DescribeConfigs, 0) {
				told, _ = t.setting(wire.Bootstrap, kmsg.ConfigResourceTypeTopic, topic, name)
			}
		})
		switch {
		case told == nil:
			return "the cluster does not tell its " + name
		case *told != topicDefaults[name]:
			return fmt.Sprintf("its %s is %s", name, *told)
		}
	}
	return ""
}
