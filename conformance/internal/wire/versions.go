package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Range is the versions of one request that a broker announces, both inclusive.
type Range struct{ Min, Max int16 }

// Versions are the requests that a broker announces.
type Versions struct {
	Asked   int16 // the version of ApiVersions that the broker answered
	Keys    map[int16]Range
	Feature map[string]int16 // finalized features, such as transaction.version
}

// Has reports whether the broker announces a request at all.
func (v Versions) Has(key int16) bool {
	_, ok := v.Keys[key]
	return ok
}

// Max is the newest version of a request that broker and kmsg share, at most
// limit; -1 without one.
func (v Versions) Max(key, limit int16) int16 {
	r, ok := v.Keys[key]
	if !ok {
		return -1
	}
	newest := min(r.Max, kmsg.RequestForKey(key).MaxVersion(), limit)
	if newest < r.Min {
		return -1
	}
	return newest
}

// Allow reports whether a request may be sent. ApiVersions always may.
func (v Versions) Allow(key, version int16) bool {
	if key == int16(kmsg.ApiVersions) || v.Keys == nil && isLogin(key) {
		return true
	}
	r, ok := v.Keys[key]
	return ok && r.Min <= version && version <= r.Max
}

// Describe is the range of a request as text.
func (v Versions) Describe(key int16) string {
	r, ok := v.Keys[key]
	if !ok {
		return "none"
	}
	return fmt.Sprintf("v%d to v%d", r.Min, r.Max)
}

// TransactionVersion is the finalized level of transaction.version; 1 for a
// cluster that has transactions and no such feature.
func (v Versions) TransactionVersion() int16 {
	return max(v.Feature["transaction.version"], 1)
}

func isLogin(key int16) bool {
	return key == int16(kmsg.SASLHandshake) || key == int16(kmsg.SASLAuthenticate)
}

// versionsOf reads an answer to ApiVersions.
func versionsOf(resp *kmsg.ApiVersionsResponse) (Versions, error) {
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return Versions{}, err
	}
	v := Versions{Asked: resp.Version, Keys: map[int16]Range{}, Feature: map[string]int16{}}
	for _, k := range resp.ApiKeys {
		v.Keys[k.ApiKey] = Range{k.MinVersion, k.MaxVersion}
	}
	for _, f := range resp.FinalizedFeatures {
		v.Feature[f.Name] = f.MaxVersionLevel
	}
	return v, nil
}
