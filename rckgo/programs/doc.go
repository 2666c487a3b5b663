// Package programs holds programs written for kgo, one a folder, and the test
// that runs each of them twice: as it stands, and with its import of kgo
// replaced by this project's rckgo. Both must work on the same records.
//
// It is a module of its own, so that what the programs use besides kgo never
// becomes a dependency of the library.
package programs
