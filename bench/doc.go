// Package bench compares the filtering pass of this module with that of kgo, on
// the same bytes. It is a module of its own, so that what it compares with
// never becomes a dependency of the library.
//
// README.md says what is measured, how to run it and what came out.
package bench
