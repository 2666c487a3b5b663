package clientconf

import "strings"

// What to do instead of setting a property that means nothing here.
const (
	useGroup     = "give the group with -g GROUP"
	useFrom      = "--from says where to begin: start, end, OFFSET, -N or @TIME"
	noCommits    = "with -g what was printed is committed, without it nothing is"
	noProducing  = "it is a setting of producers"
	noSerializer = "records are printed as they are; -f or --output chooses the form"
	noLogging    = "there is no client log; -q makes less of stderr"
	noEffect     = "leave it out: it has no effect here"
)

// idleNames are the properties of librdkafka and of the Java client that have
// nothing to change here, with what to do instead.
var idleNames = func() map[string]string {
	names := make(map[string]string)
	for advice, list := range map[string]string{
		useGroup: `group.id`,
		useFrom:  `auto.offset.reset`,
		noCommits: `enable.auto.commit auto.commit.enable auto.commit.interval.ms enable.auto.offset.store
			offset.store.method offset.store.path offset.store.sync.interval.ms`,
		noProducing: `acks request.required.acks batch.size batch.num.messages linger.ms compression.type compression.codec
			compression.level buffer.memory retries message.send.max.retries max.in.flight.requests.per.connection
			max.in.flight enable.idempotence enable.gapless.guarantee transactional.id transaction.timeout.ms
			delivery.timeout.ms message.timeout.ms max.block.ms max.request.size message.max.bytes message.copy.max.bytes
			partitioner sticky.partitioning.linger.ms delivery.report.only.error dr_cb dr_msg_cb`,
		noSerializer: `key.serializer value.serializer key.deserializer value.deserializer specific.avro.reader`,
		noLogging:    `debug log_level log_cb error_cb stats_cb enabled_events`,
		noEffect: `group.instance.id group.protocol group.protocol.type group.remote.assignor
			session.timeout.ms heartbeat.interval.ms coordinator.query.interval.ms max.poll.interval.ms max.poll.records
			partition.assignment.strategy default.api.timeout.ms exclude.internal.topics allow.auto.create.topics
			check.crcs enable.partition.eof consume.callback.max.messages client.dns.lookup client.software.name
			client.software.version broker.address.ttl broker.address.family broker.version.fallback max.poll.wait.ms
			retry.backoff.ms retry.backoff.max.ms reconnect.backoff.ms reconnect.backoff.max.ms reconnect.backoff.jitter.ms
			send.buffer.bytes receive.buffer.bytes socket.connection.setup.timeout.max.ms builtin.features
			metadata.request.timeout.ms internal.termination.signal interceptor.classes metric.reporters
			auto.include.jmx.reporter enable.metrics.push config.providers opaque plugin.library.paths
			ssl.protocol ssl.provider ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.secure.random.implementation
			ssl.engine.location security.providers enable.sasl.oauthbearer.unsecure.jwt`,
	} {
		for name := range strings.FieldsSeq(list) {
			names[name] = advice
		}
	}
	return names
}()

// idlePrefixes are those of whole families of such properties.
var idlePrefixes = []struct{ prefix, advice string }{
	{"queue.buffering.", noProducing},
	{"partitioner.", noProducing},
	{"schema.registry.", noSerializer},
	{"basic.auth.", noSerializer},
	{"log.", noLogging},
	{"statistics.", noLogging},
	{"metrics.", noLogging},
	{"topic.", noEffect},
	{"queued.", noEffect},
	{"fetch.queue.", noEffect},
	{"fetch.error.", noEffect},
	{"socket.", noEffect},
	{"api.version.", noEffect},
	{"metadata.recovery.", noEffect},
	{"confluent.", noEffect},
	{"config.providers.", noEffect},
	{"sasl.kerberos.", noEffect}, // the mechanism decides, and it is refused
	{"sasl.oauthbearer.", noEffect},
	{"sasl.login.refresh.", noEffect},
	{"sasl.login.retry.", noEffect},
	{"sasl.login.connect.", noEffect},
	{"sasl.login.read.", noEffect},
}

// refusals are properties that would secure a connection in a way that is not
// at hand, or take credentials from somewhere else.
var refusals = map[string]string{
	"sasl.client.callback.handler.class": "classes cannot be loaded; PLAIN and SCRAM work without",
	"sasl.login.callback.handler.class":  "classes cannot be loaded; PLAIN and SCRAM work without",
	"sasl.login.class":                   "classes cannot be loaded; PLAIN and SCRAM work without",
	"ssl.engine.factory.class":           "classes cannot be loaded",
	"ssl.cipher.suites":                  "Go chooses the cipher suites; ssl.enabled.protocols can ask for TLSv1.3",
	"ssl.curves.list":                    "Go chooses the curves",
	"ssl.sigalgs.list":                   "Go chooses the signature algorithms",
	"ssl.crl.location":                   "revocation lists are not looked at",
	"ssl.engine.id":                      "keys in OpenSSL engines cannot be used",
	"ssl.providers":                      "keys in OpenSSL providers cannot be used",
	"ssl.ca.certificate.stores":          "without ssl.ca.location the system's authorities count",
}
