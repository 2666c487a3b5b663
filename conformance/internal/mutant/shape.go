package mutant

// shape are damages of answers' shape: sessions, versions, records.
var shape = []Mutant{}
