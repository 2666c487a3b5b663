package conformance

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerSetting is a numeric setting of a broker; ok is false if the cluster
// does not tell it.
func (t *trial) brokerSetting(broker int32, name string) (value int64, ok bool) {
	version := t.run.features.max(kmsg.DescribeConfigs, 4)
	if version < 0 {
		return 0, false
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeBroker
	resource.ResourceName = strconv.Itoa(int(broker))
	resource.ConfigNames = []string{name}
	req.Resources = append(req.Resources, resource)
	e := t.do(broker, "admin", req)
	if e.Err != nil {
		return 0, false
	}
	for _, r := range e.Response.(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			if r.ErrorCode == 0 && c.Name == name && c.Value != nil {
				value, err := strconv.ParseInt(*c.Value, 10, 64)
				return value, err == nil
			}
		}
	}
	return 0, false
}
