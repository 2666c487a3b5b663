package main

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance"
)

// checkClients are the readers that a run judges beside the cluster.
func checkClients(_ []kgo.Opt) []conformance.Client { return nil }
