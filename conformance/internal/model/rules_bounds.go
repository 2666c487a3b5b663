package model

import "fmt"

// U1 judges the three bounds of a quiet partition.
func U1(v *View) []Breach {
	if !v.Quiet {
		return nil
	}
	start, lso, high := v.LogStartOffset, v.LastStableOffset, v.HighW
	missing := high < 0 || v.Isolation == ReadCommitted && lso < 0 || v.Version >= 5 && start < 0
	stable := lso
	if v.Isolation == ReadUncommitted {
		stable = high // brokers differ in what they say of the LSO to a reader who did not ask for it
	}
	if !missing && start <= stable && stable <= high {
		return nil
	}
	return []Breach{{
		Invariant: "U1", Severity: Failure, Offset: lso,
		Requirement: "log start offset <= last stable offset <= high watermark, all of them known",
		Consequence: "lag and end offsets that clients work out from these are wrong; readers may wait for ever",
		Expected:    "start <= LSO <= HW",
		Observed:    fmt.Sprintf("start %d, LSO %d, HW %d", start, lso, high),
	}}
}

// U2 judges that a quiet partition gives nothing that is not decided.
func U2(v *View) []Breach {
	if !v.Quiet {
		return nil
	}
	limit, name := v.LastStableOffset, "LSO"
	if v.Isolation == ReadUncommitted {
		limit, name = v.HighW, "HW"
	}
	for i := range v.Batches {
		if b := &v.Batches[i]; b.Last >= limit {
			return []Breach{{
				Invariant: "U2", Severity: Failure, Offset: b.Base,
				Requirement: "an answer holds no batch at or above the bound of its isolation level",
				Consequence: "readers at read_committed get records of transactions that may still be aborted",
				Expected:    fmt.Sprintf("last offset of every batch < %s %d", name, limit),
				Observed:    fmt.Sprintf("a batch %d..%d", b.Base, b.Last),
			}}
		}
	}
	return nil
}

// U2b judges, also under load, that an open transaction holds everything back
// from its first record on.
func U2b(v *View) []Breach {
	if v.Isolation != ReadCommitted {
		return nil
	}
	var out []Breach
	for _, open := range v.Open {
		if v.LogStartOffset > open.First {
			continue
		}
		breach := Breach{
			Invariant: "U2b", Severity: Failure, Offset: open.First,
			Requirement: "while a transaction is open, nothing at or above its first offset is stable",
			Consequence: "readers at read_committed get records of a transaction that may still be aborted",
			Expected: fmt.Sprintf("LSO <= %d and no batch from there on (pid %d has been open there since before the request)",
				open.First, open.ProducerID),
		}
		if v.LastStableOffset > open.First {
			breach.Observed = fmt.Sprintf("LSO %d", v.LastStableOffset)
			out = append(out, breach)
			continue
		}
		if n := len(v.Batches); n > 0 && v.Batches[n-1].Last >= open.First {
			breach.Observed = fmt.Sprintf("a batch %d..%d", v.Batches[n-1].Base, v.Batches[n-1].Last)
			out = append(out, breach)
		}
	}
	return out
}
