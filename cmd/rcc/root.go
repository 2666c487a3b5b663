package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `rcc reads Kafka topics at read_committed and shows what such a reader sees,
drops and waits for.

Data goes to stdout, everything else to stderr. Control characters in records
are shown as escapes.

-F reads a file of client properties, as kcat -F or Java's --command-config
take it; -X sets one more. The names are librdkafka's and the Java client's.
-b counts over -X, -X over -F, and RCC_BROKERS comes last. Secrets belong into
a file with mode 0600: other users can see the command lines of processes.

Exit codes: 0 done, 1 error, 2 wrong command line, 3 findings of rcc check,
4 could not judge, 130 interrupted.`

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "rcc",
		Short: "read Kafka at read_committed, and see what that means",
		Long:  rootHelp,
		Example: `  rcc consume orders -b kafka-1:9093 -F client.properties
  rcc consume orders -F client.properties -X isolation.level=read_uncommitted
  rcc check -b kafka-1:9093 -F client.properties

  with this in client.properties:
    bootstrap.servers=kafka-1:9093,kafka-2:9093
    security.protocol=SASL_SSL
    ssl.ca.location=/etc/kafka/ca.pem
    sasl.mechanism=SCRAM-SHA-256
    sasl.username=alice
    sasl.password=...`,
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(flagAlias)

	flags := root.PersistentFlags()
	flags.StringSliceVarP(&a.brokers, "brokers", "b", nil, "bootstrap `HOST:PORT,...`; also --bootstrap-server, or RCC_BROKERS")
	flags.StringArrayVarP(&a.properties, "property", "X", nil, "set one client property, `KEY=VALUE`; may be repeated")
	flags.StringArrayVarP(&a.files, "properties", "F", nil, "read client properties from `FILE`")
	flags.Var(&a.output, "output", "form of the output")
	flags.BoolVarP(&a.json, "json", "J", false, "short for --output json")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no notes, progress or summary on stderr")
	flags.Var(&a.color, "color", "when to use colours; NO_COLOR is honoured")

	root.SetHelpCommand(newHelpCommand(root))
	root.AddCommand(newConsumeCommand(a), newDemoCommand(a), newCheckCommand(a))
	return root
}

// newHelpCommand replaces cobra's, which takes a word that is no command for
// the root.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(root, rest[0])
			}
			return cmd.Help()
		},
	}
}

// flagAlias makes the name that Kafka's own tools use work as ours.
func flagAlias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "bootstrap-server" {
		name = "brokers"
	}
	return pflag.NormalizedName(name)
}

// version is what the Go tool recorded when it built the binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
