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
	limit := max(coldStart, r.bound(coldStart)) // starting takes its time for whoever is in a hurry too
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, kind := range []int8{ofTransaction, ofGroup} {
		find := r.features.findCoordinator(r.config.Prefix()+"first", kind)
		_ = r.untilTaken(ctx, limit, func() (int16, error) {
			e := r.client.Do(ctx, wire.Bootstrap, "metadata", find)
			if e.Err != nil {
				return 0, e.Err
			}
			return e.Response.(*kmsg.FindCoordinatorResponse).ErrorCode, nil
		})
	}
}
