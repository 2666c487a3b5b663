package mutant

// markers are damages of control batches and of how transactions end.
var markers = []Mutant{}
