package conformance

import (
	"example.com/readcommitted/conformance/internal/model"
)

// expectClient is expect for what a reader under judgement does. A miss is a
// finding about the reader, and never about the cluster.
func (t *trial) expectClient(c Client, ok bool, p model.Partition, offset int64, expected, observed string) {
	if !ok {
		t.weighReader(OfClient(c.Name()), t.scenario.Class, p, offset, expected, observed)
	}
}

// Scenarios that are about something else may have readers read what they
// wrote. This is what is asked of these then.
const (
	readerRequirement = "a reader hands out exactly what its isolation level shows of the log, in order, with its bytes"
	readerConsequence = "applications work on aborted records, or never see committed ones"
)

// weighReader reports a finding that came from reading with clients, about one
// of them or about the cluster that misled them. It weighs as a class says; if
// that is not the scenario's, the requirement is not, either.
func (t *trial) weighReader(subject Subject, class Class, p model.Partition, offset int64, expected, observed string) {
	f := Finding{
		Subject: subject, Requirement: t.scenario.Requirement, Consequence: t.scenario.Consequence,
		Topic: p.Topic, Partition: p.Index, Offset: offset,
		Expected: expected, Observed: observed,
	}
	if t.scenario.Family() != "C" || t.scenario.Class != class {
		f.Requirement, f.Consequence = readerRequirement, readerConsequence
	}
	t.weigh(class, f)
}
