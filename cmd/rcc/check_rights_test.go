package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance"
)

var (
	aclResources = map[string]kmsg.ACLResourceType{
		"topic": kmsg.ACLResourceTypeTopic, "group": kmsg.ACLResourceTypeGroup,
		"transactional-id": kmsg.ACLResourceTypeTransactionalId, "cluster": kmsg.ACLResourceTypeCluster,
	}
	aclOperations = map[string]kmsg.ACLOperation{
		"Create": kmsg.ACLOperationCreate, "Delete": kmsg.ACLOperationDelete, "Read": kmsg.ACLOperationRead,
		"Write": kmsg.ACLOperationWrite, "Alter": kmsg.ACLOperationAlter, "Describe": kmsg.ACLOperationDescribe,
		"DescribeConfigs": kmsg.ACLOperationDescribeConfigs, "AlterConfigs": kmsg.ACLOperationAlterConfigs,
		"ClusterAction": kmsg.ACLOperationClusterAction,
	}
)

// withRights is a cluster on which alice may do what is listed, and nothing else.
func withRights(t *testing.T, rights []conformance.Right) *kfake.Cluster {
	t.Helper()
	var acls []kfake.ACL
	for _, r := range rights {
		acl := kfake.ACL{
			Resource: aclResources[r.Resource], Operation: aclOperations[r.Operation], Allow: true,
			Name: conformance.NamePrefix, Pattern: kmsg.ACLResourcePatternTypePrefixed,
		}
		require.NotZero(t, acl.Resource, r.Resource)
		require.NotZero(t, acl.Operation, r.Operation)
		if r.Resource == "cluster" {
			acl.Name, acl.Pattern = "kafka-cluster", kmsg.ACLResourcePatternTypeLiteral
		}
		acls = append(acls, acl)
	}
	return newKfake(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"),
		kfake.User("PLAIN", "alice", "secret", acls...))
}

// asAlice are the arguments of a client that logs in.
func asAlice(cluster *kfake.Cluster, args ...string) []string {
	return append(args, "-b", cluster.ListenAddrs()[0], "-X", "security.protocol=SASL_PLAINTEXT",
		"-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=alice", "-X", "sasl.password=secret")
}

// The rights that a plan names are enough, and each is needed: without it the
// scenarios are skipped that it names, and no other.
func TestCheckNeedsTheRightsThatItsPlanNames(t *testing.T) {
	code, stdout, stderr := checkRun(t.Context(), asAlice(withRights(t, nil), "plan", "-J")...)
	require.Equal(t, exitOK, code, stderr)
	var plan checkPlan
	require.NoError(t, json.Unmarshal([]byte(stdout), &plan))
	var all []conformance.Right
	for _, r := range plan.Rights {
		all = append(all, r.Right)
	}
	whole, full := checkResults(t, withRights(t, all))
	require.Contains(t, []int{exitOK, exitFindings}, whole) // a broker in process has its deviations
	for _, r := range plan.Rights {
		t.Run(r.Operation+" on "+r.Resource, func(t *testing.T) {
			t.Parallel()
			rest := slices.DeleteFunc(slices.Clone(all), func(other conformance.Right) bool { return other == r.Right })
			code, results := checkResults(t, withRights(t, rest))
			if whole == exitOK {
				require.Equal(t, len(r.Without) > 0, code == exitUndecided, "exit code %d", code)
			}
			for id, got := range results {
				if slices.Contains(r.Without, id) {
					require.Contains(t, []conformance.Outcome{conformance.Skip, conformance.Inconclusive}, got.Outcome, "%s %s", id, got.Reason)
					if got.Outcome == conformance.Skip {
						require.Equal(t, conformance.ReasonNotAuthorized, got.Reason, id)
					}
				} else {
					require.Equal(t, full[id].Outcome, got.Outcome, "%s %s", id, got.Reason)
				}
			}
		})
	}
}

// checkResults runs the profile standard with alice's rights.
func checkResults(t *testing.T, cluster *kfake.Cluster) (int, map[string]conformance.Result) {
	t.Helper()
	code, stdout, stderr := checkRun(t.Context(), asAlice(cluster, "run", "--yes", "-J")...)
	require.NotContains(t, stdout+stderr, "secret")
	var report checkReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	results := map[string]conformance.Result{}
	for _, r := range report.Results {
		results[r.ID] = r
	}
	return code, results
}
