// Command generate writes the part of package rckgo that is kgo's own: every
// exported name of kgo, but for those that the package declares by hand.
//
//	generate -o FILE   writes the file
//	generate -check    only says whether it could be written
//
// It fails, with their names, on names of kgo that mention *kgo.Client and are
// not declared by hand: re-exported, they would hand out a client that knows
// nothing of what a consumer has read. Which release of kgo it reads is what
// the module says; GOFLAGS=-modfile=FILE makes it another one.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("o", "", "file to write")
	check := flag.Bool("check", false, "write nothing, only say whether it could be done")
	flag.Parse()
	if flag.NArg() > 0 || (*out == "") != *check {
		fmt.Fprintln(os.Stderr, "usage: generate -o FILE | generate -check")
		os.Exit(2)
	}
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run generates, and writes the file unless its name is empty.
func run(file string) error {
	source, err := generate()
	if err != nil || file == "" {
		return err
	}
	return os.WriteFile(file, source, 0o644)
}

// generate returns the source of the file.
func generate() ([]byte, error) {
	api, err := load("github.com/twmb/franz-go/pkg/kgo")
	if err != nil {
		return nil, err
	}
	names, err := api.reexported()
	if err != nil {
		return nil, err
	}
	return render(names)
}
