package rcconsumer

// Cause is what a [Reason] is about. Causes are few and keep their names: an
// alert goes by them.
type Cause string

// The causes, the gravest first. Of those marked with (1) the consumer is not
// ready. The others say what is retried, or waited for, while it is.
const (
	// CauseClosed (1): Close was called, or the context of kgo.WithContext
	// ended.
	CauseClosed Cause = "closed"
	// CauseLeftGroup (1): the member has left its group and does not come back,
	// after LeaveGroup or by [MaxPollInterval] with patterns.
	CauseLeftGroup Cause = "left_group"
	// CausePollInterval (1): [MaxPollInterval] is over. The group's partitions
	// are other members' until the next poll.
	CausePollInterval Cause = "poll_interval_exceeded"
	// CauseUnreachable (1): no broker has answered anything for five seconds at
	// least, and each one that is known fails, or any that is asked for metadata.
	CauseUnreachable Cause = "cluster_unreachable"
	// CauseStarting (1): no broker has answered since New, or the member has not
	// joined its group for the first time.
	CauseStarting Cause = "starting"
	// CauseAuthentication: a broker refuses the credentials, or one side the
	// other's certificate.
	CauseAuthentication Cause = "authentication_failed"
	// CauseMissingRight: an ACL for a topic, the group or the cluster is
	// missing.
	CauseMissingRight Cause = "missing_right"
	// CauseBroker: a broker cannot be connected to, or its connections break.
	CauseBroker Cause = "broker_unreachable"
	// CauseLate: a broker owes the answer to a Fetch, or what is known of the
	// ends of a partition is older than three times [StableOffsetInterval] though
	// no error came.
	CauseLate Cause = "answer_late"
	// CauseMetadata: the cluster cannot be asked for its metadata.
	CauseMetadata Cause = "metadata_failing"
	// CauseTopic: a topic or partition does not exist.
	CauseTopic Cause = "topic_unknown"
	// CauseLeader: a partition has no leader, or brokers disagree about it.
	CauseLeader Cause = "leader_unknown"
	// CauseGroup: joining fails, the coordinator is not there, or it does not
	// answer heartbeats.
	CauseGroup Cause = "group_failing"
	// CauseGroupOffsets: the group's committed offsets cannot be had.
	CauseGroupOffsets Cause = "group_offsets_failing"
	// CauseCommit: commits fail, and something is left to commit.
	CauseCommit Cause = "commit_failing"
	// CauseListOffsets: a leader does not say where to begin, or whether its log
	// still has what was read (OffsetForLeaderEpoch).
	CauseListOffsets Cause = "list_offsets_failing"
	// CauseFetch: Fetch is answered with an error of another kind.
	CauseFetch Cause = "fetch_failing"
	// CauseUnreadable: what a broker sends for a partition cannot be read. It is
	// asked for again.
	CauseUnreadable Cause = "data_unreadable"
	// CauseStopped: an error was handed out that only SetOffsets ends.
	CauseStopped Cause = "partition_stopped"
	// CauseNotPolled: records wait, and nobody has polled for a minute.
	CauseNotPolled Cause = "not_polled"
	// CauseBlocked: everything readable was read and an open transaction has
	// held back the rest for [BlockedAfter]. Nothing is wrong with this
	// consumer.
	CauseBlocked Cause = "blocked_by_transaction"
)

// causeWords are what a reason's text begins with, in the order of reasons.
var causeWords = []struct {
	cause Cause
	words string
}{
	{CauseClosed, "the consumer is closed"},
	{CauseLeftGroup, "the member has left its group"},
	{CausePollInterval, "nobody polls"},
	{CauseAuthentication, "authentication failed"}, // which makes brokers unreachable
	{CauseUnreachable, "no broker answers"},
	{CauseStarting, "starting"},
	{CauseMissingRight, "a right is missing"},
	{CauseBroker, "a broker cannot be reached"},
	{CauseLate, "answers are late"},
	{CauseMetadata, "metadata cannot be had"},
	{CauseTopic, "a topic or partition is not known"},
	{CauseLeader, "a leader is not known"},
	{CauseGroup, "the group does not work"},
	{CauseGroupOffsets, "the group's offsets cannot be had"},
	{CauseCommit, "commits fail"},
	{CauseListOffsets, "offsets cannot be listed"},
	{CauseFetch, "fetching fails"},
	{CauseUnreadable, "data cannot be read"},
	{CauseStopped, "a partition is stopped until SetOffsets"},
	{CauseNotPolled, "records wait for a poll"},
	{CauseBlocked, "blocked by an open transaction"},
}
