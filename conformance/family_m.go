package conformance

// Family M: markers.
var familyM = []*Scenario{}
