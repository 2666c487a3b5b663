package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
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

var rightsAll = flag.Bool("rights.all", false, "take the rights of all scenarios of the profiles standard and extended away, not only of a choice; this takes half an hour")

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

func TestCheckNeedsTheRightsThatItsPlanNames(t *testing.T) {
	needsRights(t, limitedFake, askEverything)
}

func TestRealCheckNeedsTheRightsThatItsPlanNames(t *testing.T) {
	if !*rightsAll {
		needsRights(t, limitedReal(kafkatest.Secured(t, kafkatest.Config{})), askEverything)
		return
	}
	t.Run("standard", func(t *testing.T) {
		needsRights(t, limitedReal(kafkatest.Secured(t, kafkatest.Config{})), []string{"--profile", "standard"})
	})
	t.Run("extended", func(t *testing.T) { // what it has beside them
		asked := []string{"--allow-admin"}
		for _, s := range conformance.Scenarios() {
			if s.Profile == conformance.Extended {
				asked = append(asked, s.ID)
			}
		}
		needsRights(t, limitedReal(kafkatest.Secured(t, kafkatest.Config{Nodes: 3, Racks: []string{"a", "b", "c"}})), asked)
	})
}

// needsRights holds that the rights that a plan names are enough, and each is
// needed: without it the scenarios are skipped that it names, and no other.
func needsRights(t *testing.T, limit limited, asked []string) {
	plan := planOf(t, asked, limit(t, nil))
	var all []conformance.Right
	for _, r := range plan.Rights {
		all = append(all, r.Right)
	}
	whole, full := checkResults(t, asked, limit(t, all))
	require.Contains(t, []int{exitOK, exitFindings}, whole) // a broker in process has its deviations
	for _, r := range plan.Rights {
		t.Run(r.Operation+" on "+r.Resource, func(t *testing.T) {
			t.Parallel()
			r, rest := takenAway(r, plan.Rights)
			code, results := checkResults(t, asked, limit(t, rest))
			if whole == exitOK {
				required := slices.ContainsFunc(r.Without, func(id string) bool { return conformance.Find(id).Class.Required() })
				require.Equal(t, required, code == exitUndecided, "exit code %d", code)
			}
			require.Len(t, results, len(full))
			require.Empty(t, surprises(r, full, results))
		})
	}
}

// takenAway takes a right away, and with it the one that would do in its place:
// what is lost then, and what is left.
func takenAway(r conformance.RightNeeded, all []conformance.RightNeeded) (lost conformance.RightNeeded, rest []conformance.Right) {
	for _, other := range all {
		switch {
		case other.Right == r.Right:
		case other.Resource == r.Resource && other.Operation == r.Or:
			r.Without = slices.Concat(r.Without, other.Without)
		default:
			rest = append(rest, other.Right)
		}
	}
	return r, rest
}

// surprises are the scenarios that came to something else without a right than
// the plan says.
func surprises(r conformance.RightNeeded, full, results map[string]conformance.Result) (lines []string) {
	for id, got := range results {
		as := full[id].Outcome == got.Outcome
		if slices.Contains(r.Without, id) {
			as = got.Outcome == conformance.Skip && got.Reason == conformance.ReasonNotAuthorized
		}
		if !as {
			lines = append(lines, fmt.Sprintf("%s: %s %s, with all rights %s", id, got.Outcome, got.Reason, full[id].Outcome))
		}
	}
	slices.Sort(lines)
	return lines
}

// What a plan names in place of a right does as well.
func TestRealAlternativesOfAPlanDo(t *testing.T) {
	asked, limit := []string{"--allow-admin", "M-05", "M-06", "M-07"}, limitedReal(kafkatest.Secured(t, kafkatest.Config{}))
	var rights []conformance.Right
	alternatives := 0
	for _, r := range planOf(t, asked, limit(t, nil)).Rights {
		if r.Or != "" {
			alternatives++
			r.Operation = r.Or
		}
		rights = append(rights, r.Right)
	}
	require.Equal(t, 1, alternatives)
	code, results := checkResults(t, asked, limit(t, rights))
	require.Equal(t, exitOK, code, "%+v", results)
}

// The lines of a plan are what Kafka's own tool takes.
func TestRealRightsOfAPlanGoIntoKafkasOwnTool(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	user := c.User(t)
	plan := planOf(t, askEverything, as(c, user))
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
	code, results := checkResults(t, askEverything, as(c, user))
	require.Equal(t, exitOK, code, "%+v", results)
}

func planOf(t *testing.T, asked, args []string) checkPlan {
	t.Helper()
	code, stdout, stderr := checkRun(t.Context(), slices.Concat([]string{"plan", "-J"}, asked, args)...)
	require.Equal(t, exitOK, code, stderr)
	var plan checkPlan
	require.NoError(t, json.Unmarshal([]byte(stdout), &plan))
	return plan
}

// askEverything are scenarios that together need every right that a run of the
// standard profile does. All of them would take minutes for each right.
var askEverything = []string{"P-01", "P-05", "P-16", "L-01", "A-01", "M-01", "D-01", "D-02", "D-03", "F-01", "T-03", "C-05", "S-01", "O-09"}

// checkResults runs the scenarios that are asked for. With -artifacts the
// report is kept.
func checkResults(t *testing.T, asked, args []string) (int, map[string]conformance.Result) {
	t.Helper()
	code, stdout, stderr := checkRun(t.Context(), slices.Concat([]string{"run", "--yes", "-J", "--report", filepath.Join(t.ArtifactDir(), "check.json")}, asked, args)...)
	require.NotContains(t, stdout+stderr, "ecret") // of passwords
	var report checkReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report), stderr)
	results := map[string]conformance.Result{}
	for _, r := range report.Results {
		results[r.ID] = r
	}
	return code, results
}
