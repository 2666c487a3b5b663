package rcconsumer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// refusedOptions names the options that are set and that this consumer cannot
// honour, each with what to do instead. Ignoring one in silence would change
// what a service relies on.
func refusedOptions(cl *kgo.Client) []string {
	var names []string
	refuse := func(set bool, why string) {
		if set {
			names = append(names, why)
		}
	}
	share := value[string](cl, kgo.ShareGroup) != "" // the options for it alone are refused by kgo
	refuse(share, "ShareGroup: share groups have no read position to filter for; use kgo itself")
	refuse(share && value[int32](cl, kgo.ShareMaxRecords) != -1, "ShareMaxRecords: use kgo itself for share groups")
	refuse(value[bool](cl, kgo.ShareMaxRecordsStrict), "ShareMaxRecordsStrict: use kgo itself for share groups")
	refuse(value[func(*kgo.Client, kgo.ShareAckResults)](cl, kgo.ShareAckCallback) != nil, "ShareAckCallback: use kgo itself for share groups")
	refuse(value[kgo.PreferLagFn](cl, kgo.ConsumePreferringLagFn) != nil,
		"ConsumePreferringLagFn: partitions take turns here; leave it out")
	refuse(value[int](cl, kgo.MaxConcurrentFetches) == 0 && !value[bool](cl, kgo.ShareMaxRecordsStrict), // which sets it
		"MaxConcurrentFetches(0): fetching only while polling is not supported; use BufferBytes to bound memory")
	return names
}

// compile checks the configuration as a whole and prepares patterns.
func (c *config) compile() error {
	if len(c.refused) > 0 {
		return fmt.Errorf("options that this consumer cannot honour: %s", strings.Join(c.refused, "; "))
	}
	if err := c.checkCallbacks(); err != nil {
		return err
	}
	if !c.regex || c.group != "" { // a group's patterns are kgo's to match
		return nil
	}
	var err error
	if c.include, err = compileAll(c.topics); err != nil {
		return fmt.Errorf("ConsumeTopics: %w", err)
	}
	if c.exclude, err = compileAll(c.excluded); err != nil {
		return fmt.Errorf("ConsumeExcludeTopics: %w", err)
	}
	return nil
}

func compileAll(patterns []string) ([]*regexp.Regexp, error) {
	all := make([]*regexp.Regexp, 0, len(patterns))
	for _, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return all, nil
}

// matches reports whether a pattern subscription includes the topic.
func (c *config) matches(topic string) bool {
	return anyMatch(c.include, topic) && !anyMatch(c.exclude, topic)
}

func anyMatch(res []*regexp.Regexp, s string) bool {
	for _, re := range res {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}
