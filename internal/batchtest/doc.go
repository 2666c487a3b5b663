// Package batchtest turns readable descriptions of a Kafka log into the bytes
// that a Fetch response carries for one partition. It is for tests only.
//
// Everything is encoded by kmsg and by the compressors' own packages, never by
// this module's decoders: a fixture made by the code under test would share
// its mistakes.
//
// There are two layers. The builder is for tests in Go:
//
//	log := batchtest.Log{
//		batchtest.Data(0, 1).Txn(7),
//		batchtest.Data(2, 3).Txn(8).Codec(batchtest.LZ4),
//		batchtest.Abort(4, 7),
//		batchtest.Commit(5, 8),
//	}
//	records := log.Bytes()
//
// [Load] reads the same logs from text files together with the expected
// result; testdata/README.md has the grammar. A test that drives all of them:
//
//	scenarios, err := batchtest.Load(os.DirFS("../testdata/scenarios"))
//	require.NoError(t, err)
//	for _, s := range scenarios {
//		t.Run(s.Name, func(t *testing.T) {
//			got := read(s.Partition(), s.Fetch, s.Limit)
//			require.Equal(t, s.Visible, got.offsets, s.Doc)
//			require.Equal(t, s.Next, got.next, s.Doc)
//		})
//	}
//
// Keys, values and timestamps follow from the offset ([Key], [Value],
// [Timestamp]), so that a reader that mislabels a record is caught by the
// record itself.
package batchtest
