package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/rcconsumer"
)

// consumeAsMember reads as a member of a group.
func (a *app) consumeAsMember(ctx context.Context, f *consumeFlags, form appendRecord, seeds []string, req request) error {
	opts := a.clientOptions("consume", seeds)
	admin, err := a.connect(ctx, seeds, opts)
	if err != nil {
		return err
	}
	defer admin.Close()
	if _, err := describeTopics(ctx, admin, req.topics); err != nil {
		return err
	}
	if err := checkGroup(ctx, admin, f.group); err != nil {
		return err
	}
	a.begin("reading at %s as a member of group %s: %s, until %s", f.isolation.value, f.group, strings.Join(req.topics, ", "), f.until.text)
	m := &membership{app: a, group: f.group, admin: admin, req: req}
	refused := &refusals{}
	opts = append(opts, rcconsumer.WithHooks(refused))
	m.consumer, err = rcconsumer.New(append(opts, m.options(f.markers)...)...)
	if err != nil {
		return err
	}
	defer m.consumer.CloseAllowingRebalance()
	r := newRead(m.consumer, nil, form, a.stdout, f.count)
	r.uncommitted, r.member, r.refused = req.uncommitted, m, refused
	return a.readAll(ctx, r)
}

// checkGroup asks the group's coordinator for its commits, so that a group that
// may not be used is named at once.
func checkGroup(ctx context.Context, admin *kadm.Client, group string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		_, err := admin.FetchOffsets(ctx, group)
		if err == nil || errors.Is(err, kerr.GroupIDNotFound) { // it will be made
			return nil
		}
		if !kerr.IsRetriable(err) || !sleep(ctx, askAgain) {
			return fmt.Errorf("group %s: %w", group, authorized(err))
		}
	}
}

// commitTimeout bounds the last commits of a read, also of one that was
// interrupted.
const commitTimeout = 10 * time.Second

// endMember commits what was printed, however the read ended. A commit that
// failed is the error of a read that would have none: its records come again.
func (a *app) endMember(ctx context.Context, r *read, err error) error {
	failed := r.commitPrinted(ctx)
	r.follow() // the summary tells of what happened meanwhile
	switch {
	case failed == nil:
		return err
	case err == nil, closedPipe(err):
		return failed
	}
	a.warn("%v", failed) // the first error decides the exit code
	return err
}
