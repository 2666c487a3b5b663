package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is left behind is told once for each reason.
func TestWhatIsLeftIsToldByReason(t *testing.T) {
	var left []string
	for i := range 12 {
		left = append(left, fmt.Sprintf("topic t-%d: no answer in time: read tcp 127.0.0.1:%d->127.0.0.1:9092: i/o timeout", i, 40000+i))
	}
	left = append(left, "group g: NON_EMPTY_GROUP: it is not empty")
	var errs bytes.Buffer
	newApp(nil, nil, &errs).tellLeft(left)
	require.Equal(t, "rcc: left behind: topic t-0, topic t-1, topic t-2 and 9 others: no answer in time: read tcp 127.0.0.1:9092: i/o timeout\n"+
		"rcc: left behind: group g: NON_EMPTY_GROUP: it is not empty\n", errs.String())
}
