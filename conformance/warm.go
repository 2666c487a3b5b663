package conformance

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// coldStart bounds how long a cluster may take until it has coordinators: the
// first question for one makes it create its internal topics.
const coldStart = time.Minute

// warmUp waits until the cluster has coordinators, so that no scenario's time
// goes by with that. What else may be wrong with them is for scenarios to say.
func (r *run) warmUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(coldStart)*max(r.config.Slow, 1)))
	defer cancel()
	for _, kind := range []int8{ofTransaction, ofGroup} {
		for wait := pollPause; !r.coordinated(ctx, kind); wait = min(2*wait, 10*pollPause) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// coordinated reports whether a name of the run has a coordinator, or whether
// waiting is of no use.
func (r *run) coordinated(ctx context.Context, kind int8) bool {
	e := r.client.Do(ctx, wire.Bootstrap, "metadata", r.features.findCoordinator(r.config.Prefix()+"first", kind))
	if e.Err != nil {
		return true
	}
	code := e.Response.(*kmsg.FindCoordinatorResponse).ErrorCode
	return code == 0 || !passes(code)
}
