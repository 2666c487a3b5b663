package conformance

import (
	"flag"
	"os"
	"testing"
)

// together is how many tests run at a time: they wait for brokers far more
// than they compute, so that the number of processors is no measure.
const together = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", together); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
