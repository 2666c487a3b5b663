package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/kafkatest"
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

// asAlice are the arguments of a client that logs in.
func asAlice(cluster *kfake.Cluster, args ...string) []string {
	return append(args, "-b", cluster.ListenAddrs()[0], "-X", "security.protocol=SASL_PLAINTEXT",
		"-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=alice", "-X", "sasl.password=secret")
}

// limited returns the arguments of a client that may do what is listed, and
// nothing else.
type limited func(t *testing.T, rights []conformance.Right) []string

func limitedFake(t *testing.T, rights []conformance.Right) []string {
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
	cluster := newKfake(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"),
		kfake.User("PLAIN", "alice", "secret", acls...))
	return asAlice(cluster)
}

// as are the arguments of a user of a secured cluster.
func as(c *kafkatest.SecuredCluster, u kafkatest.User) []string {
	args := []string{"-b", c.ListenerAddrs(kafkatest.SASL)[0]}
	for _, line := range scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", u) {
		args = append(args, "-X", line)
	}
	return args
}

func limitedReal(c *kafkatest.SecuredCluster) limited {
	return func(t *testing.T, rights []conformance.Right) []string {
		t.Helper()
		user := c.User(t)
		for _, r := range rights {
			b := kadm.NewACLs().Allow("User:" + user.Name).AllowHosts("*").Operations(aclOperations[r.Operation])
			switch r.Resource {
			case "topic":
				b = b.ResourcePatternType(kadm.ACLPatternPrefixed).Topics(conformance.NamePrefix)
			case "group":
				b = b.ResourcePatternType(kadm.ACLPatternPrefixed).Groups(conformance.NamePrefix)
			case "transactional-id":
				b = b.ResourcePatternType(kadm.ACLPatternPrefixed).TransactionalIDs(conformance.NamePrefix)
			default:
				b = b.ResourcePatternType(kadm.ACLPatternLiteral).Clusters()
			}
			_, err := c.Admin().CreateACLs(t.Context(), b)
			require.NoError(t, err)
			require.Eventually(t, func() bool { // the authorizer hears of it from the controller
				known, err := c.Admin().DescribeACLs(t.Context(), b)
				return err == nil && len(known) == 1 && len(known[0].Described) > 0
			}, kafkatest.Limit, kafkatest.Limit/500)
		}
		return as(c, user)
	}
}

func TestCheckNeedsTheRightsThatItsPlanNames(t *testing.T) { needsRights(t, limitedFake) }

func TestRealCheckNeedsTheRightsThatItsPlanNames(t *testing.T) {
	needsRights(t, limitedReal(kafkatest.Secured(t, kafkatest.Config{})))
}

// needsRights holds that the rights that a plan names are enough, and each is
// needed: without it the scenarios are not decided that it names, and no other.
func needsRights(t *testing.T, limit limited) {
	plan := planOf(t, limit(t, nil))
	var all []conformance.Right
	for _, r := range plan.Rights {
		all = append(all, r.Right)
	}
	whole, full := checkResults(t, limit(t, all))
	require.Contains(t, []int{exitOK, exitFindings}, whole) // a broker in process has its deviations
	for _, r := range plan.Rights {
		t.Run(r.Operation+" on "+r.Resource, func(t *testing.T) {
			rest := slices.DeleteFunc(slices.Clone(all), func(other conformance.Right) bool { return other == r.Right })
			code, results := checkResults(t, limit(t, rest))
			if whole == exitOK {
				required := slices.ContainsFunc(r.Without, func(id string) bool { return conformance.Find(id).Class.Required() })
				require.Equal(t, required, code == exitUndecided, "exit code %d", code)
			}
			for id, got := range results {
				if !slices.Contains(r.Without, id) {
					require.Equal(t, full[id].Outcome, got.Outcome, "%s %s", id, got.Reason)
					continue
				}
				require.Contains(t, []conformance.Outcome{conformance.Skip, conformance.Inconclusive}, got.Outcome, "%s %s", id, got.Reason)
				if got.Outcome == conformance.Skip {
					require.Equal(t, conformance.ReasonNotAuthorized, got.Reason, id)
				}
			}
		})
	}
}

// The lines of a plan are what Kafka's own tool takes.
func TestRealRightsOfAPlanGoIntoKafkasOwnTool(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	user := c.User(t)
	plan := planOf(t, as(c, user))
	class := "org.apache.kafka.tools.AclCommand"
	if strings.HasPrefix(c.Local().Version(), "3.") {
		class = "kafka.admin.AclCommand"
	}
	for _, line := range plan.ACLs {
		words := strings.Fields(strings.ReplaceAll(line, c.ListenerAddrs(kafkatest.SASL)[0], c.Addrs()[0]))
		require.Equal(t, "kafka-acls", words[0])
		require.Contains(t, words, "User:"+user.Name)
		out, err := c.Local().Tool(t.Context(), class, words[1:]...)
		require.NoError(t, err, "%s\n%s", line, out)
	}
	code, results := checkResults(t, as(c, user))
	require.Equal(t, exitOK, code, "%+v", results)
}

func planOf(t *testing.T, args []string) checkPlan {
	t.Helper()
	code, stdout, stderr := checkRun(t.Context(), slices.Concat([]string{"plan", "-J"}, askEverything, args)...)
	require.Equal(t, exitOK, code, stderr)
	var plan checkPlan
	require.NoError(t, json.Unmarshal([]byte(stdout), &plan))
	return plan
}

// askEverything are scenarios that together need every right that a run of the
// standard profile does. All of them would take minutes for each right.
var askEverything = []string{"P-01", "P-05", "P-16", "L-01", "A-01", "M-01", "D-01", "D-02", "D-03", "F-01", "T-03", "C-05", "O-09"}

// checkResults runs these scenarios.
func checkResults(t *testing.T, args []string) (int, map[string]conformance.Result) {
	t.Helper()
	code, stdout, stderr := checkRun(t.Context(), slices.Concat([]string{"run", "--yes", "-J"}, askEverything, args)...)
	require.NotContains(t, stdout+stderr, "ecret") // of passwords
	var report checkReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report), stderr)
	results := map[string]conformance.Result{}
	for _, r := range report.Results {
		results[r.ID] = r
	}
	return code, results
}
