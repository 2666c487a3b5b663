package rckgo_test

import (
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/readcommitted/internal/kafkatest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, kafkatest.LeakOptions()...)
}

// goroutinesOfOurs counts the goroutines that the consumer has started.
func goroutinesOfOurs() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "\ncreated by example.com/readcommitted/rcconsumer")
}
