package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/history"
	"example.com/readcommitted/conformance/internal/netfault"
)

// faultKinds are the faults of plans as the network has them.
var faultKinds = map[history.Fault]netfault.Kind{
	history.Delay: netfault.Delay, history.Stall: netfault.Stall, history.Drop: netfault.Drop,
	history.Cut: netfault.Cut, history.Late: netfault.Late,
}

// faultKeys are the requests of steps.
var faultKeys = map[history.Step]kmsg.Key{
	history.OnAdd: kmsg.AddPartitionsToTxn, history.OnWrite: kmsg.Produce,
	history.OnEnd: kmsg.EndTxn, history.OnBegin: kmsg.InitProducerID,
}

// arm has the plan's fault meet the next request of a step.
func (a *actor) arm(plan history.Txn, step history.Step) {
	if a.t.network != nil && plan.Fault != history.NoFault && plan.On == step {
		a.t.network.Arm(int16(faultKeys[step]), a.name, netfault.Fault{Kind: faultKinds[plan.Fault], Wait: plan.Wait})
	}
}

// disarm takes back a fault whose request was not sent.
func (a *actor) disarm() {
	if a.t.network != nil {
		a.t.network.Disarm(a.name)
	}
}

// readerFaults are what readers under judgement meet, one in some fetches.
var readerFaults = []netfault.Fault{
	{Kind: netfault.Drop},
	{Kind: netfault.Stall, Wait: 150 * time.Millisecond},
	{Kind: netfault.Cut},
	{Kind: netfault.Delay, Wait: 80 * time.Millisecond},
}

// readerFaultOneIn is how many of their fetches one is that fails.
const readerFaultOneIn = 6

// readerNetwork is the network of readers under judgement; nil where all works.
func (x *randomRun) readerNetwork() *netfault.Network {
	if !x.wild {
		return nil
	}
	n := netfault.New(x.t.run.wire.Dial)
	n.Every(int16(kmsg.Fetch), readerFaultOneIn, readerFaults...)
	return n
}
