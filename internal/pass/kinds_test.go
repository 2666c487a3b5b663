package pass_test

import "example.com/readcommitted/abortset"

const (
	missing      = abortset.Missing
	contradicted = abortset.Contradicted
	duplicate    = abortset.Duplicate
	leaked       = abortset.Leaked
)
