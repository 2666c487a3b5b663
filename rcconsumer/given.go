package rcconsumer

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Opts returns the options that were given to [New], kgo's and ours. They make
// another Consumer; to kgo.NewClient ours mean nothing.
func (c *Consumer) Opts() []kgo.Opt { return slices.Clone(c.cfg.opts) }

// OptValue returns the value of an option, as kgo.Client.OptValue does. opt is
// the function that makes the option, kgo's or this package's, or its name; nil
// for an option that nobody knows.
//
// It is what was given to [New], or the default, and for the limits that
// [Consumer.UpdateFetchMaxBytes] replaces what is in force: the client underneath has other
// values for some, since it reads nothing itself. So the isolation level is 1
// unless it was set; a callback is the function over *Consumer that this
// package's option was given, a nil one if none; hooks are kgo's and ours in one
// list.
func (c *Consumer) OptValue(opt any) any {
	if values := c.OptValues(opt); len(values) > 0 {
		return values[0]
	}
	return nil
}

// OptValues returns all values of an option, as kgo.Client.OptValues does; see
// [Consumer.OptValue].
func (c *Consumer) OptValues(opt any) []any {
	name := optionName(opt)
	if v, ours := c.cfg.ownValue(name); ours {
		return []any{v}
	}
	switch name {
	case "WithContext": // the one there ended when the options had been read
		return c.cl.OptValues(name)
	case "FetchMaxBytes": // UpdateFetchMaxBytes changes it
		return []any{c.limits.answer.Load()}
	case "FetchMaxPartitionBytes":
		return []any{c.limits.partition.Load()}
	default:
		return c.cfg.given.OptValues(name)
	}
}

// ownValue is the value of an option that kgo does not know, or not as we do.
func (c *config) ownValue(name string) (v any, ours bool) {
	switch name {
	case "OnPartitionsAssigned":
		return c.assigned, true
	case "OnPartitionsRevoked":
		return c.revoked, true
	case "OnPartitionsLost":
		return c.lost, true
	case "OnPartitionsCallbackBlocked":
		return c.blocked, true
	case "OnOffsetsFetched":
		return c.fetched, true
	case "AutoCommitCallback":
		return c.committed, true
	case "WithHooks":
		return slices.Clone(c.allHooks), true
	case "BufferBytes":
		return c.bufferBytes, true
	case "ReturnOnProgress":
		return c.returnOnProgress, true
	case "WithSlog":
		return c.slog, true
	case "OnAnomalyDo":
		return c.anomalyPolicy, true
	case "CommitThroughMarkers":
		return !c.commitRecordsOnly, true
	case "StableOffsetInterval":
		return c.stableInterval, true
	case "MaxPollInterval":
		return c.maxPollInterval, true
	case "BlockedAfter":
		return c.blockedAfter, true
	case "ReadUncommitted":
		return c.readUncommitted, true
	default:
		return nil, false
	}
}

// optionName is the name of an option's function, which is how kgo tells them
// apart too.
func optionName(opt any) string {
	if name, ok := opt.(string); ok {
		return name
	}
	v := reflect.ValueOf(opt)
	if v.Kind() != reflect.Func || v.IsNil() {
		return ""
	}
	name := runtime.FuncForPC(v.Pointer()).Name()
	return name[strings.LastIndexByte(name, '.')+1:]
}
