//go:build race

package abortset_test

const raceDetector = true
