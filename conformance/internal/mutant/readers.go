package mutant

// readers are damages that only a reader's records show.
var readers = []Mutant{}
