package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/conformance/internal/history"
)

// How long a smaller plan is looked for, and how often one is tried: what
// depends on time does not fail always.
const (
	shrinkTime  = 20 * time.Second
	shrinkTries = 3
)

// shrunk is the plan as a finding shows it: the smallest that was found to fail
// in the same way, "" if nothing failed.
func (x *randomRun) shrunk() string {
	found, _ := x.check.Anomalies()
	found = slices.DeleteFunc(found, func(a history.Anomaly) bool { return clientOf(a.Reader) != "" })
	if len(found) == 0 || x.t.run.config.noShrinking {
		return planShown(x.plan)
	}
	deadline := time.Now().Add(x.t.bound(shrinkTime))
	tried := 0
	small := history.Shrink(x.done(), history.Often(1, shrinkTries, func(p history.Plan) bool {
		if time.Now().After(deadline) || x.t.ctx.Err() != nil {
			return false
		}
		tried++
		return x.t.failsAs(p, found[0].Kind)
	}))
	return fmt.Sprintf("%s (%d of %d transactions, after %d tries to do with fewer)",
		planShown(small), small.Transactions(), x.plan.Transactions(), tried)
}

// failsAs carries out a plan and reports whether an anomaly of a kind comes of
// it.
func (t *trial) failsAs(p history.Plan, kind history.Kind) bool {
	var x *randomRun
	t.guarded(func() {
		x = t.history(p)
		x.carryOut(nil)
		if !x.broken() {
			x.reread(rereadGlance)
		}
	})
	if x == nil {
		return false
	}
	found, _ := x.check.Anomalies()
	return slices.Contains(history.Signature(found), kind)
}

// planLength bounds a plan in a line of evidence.
const planLength = 600

func planShown(p history.Plan) string {
	text := strings.ReplaceAll(strings.TrimSpace(p.String()), "\n", "; ")
	if len(text) > planLength {
		return fmt.Sprintf("%d transactions of %d producers, too many to show", p.Transactions(), len(p.Actors))
	}
	return text
}
