package mutant

import "github.com/twmb/franz-go/pkg/kmsg"

// described are damages of what a cluster says of its transactions.
var described = []Mutant{
	{
		Number: 169, Name: "DescribeProducers knows no transaction", Kills: []string{"D-01"},
		Make: func() Damage { return Damage{Keys: []kmsg.Key{kmsg.DescribeProducers}, Response: hideStarts} },
	},
	{
		Number: 170, Name: "DescribeTransactions knows no transaction", Kills: []string{"D-02"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.DescribeTransactions}, Response: func(c *Call) {
				states := c.Response.(*kmsg.DescribeTransactionsResponse).TransactionStates
				for i := range states {
					states[i].State, states[i].Topics, states[i].StartTimestamp = "Empty", nil, -1
				}
			}}
		},
	},
	{
		Number: 171, Name: "ListTransactions filters nothing", Kills: []string{"D-03"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.ListTransactions}, Request: func(c *Call) {
				req := c.Request.(*kmsg.ListTransactionsRequest)
				req.StateFilters, req.ProducerIDFilters, req.DurationFilterMillis, req.TransactionalIDPattern = nil, nil, -1, nil
			}}
		},
	},
	{
		Number: 172, Name: "nobody is said to hold the last stable offset", Kills: []string{"D-04"}, Slow: 0.1,
		Make: func() Damage { return Damage{Keys: []kmsg.Key{kmsg.DescribeProducers}, Response: hideStarts} },
	},
}

func hideStarts(c *Call) {
	for _, t := range c.Response.(*kmsg.DescribeProducersResponse).Topics {
		for _, p := range t.Partitions {
			for i := range p.ActiveProducers {
				p.ActiveProducers[i].CurrentTxnStartOffset = -1
			}
		}
	}
}
