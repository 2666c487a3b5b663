//go:build !race

package programs

const raceDetector = false
