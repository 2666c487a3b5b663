package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

// Seeker is a [Session] that can go to another offset without being opened
// anew. Scenarios that begin at many offsets use it where it is there.
type Seeker interface {
	Session

	// SeekTo makes the next record the one at offset, or the first one after it.
	// Nothing that was on its way from before is handed out any more.
	SeekTo(offset int64)
}

// Replayer is a [Client] that can be given an answer to a Fetch by hand.
type Replayer interface {
	Client

	// Replay returns what the client would hand out of one partition of an
	// answer that it got for a Fetch at from.Offset. It must not change the
	// answer.
	Replay(from Assignment, answer *kmsg.FetchResponseTopicPartition) ([]Delivered, error)
}
