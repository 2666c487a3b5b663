package conformance

import (
	"maps"
	"time"
)

// Conditions are what a report was made under: they decide what its verdicts are
// worth.
type Conditions struct {
	Slow        float64           `json:"slow"` // scales every bound on time
	Parallel    int               `json:"parallel"`
	MaxTime     time.Duration     `json:"max_time_ns,omitempty"`
	TopicConfig map[string]string `json:"topic_config,omitempty"`
	ReuseTopics bool              `json:"reuse_topics"`
	AllowAdmin  bool              `json:"allow_admin"`
	Hook        bool              `json:"hook"`
	Clients     []string          `json:"judged_clients,omitempty"` // by name
}

// DefaultParallel is how many scenarios run at once where nobody says.
const DefaultParallel = 8

func (c *Config) conditions() Conditions {
	out := Conditions{
		Slow: c.Slow, Parallel: c.Parallel, MaxTime: c.MaxTime, TopicConfig: maps.Clone(c.TopicConfig),
		ReuseTopics: c.ReuseTopics, AllowAdmin: c.AllowAdmin, Hook: c.Hook != nil,
	}
	for _, client := range c.Clients {
		out.Clients = append(out.Clients, client.Name())
	}
	return out
}
