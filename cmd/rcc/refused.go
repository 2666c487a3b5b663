package main

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
)

// refusals keeps the first error that says that no broker will let this client
// in again: a password that was changed, a certificate that ended. The consumer
// itself goes on trying, as a service should; a command has to say so and end.
// It is a hook of the consumer. A nil one has heard of nothing.
type refusals struct {
	mu    sync.Mutex
	first error
	wake  context.CancelFunc // of the poll that waits for records, if one does
}

// OnFetchError implements [rcconsumer.HookFetchError].
func (r *refusals) OnFetchError(_ string, _ int32, err error) {
	if !isLogin(err) && !isTLS(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = err
	}
	if r.wake != nil {
		r.wake()
	}
}

// wakes makes a refusal call wake, until the returned function is called. One
// that came before calls it at once.
func (r *refusals) wakes(wake context.CancelFunc) (asleep func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake = wake
	if r.first != nil {
		wake()
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wake = nil
	}
}

func (r *refusals) err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// isLogin reports whether a broker refused to log the client in.
func isLogin(err error) bool {
	return errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.Is(err, kerr.IllegalSaslState)
}

// isTLS reports whether one side did not accept the other's certificate, or TLS
// at all.
func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	return tlsAlert(err) != ""
}
