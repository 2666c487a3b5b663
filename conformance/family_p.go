package conformance

// Family P: the shape of the protocol.
var familyP = []*Scenario{}
