package conformance

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// Scripts of family P about versions of requests.

// toldKeys are the requests whose versions P-01 records: those that decide what
// can be judged.
var toldKeys = []kmsg.Key{
	kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.OffsetFetch, kmsg.InitProducerID, kmsg.AddPartitionsToTxn,
	kmsg.AddOffsetsToTxn, kmsg.EndTxn, kmsg.WriteTxnMarkers, kmsg.TxnOffsetCommit, kmsg.DeleteRecords,
	kmsg.DescribeProducers, kmsg.DescribeTransactions, kmsg.ListTransactions,
}

// capabilities is P-01.
func capabilities(t *trial) {
	f := t.run.features
	t.witness(len(f.brokers) > 0, "no broker")
	t.fact("%d brokers, transactions up to %s (transaction.version %d)", len(f.brokers), f.newest, f.versions.TransactionVersion())
	for _, key := range toldKeys {
		t.fact("%s: %s", key.Name(), f.versions.Describe(int16(key)))
	}
	t.limits()
}

// toldLimits are settings of a broker that bound what scenarios can do.
var toldLimits = []string{
	"transaction.max.timeout.ms", "transaction.abort.timed.out.transaction.cleanup.interval.ms", "transactional.id.expiration.ms",
	"transaction.partition.verification.enable", "message.max.bytes", "log.segment.bytes", "replica.lag.time.max.ms",
}

// limits records the settings of one broker, where it tells them.
func (t *trial) limits() {
	if len(t.run.features.brokers) == 0 || !t.run.features.has(kmsg.DescribeConfigs, 0) {
		t.fact("the brokers do not tell their settings: no DescribeConfigs")
		return
	}
	broker := t.run.features.brokers[0]
	t.controller() // learns the addresses
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = t.version(kmsg.DescribeConfigs, anyVersion)
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeBroker, fmt.Sprint(broker)
	req.Resources = append(req.Resources, resource)
	e := t.do(broker, "admin", req)
	if e.Err != nil {
		t.fact("the brokers do not tell their settings: %v", e.Err)
		return
	}
	for _, r := range e.Response.(*kmsg.DescribeConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			t.fact("the brokers do not tell their settings: %s", codeName(r.ErrorCode))
		}
		for _, c := range r.Configs {
			if slices.Contains(toldLimits, c.Name) && c.Value != nil {
				t.fact("%s=%s", c.Name, *c.Value)
			}
		}
	}
}

// newestAsked is the version of ApiVersions that a connection asks in first.
const newestAsked = 4

// versionFallback is P-16.
func versionFallback(t *trial) {
	conn, err := t.client.Conn(t.ctx, wire.Bootstrap, "metadata")
	if err != nil {
		t.undecided("connecting: %v", err)
	}
	t.witness(true, "")
	asked := min(conn.Versions().Asked, t.run.features.versions.Asked)
	t.fact("ApiVersions v%d is answered", asked)
	if asked < newestAsked {
		t.fact("above v%d it is not, up to v%d: the connection is cut, or nobody can read the answer", asked, newestAsked)
	}
}

// versionSweep is P-06.
func versionSweep(t *trial) {
	l := t.interleaved()
	w := t.producer()
	w.write(l.p, 1)
	if !t.settleTo(l.p, 6) {
		t.undecided("the last stable offset of %s is not at the open transaction", l.p)
	}
	log := t.oracle(l.p)
	for version := range t.sharedVersions(kmsg.Fetch, 4, t.fetchLimit(l.p)) {
		t.sweepFetch(l, log, version)
	}
	for version := range t.sharedVersions(kmsg.ListOffsets, 2, anyVersion) {
		t.sweepList(l.p, version)
	}
	w.commit()
}

// sweepList asks for the bounds of the log of P-06 in one version.
func (t *trial) sweepList(p model.Partition, version int16) {
	for _, want := range []struct {
		isolation       int8
		timestamp, want int64
	}{
		{model.ReadUncommitted, latest, 7},
		{model.ReadCommitted, latest, 6},
		{model.ReadUncommitted, earliest, 0},
		{model.ReadCommitted, earliest, 0},
	} {
		got := t.listedIfEver(p, want.isolation, want.timestamp, version)
		ok := t.expect(got.ok() && got.offset == want.want, p, got.offset,
			fmt.Sprintf("ListOffsets v%d, isolation level %d, timestamp %d: %d", version, want.isolation, want.timestamp, want.want), got.String())
		if !ok && !got.ok() {
			return // the others would say the same, and take long
		}
	}
}

// listedIfEver is what a version of ListOffsets answers: an error only if the
// newest version has an offset, again and again, and this one never does. An
// error that came and went leaves the script undecided.
func (t *trial) listedIfEver(p model.Partition, isolation int8, timestamp int64, version int16) (a listed) {
	refused := ""
	for range shownEnough {
		if a = t.tryListAt(p, isolation, timestamp, version); a.ok() {
			break
		}
		refused = a.String()
		t.list(p, isolation, timestamp)
		t.pause(retryPause, "an offset of "+p.String())
	}
	if a.ok() && refused != "" {
		t.undecided("list offsets of %s in v%d: %s, and then an offset", p, version, refused)
	}
	return a
}

// sharedVersions are the versions of a request from least to limit that all
// brokers and the checker have.
func (t *trial) sharedVersions(key kmsg.Key, least, limit int16) func(func(int16) bool) {
	from := max(least, t.run.features.versions.Keys[int16(key)].Min)
	to := t.version(key, limit)
	return func(yield func(int16) bool) {
		for v := from; v <= to && yield(v); v++ {
		}
	}
}

// sweepFetch reads the log of P-06 in one version.
func (t *trial) sweepFetch(l interleavedLog, log *model.Log, version int16) {
	how := fmt.Sprintf("Fetch v%d", version)
	all := t.answers(l.p, 0, 7, fetchSpec{isolation: model.ReadUncommitted, version: version})
	t.wantBatches(log, 7, model.ReadUncommitted, how, batchesOf(all))
	stable := t.answers(l.p, 0, 6, fetchSpec{isolation: model.ReadCommitted, version: version})
	t.wantBatches(log, 6, model.ReadCommitted, how, batchesOf(stable))
	for _, a := range stable {
		t.wantLSO(a, 6)
		t.wantHigh(a, 7)
		if version >= 5 { // older ones do not carry it
			t.expect(a.LogStartOffset == 0, l.p, a.LogStartOffset, how+": log start offset 0", fmt.Sprint(a.LogStartOffset))
		}
	}
	want, got := []model.Entry{{ProducerID: l.aborted, FirstOffset: 2}}, entriesOf(stable)
	if batchAt(batchesOf(stable), 2) == nil && len(got) == 0 {
		want = nil // the broker keeps aborted batches to itself
	}
	t.expect(slices.Equal(got, want), l.p, 2, how+": aborted "+model.ListString(want), "aborted "+model.ListString(got))
	t.wantOffsets(l.p, how+" at read_committed: delivered", t.deliveredIn(stable), []int64{0, 1, 3})
}
