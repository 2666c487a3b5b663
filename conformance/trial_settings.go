package conformance

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// brokerSetting is a numeric setting of a broker; ok is false if the cluster
// does not tell it, and withheld says that it takes a right to be told.
func (t *trial) brokerSetting(broker int32, name string) (value int64, ok, withheld bool) {
	if t.run.features.max(kmsg.DescribeConfigs, 4) < 0 {
		return 0, false, false
	}
	told, e := t.setting(broker, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker)), name)
	if e.Err != nil {
		return 0, false, false
	}
	if told == nil {
		return 0, false, slices.ContainsFunc(e.Response.(*kmsg.DescribeConfigsResponse).Resources, func(r kmsg.DescribeConfigsResponseResource) bool {
			return refusal(r.ErrorCode) == ReasonNotAuthorized
		})
	}
	value, err := strconv.ParseInt(*told, 10, 64)
	return value, err == nil, false
}

// topicSetting is a setting of a topic as it is in force. Where the cluster
// does not tell it, it is as good as refused, and the script ends.
func (t *trial) topicSetting(topic, name string) string {
	told, e := t.setting(wire.Bootstrap, kmsg.ConfigResourceTypeTopic, topic, name)
	if e.Err != nil {
		t.broken("describe the settings of "+topic, e)
	}
	for _, r := range e.Response.(*kmsg.DescribeConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			t.declined("describe the settings of "+topic, e.Request, r.ErrorCode)
		}
	}
	if told == nil {
		t.fact("the cluster does not tell %s of a topic", name)
		t.skip(ReasonRefused, "the cluster does not tell "+name+" of a topic")
	}
	return *told
}

// otherSetting ends the script: a topic did not get the setting that was asked
// for.
func (t *trial) otherSetting(name, told, asked string) {
	what := fmt.Sprintf("%s of a new topic is %s where %s was asked for", name, told, asked)
	t.fact("%s", what)
	t.skip(ReasonRefused, what)
}

// setting asks a broker for a setting of a resource, nil if it does not tell.
func (t *trial) setting(broker int32, kind kmsg.ConfigResourceType, of, name string) (value *string, e *wire.Exchange) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = t.version(kmsg.DescribeConfigs, 4)
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, of, []string{name}
	req.Resources = append(req.Resources, resource)
	e = t.do(broker, "admin", req)
	if e.Err != nil {
		return nil, e
	}
	for _, r := range e.Response.(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			if r.ErrorCode == 0 && c.Name == name {
				value = c.Value
			}
		}
	}
	return value, e
}
