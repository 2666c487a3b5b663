package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"example.com/readcommitted/internal/localkafka"
)

// nodeHook does things to the brokers of a local cluster.
func nodeHook(cluster *localkafka.Cluster) func(context.Context, string, int32) error {
	return func(ctx context.Context, action string, broker int32) error {
		if err := onNode(ctx, cluster, action, broker); err != nil {
			return fmt.Errorf("%.*s", hookTail, oneLine(err.Error())) // without the whole of the broker's log
		}
		return nil
	}
}

func onNode(ctx context.Context, cluster *localkafka.Cluster, action string, broker int32) error {
	for _, node := range cluster.Nodes() {
		if node.ID() != broker {
			continue
		}
		switch action {
		case "kill":
			return node.Kill()
		case "stop":
			return node.Stop(ctx)
		case "start":
			if node.Running() { // an attempt before this one got so far
				return node.Continue()
			}
			return node.Start(ctx)
		case "pause":
			return node.Pause()
		case "resume":
			return node.Continue()
		}
		return fmt.Errorf("unknown action %q", action)
	}
	return fmt.Errorf("no broker %d", broker)
}

// hookDelay is how long what a command left running may hold its output.
const hookDelay = 5 * time.Second

// hookTail bounds what is told of a command's output.
const hookTail = 400

// shellHook runs the user's command. Action and broker are words of ours, and
// safe in a shell. The command is out of reach of a terminal's Ctrl-C: what it
// does to a broker is not to be left half done.
func shellHook(command string) func(context.Context, string, int32) error {
	return func(ctx context.Context, action string, broker int32) error {
		line := strings.NewReplacer("{action}", action, "{broker}", strconv.Itoa(int(broker))).Replace(command)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.WaitDelay = hookDelay
		ownGroup(cmd)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		switch {
		case ctx.Err() != nil:
			err = fmt.Errorf("not done in time: %w", ctx.Err())
		case errors.Is(err, exec.ErrWaitDelay): // it ended well; what it left running writes on
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, oneLine(string(out.Bytes()[max(0, out.Len()-hookTail):])))
		}
		return nil
	}
}
