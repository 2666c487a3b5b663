package clientconf

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The names that settings are looked up by. Others that mean the same are in
// synonyms.
const (
	bootstrapServers = "bootstrap.servers"
	clientID         = "client.id"
	clientRack       = "client.rack"
	isolationLevel   = "isolation.level"

	securityProtocol = "security.protocol"
	saslMechanism    = "sasl.mechanism"
	saslUsername     = "sasl.username"
	saslPassword     = "sasl.password"
	saslJaasConfig   = "sasl.jaas.config"

	caLocation             = "ssl.ca.location"
	caPEM                  = "ssl.ca.pem"
	truststoreLocation     = "ssl.truststore.location"
	truststoreCertificates = "ssl.truststore.certificates"
	truststoreType         = "ssl.truststore.type"
	truststorePassword     = "ssl.truststore.password"

	certificateLocation = "ssl.certificate.location"
	certificatePEM      = "ssl.certificate.pem"
	keyLocation         = "ssl.key.location"
	keyPEM              = "ssl.key.pem"
	keyPassword         = "ssl.key.password"
	keystoreLocation    = "ssl.keystore.location"
	keystoreChain       = "ssl.keystore.certificate.chain"
	keystoreKey         = "ssl.keystore.key"
	keystoreType        = "ssl.keystore.type"
	keystorePassword    = "ssl.keystore.password"

	verification     = "enable.ssl.certificate.verification"
	nameCheck        = "ssl.endpoint.identification.algorithm"
	enabledProtocols = "ssl.enabled.protocols"
)

// used are the names that have an effect, with those of tunings.
var used = func() map[string]bool {
	names := make(map[string]bool)
	for _, name := range []string{
		bootstrapServers, clientID, clientRack, isolationLevel,
		securityProtocol, saslMechanism, saslUsername, saslPassword, saslJaasConfig,
		caLocation, caPEM, truststoreLocation, truststoreCertificates, truststoreType, truststorePassword,
		certificateLocation, certificatePEM, keyLocation, keyPEM, keyPassword,
		keystoreLocation, keystoreChain, keystoreKey, keystoreType, keystorePassword,
		verification, nameCheck, enabledProtocols,
	} {
		names[name] = true
	}
	for _, t := range tunings {
		names[t.name] = true
	}
	return names
}()

// synonyms are other names of used ones: librdkafka's and Java's differ.
var synonyms = map[string]string{
	"metadata.broker.list":    bootstrapServers,
	"sasl.mechanisms":         saslMechanism,
	"fetch.wait.max.ms":       "fetch.max.wait.ms",
	"fetch.message.max.bytes": "max.partition.fetch.bytes",
	"socket.timeout.ms":       "request.timeout.ms",
}

// secrets are the names whose values nobody else may read.
var secrets = []string{saslPassword, saslJaasConfig, keyPEM, keyPassword, keystoreKey, keystorePassword, truststorePassword}

// kind is what becomes of a property.
type kind int

const (
	unknown kind = iota
	effective
	idle    // nothing that it could change; harmless in a file that others read too
	refused // to leave it out would change what the user relies on
)

// classify says what becomes of a property: the name that it is looked up by if
// it is effective, else what to do instead.
func classify(key string) (k kind, name, advice string) {
	if name, ok := synonyms[key]; ok {
		key = name
	}
	if used[key] {
		return effective, key, ""
	}
	if advice, ok := refusals[key]; ok {
		return refused, "", advice
	}
	if advice, ok := idleNames[key]; ok {
		return idle, "", advice
	}
	for _, p := range idlePrefixes {
		if strings.HasPrefix(key, p.prefix) && likeAName.MatchString(key) {
			return idle, "", p.advice
		}
	}
	return unknown, "", ""
}

// likeAName matches what may be shown of a key that is not known. Base64 and
// most of what makes a password good do not look like this.
var likeAName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,30}(\.[a-z][a-z0-9_-]{0,30}){1,7}$`)

// knownKey is a key that is known, "" for another one.
func knownKey(key string) string {
	if k, _, _ := classify(key); k != unknown {
		return key
	}
	return ""
}

// shownKey is a key as an error may show it, "" if it may not.
func shownKey(key string) string {
	if likeAName.MatchString(key) {
		return key
	}
	return knownKey(key)
}

// knownNames are all names that are not unknown, for suggestions.
func knownNames() []string {
	names := slices.Collect(maps.Keys(used))
	for _, more := range []map[string]string{synonyms, refusals, idleNames} {
		names = slices.AppendSeq(names, maps.Keys(more))
	}
	slices.Sort(names)
	return names
}
