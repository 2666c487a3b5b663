package conformance

// Family C: readers, judged beside the cluster.
var familyC = []*Scenario{}
