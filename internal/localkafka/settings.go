package localkafka

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
)

const (
	clientListener     = "PLAINTEXT"
	controllerListener = "CONTROLLER"
)

// settings are the broker's settings: small and quick where Kafka's defaults
// are made for production, then the caller's, which win.
func (n *Node) settings() map[string]string {
	nodes := len(n.cluster.nodes)
	count := strconv.Itoa(nodes)
	minISR := strconv.Itoa(min(nodes, 2))
	s := map[string]string{
		"auto.create.topics.enable":        "false",
		"broker.heartbeat.interval.ms":     "1000",
		"broker.session.timeout.ms":        "6000",
		"default.replication.factor":       count,
		"group.initial.rebalance.delay.ms": "0",
		"log.cleaner.backoff.ms":           "200",
		"log.cleaner.dedupe.buffer.size":   "4194304", // 128 MiB by default, taken at once
		"offsets.topic.num.partitions":     count,
		"offsets.topic.replication.factor": count,
		// How long a broker waits for a controller that is stopped but not dead:
		// half a minute by default, and producer IDs come from there.
		"request.timeout.ms":                           "10000",
		"replica.selector.class":                       "org.apache.kafka.common.replica.RackAwareReplicaSelector",
		"transaction.state.log.min.isr":                minISR,
		"transaction.state.log.num.partitions":         count,
		"transaction.state.log.replication.factor":     count,
		"share.coordinator.state.topic.min.isr":        minISR,
		"share.coordinator.state.topic.num.partitions": count,

		"share.coordinator.state.topic.replication.factor": count,
		// How often the coordinator looks for transactions past their timeout.
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
	}
	maps.Copy(s, n.identity())
	maps.Copy(s, n.cluster.config.Settings)
	return s
}

// identity are the settings that make this node a member of its cluster.
func (n *Node) identity() map[string]string {
	var voters []string
	for _, v := range n.cluster.nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", v.ID(), loopback(v.controllerPort)))
	}
	advertised := []string{clientListener + "://" + n.Addr()}
	protocols := []string{clientListener + ":PLAINTEXT", controllerListener + ":PLAINTEXT"}
	for _, name := range sortedKeys(n.cluster.config.Listeners) {
		advertised = append(advertised, name+"://"+n.extra[name])
		protocols = append(protocols, name+":"+n.cluster.config.Listeners[name])
	}
	controller := controllerListener + "://" + loopback(n.controllerPort)
	s := map[string]string{
		"advertised.listeners":           strings.Join(advertised, ","),
		"controller.listener.names":      controllerListener,
		"controller.quorum.voters":       strings.Join(voters, ","),
		"inter.broker.listener.name":     clientListener,
		"listener.security.protocol.map": strings.Join(protocols, ","),
		"listeners":                      strings.Join(append(advertised, controller), ","),
		"log.dirs":                       n.dataDir(),
		"node.id":                        strconv.Itoa(int(n.ID())),
		"process.roles":                  "broker,controller",
	}
	if n.index < len(n.cluster.config.Racks) && n.cluster.config.Racks[n.index] != "" {
		s["broker.rack"] = n.cluster.config.Racks[n.index]
	}
	return s
}

func (n *Node) writeFiles() error {
	if err := os.MkdirAll(n.dataDir(), 0o700); err != nil {
		return err
	}
	settings := n.settings()
	var b strings.Builder
	for _, key := range sortedKeys(settings) {
		fmt.Fprintf(&b, "%s=%s\n", key, escapeProperty(settings[key]))
	}
	return os.WriteFile(n.settingsFile(), []byte(b.String()), 0o600)
}

// escapeProperty writes a value the way java.util.Properties reads it back:
// a backslash escapes, a line break would end the value.
func escapeProperty(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(value)
}
