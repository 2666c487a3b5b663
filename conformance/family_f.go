package conformance

// Family F: fencing and idempotence.
var familyF = []*Scenario{}
