package mutant

import "slices"

// fencing are damages of producer IDs, epochs, sequences and timeouts.
var fencing = slices.Concat(takeovers, zombies, sequences, timeouts)
