package codec_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/codec"
)

func BenchmarkDecompress(b *testing.B) {
	for name, by := range map[string]batchdecode.Decompressor{
		"this": codec.New(), "kgo": codec.FromKgo(kgo.DefaultDecompressor()),
	} {
		for file, src := range compressedFiles(b) {
			b.Run("file="+file+"/by="+name, func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := by.Decompress(byExtension(b, file), src, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
