package conformance

// storageCleaned are the scenarios on compacted logs.
var storageCleaned = []*Scenario{}
