package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// connectError is the error of a cluster that cannot be reached, in words that
// say how far the client came.
func (a *app) connectError(seeds []string, err error) error {
	at := strings.Join(seeds, ",")
	switch {
	case isLogin(err), a.endedLogin(err):
		return fmt.Errorf("cannot log in at %s: %w", at, err)
	case isTLS(err):
		return fmt.Errorf("no TLS connection to %s: %w", at, err)
	case isForeign(err):
		return noKafka(seeds, err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("nothing came back in time: %w", err)
	}
	return fmt.Errorf("no broker answers at %s: %w", at, err)
}

// noKafka is the error of ports that speak something else.
func noKafka(seeds []string, err error) error {
	return &hintError{
		err:  fmt.Errorf("no Kafka at %s: %w", strings.Join(seeds, ","), err),
		hint: "look at the port and security.protocol: what answers there speaks another protocol, or TLS",
	}
}

// advice says what to look at after an error, "" if nobody knows.
func (a *app) advice(err error) string {
	for _, advise := range []func(error) string{a.rightAdvice, a.loginAdvice, a.certificateAdvice, a.networkAdvice} {
		if text := advise(err); text != "" {
			return text
		}
	}
	return ""
}

// user is whom the brokers know this client as.
func (a *app) user() string {
	switch {
	case a.config.User != "":
		return "user " + a.config.User
	case a.config.ClientCertificate:
		return "the user of the client's certificate"
	}
	return "the anonymous user"
}

// rightAdvice is about rights that are missing.
func (a *app) rightAdvice(err error) string {
	needs, demo := "", strings.HasSuffix(a.command, " demo")
	switch {
	case strings.HasPrefix(a.command, "rcc check") && isRight(err):
		needs = "the rights that rcc check plan lists"
	case errors.Is(err, kerr.TopicAuthorizationFailed) && demo:
		needs = "CREATE, DESCRIBE, WRITE, READ and DELETE on topics that begin with rcc-demo-"
	case errors.Is(err, kerr.GroupAuthorizationFailed) && demo:
		needs = "READ and DELETE on groups that begin with rcc-demo-"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		needs = "READ and DESCRIBE on the topic"
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		needs = "READ on the group"
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		needs = "WRITE on the transactional ID"
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		needs = "this operation on the cluster"
	default:
		return ""
	}
	return fmt.Sprintf("look at the ACLs: %s needs %s", a.user(), needs)
}

// isRight reports whether an error says that a right is missing.
func isRight(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) ||
		errors.Is(err, kerr.TransactionalIDAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
}

// loginAdvice is about SASL.
func (a *app) loginAdvice(err error) string {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Sprintf("look at the user name and password of %s; the brokers may know it for another mechanism than %s only", a.user(), a.config.Mechanism)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("look at sasl.mechanism: the brokers do not offer %s at this port", a.config.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return fmt.Sprintf("look at the port and security.protocol: this port takes no login, and %s asks for one", a.config.Protocol)
	case a.endedLogin(err):
		return fmt.Sprintf("look at the user name and password of %s, sasl.mechanism (%s) and security.protocol (%s)", a.user(), a.config.Mechanism, a.config.Protocol)
	}
	return ""
}

// endedLogin reports whether a broker hung up while the client logged in. Before
// that kgo has an error of its own for it.
func (a *app) endedLogin(err error) bool {
	_, before := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return a.config.SASL() && errors.Is(err, io.EOF) && !before
}

// certificateAdvice is about TLS.
func (a *app) certificateAdvice(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if a.config.Authorities != "" {
			return "look at " + a.config.Authorities + ": the brokers' certificates come from another authority"
		}
		return "the system's authorities count; give the cluster's own with ssl.ca.location"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use a host name that is in the brokers' certificates; ssl.endpoint.identification.algorithm=none checks everything else only"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "look at the dates of the brokers' certificates, and at this machine's clock"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "look at the port and security.protocol: what answers there does not speak TLS"
	}
	return a.alertAdvice(tlsAlert(err))
}

// alertAdvice is about what a broker says that refuses a TLS connection.
func (a *app) alertAdvice(alert string) string {
	switch {
	case alert == "":
		return ""
	case strings.Contains(alert, "protocol version"):
		return "look at ssl.enabled.protocols: the brokers want another version of TLS"
	case a.config.ClientCertificate:
		return "look at the client's certificate: the brokers do not accept it"
	}
	return "the brokers may want a client certificate: give ssl.keystore.location, or ssl.certificate.location and ssl.key.location"
}

// tlsAlert is the text of an alert that a broker sent, "" if there is none. The
// alert's type is not exported.
func tlsAlert(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return op.Err.Error()
	}
	return ""
}

// networkAdvice is about addresses, ports, and ports that speak something else.
func (a *app) networkAdvice(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if seeds, _ := a.seeds(); !slices.ContainsFunc(seeds, func(s string) bool { return strings.HasPrefix(s+":", dns.Name+":") }) {
			return "a broker names itself so (advertised.listeners); that name has to be known here"
		}
		return "look at the host name of the broker"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "look at host and port: nothing listens there"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(err.Error(), "appear to be a tls alert"):
		return a.hangUpAdvice(err)
	case isLate(err) && a.ports.answered.Load() && !isDial(err):
		return "look at the brokers and their logs: the cluster answered at first"
	case isLate(err) && a.ports.took(err):
		return "look at the port and security.protocol, and at the broker: it takes connections, and answers nothing"
	case isLate(err) && a.config.TLS():
		return "look at host and port: a firewall may be in between, or the port does not speak TLS"
	case isLate(err):
		return "look at host and port: a firewall may be in between"
	}
	return ""
}

// isLate reports whether an error says that time was over.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// hangUpAdvice is about brokers that hang up on a client at once.
func (a *app) hangUpAdvice(err error) string {
	look := "look at the port and security.protocol: "
	switch {
	case a.config.TLS() && strings.Contains(err.Error(), "dial"): // kgo's word for all that comes before TLS stands
		return look + "it may not speak TLS, and " + a.config.Protocol + " wants it"
	case a.config.TLS() && !a.config.SASL():
		return look + "it may want a login (SASL_SSL) or a client certificate"
	case a.config.TLS():
		return look + "it may want a client certificate"
	case a.config.SASL():
		return look + "it may want TLS (SASL_SSL)"
	}
	return look + "it may want TLS or a login (SSL, SASL_SSL or SASL_PLAINTEXT)"
}
