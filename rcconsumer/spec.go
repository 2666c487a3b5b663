package rcconsumer

import (
	"encoding/json"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What kgo.Offset shows of its kinds through EpochOffset.
const (
	atEnd       = -1
	atStart     = -2
	atLookback  = -997
	atRewind    = -998
	atCommitted = -999

	// Not kgo's:
	atAssigned = -1000 // where the group will say
	atNowhere  = -1001 // where a seek will say
)

// offsetSpec is a kgo.Offset taken apart: where to start, or where to go after
// a loss.
type offsetSpec struct {
	at       int64 // an offset, a millisecond timestamp if byTime, or one of the constants above
	relative int64 // added to at, in offsets
	epoch    int32 // leader epoch of the record before at; -1 unknown
	byTime   bool  // at is a timestamp, in milliseconds since the Unix epoch
	noReset  bool  // an offset out of range is fatal for the partition
	lookback time.Duration
}

// exact reports whether the spec names one offset, and which.
func (s offsetSpec) exact() (int64, bool) {
	if s.byTime || s.at < 0 {
		return 0, false
	}
	return max(0, added(s.at, s.relative)), true
}

// added is the sum of an offset and a distance, or the last offset there is.
func added(offset, distance int64) int64 {
	if distance > 0 && offset > math.MaxInt64-distance {
		return math.MaxInt64
	}
	return offset + distance
}

// specOf takes o apart. kgo.Offset is opaque but comparable, so a property is
// read by deriving from o the value that has it and comparing: two values that
// agree in all else are equal only if o had the property already.
func specOf(o kgo.Offset) offsetSpec {
	eo := o.EpochOffset()
	s := offsetSpec{at: eo.Offset, epoch: eo.Epoch}
	s.relative, s.lookback = hiddenFields(o)
	switch {
	case s.at == atCommitted && o == o.AtCommitted():
		s.noReset = true
	case s.at == atRewind && o == kgo.RewindOffset(s.lookback):
	case s.at == atLookback && o == kgo.LookbackOffset(s.lookback):
	default:
		s.byTime = o == o.AfterMilli(s.at)
		if s.byTime {
			s.noReset = o == o.AtCommitted().AfterMilli(s.at)
		} else {
			s.noReset = o == o.AtCommitted().At(s.at)
		}
	}
	return s
}

// hiddenFields reads what only the JSON form of an offset shows.
func hiddenFields(o kgo.Offset) (relative int64, lookback time.Duration) {
	var f struct {
		Relative int64
		Lookback string
	}
	if b, err := json.Marshal(o); err == nil {
		_ = json.Unmarshal(b, &f) // kgo's own output; a change of its form is caught by TestSpecOf
	}
	lookback, _ = time.ParseDuration(f.Lookback)
	return f.Relative, lookback
}
