package abortset

// AnomalyKind names a way in which a broker's list and the log disagree.
type AnomalyKind uint8

// The kinds of anomalies. A correct broker causes none of them, compaction
// included: Kafka's cleaner drops an index entry no later than its abort marker.
// A broker that still lists a transaction whose marker is gone cannot be told
// from one that invents entries, and the Java client loses committed data to
// either.
//
// Source: LogCleaner.scala, CleanedTransactionMetadata.
const (
	// Missing: an abort marker in view ends the transaction, and the list had
	// nothing for it. Its data would have leaked.
	Missing AnomalyKind = iota + 1
	// Contradicted: a commit marker ends the transaction, and the list called
	// it aborted. Its data would have been lost. The entry is stale, invented
	// or shifted.
	Contradicted
	// Duplicate: the list holds the same entry more than once. Harmless here.
	Duplicate
	// Leaked: data was handed out, and the abort marker of its transaction
	// came in a later response. Only [Audit] reports it.
	Leaked
)

// String returns the kind in lower case, "unknown" for none of the above.
func (k AnomalyKind) String() string {
	switch k {
	case Missing:
		return "missing"
	case Contradicted:
		return "contradicted"
	case Duplicate:
		return "duplicate"
	case Leaked:
		return "leaked"
	}
	return "unknown"
}

// Anomaly is one disagreement, reported once for each transaction it concerns.
type Anomaly struct {
	Kind       AnomalyKind
	ProducerID int64

	// Offset is where in the log: the base offset of the first batch whose
	// verdict differs from the marker's word, or for [Duplicate] the first
	// offset of the entry.
	Offset int64

	// FirstOffset is that of the entry concerned, -1 if there is none or it
	// is not known.
	FirstOffset int64

	// Batch is the index in the judged batches of the batch at Offset, -1 if
	// it is not one of them.
	Batch int
}
