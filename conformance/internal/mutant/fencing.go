package mutant

// fencing are damages of producer IDs, epochs and sequences.
var fencing = []Mutant{}
