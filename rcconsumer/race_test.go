//go:build race

package rcconsumer_test

const raceDetector = true
