package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

// checkProgress shows a run while it goes on: a tree by family that is drawn
// anew on a terminal, or a line for each scenario that has ended.
type checkProgress struct {
	app   *app
	terms conformance.Terms
	mode  progressMode
	every time.Duration // between what is told
	tell  func()        // nil: nothing
	done  chan struct{}
	gone  chan struct{}

	mu       sync.Mutex
	closed   bool
	stopping bool
	families []*familyProgress
	begin    time.Time
	drawn    int // lines on the terminal
}

type progressMode int

const (
	noProgress   progressMode = iota
	lineProgress              // on stdout
	treeProgress              // on the terminal behind stderr
)

// familyProgress counts one family.
type familyProgress struct {
	letter         string
	of, ended, bad int
	running        []string
}

const (
	// redraw is how often the tree is drawn.
	redraw = 200 * time.Millisecond
	// retell is how often a line tells how far the run is, where there is no tree.
	retell = time.Minute
)

func (a *app) newCheckProgress(outline *conformance.Examination, terms conformance.Terms) *checkProgress {
	p := &checkProgress{app: a, terms: terms, begin: time.Now()}
	switch {
	case isTerminal(a.stderr) && !a.quiet:
		p.mode, p.every, p.tell = treeProgress, redraw, p.draw
	case !a.wantJSON():
		p.mode = lineProgress
	}
	if p.tell == nil && !a.quiet {
		p.every, p.tell = retell, p.sayHowFar
	}
	for _, x := range outline.Scenarios {
		p.family(x.Family()).of++
	}
	return p
}

// plain reports whether each scenario's line is out already.
func (p *checkProgress) plain() bool { return p.mode == lineProgress }

func (p *checkProgress) family(letter string) *familyProgress {
	for _, f := range p.families {
		if f.letter == letter {
			return f
		}
	}
	f := &familyProgress{letter: letter}
	p.families = append(p.families, f)
	return f
}

// observe takes a step of the run.
func (p *checkProgress) observe(e conformance.Event) {
	if p.mode == lineProgress && e.Result != nil {
		line := resultLine(e.Result, expectation(p.terms, e.Result), checkStyle{color: p.app.colored(p.app.stdout)})
		_, _ = io.WriteString(p.app.stdout, strings.TrimPrefix(line, "   ")+"\n") // the report tells a broken output
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.family(e.Scenario.Family())
	if e.Result == nil {
		f.running = append(f.running, e.Scenario.ID)
		return
	}
	f.ended++
	if e.Result.Outcome == conformance.Fail {
		f.bad++
	}
	for i, id := range f.running {
		if id == e.Scenario.ID {
			f.running = append(f.running[:i], f.running[i+1:]...)
			break
		}
	}
}

// start begins to tell.
func (p *checkProgress) start() {
	if p.tell == nil {
		return
	}
	p.done, p.gone = make(chan struct{}), make(chan struct{})
	if p.mode == treeProgress {
		p.draw()
	}
	go func() {
		defer close(p.gone)
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-tick.C:
				p.tell()
			}
		}
	}()
}

// close takes the tree off the terminal.
func (p *checkProgress) close() {
	if p.done != nil {
		close(p.done)
		<-p.gone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.erase()
}

// interrupted tells that the run is being stopped, which may take a moment.
func (p *checkProgress) interrupted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	if p.mode != treeProgress && !p.closed {
		p.app.say("stopping: what the run made is being removed")
	}
}

func (p *checkProgress) erase() {
	if p.drawn > 0 {
		_, _ = fmt.Fprintf(p.app.stderr, "\x1b[%dA\x1b[J", p.drawn)
	}
	p.drawn = 0
}

func (p *checkProgress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	width := terminalWidth(p.app.stderr) - 1
	var b strings.Builder
	lines := 0
	for _, f := range p.families {
		b.WriteString(cut(f.line(), width) + "\n")
		lines++
	}
	b.WriteString(cut(p.howFar(), width) + "\n")
	p.erase()
	_, _ = io.WriteString(p.app.stderr, b.String())
	p.drawn = lines + 1
}

// sayHowFar tells how far the run is in one line.
func (p *checkProgress) sayHowFar() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.app.say("%s", p.howFar())
}

func (p *checkProgress) howFar() string {
	ended, of := 0, 0
	for _, f := range p.families {
		ended, of = ended+f.ended, of+f.of
	}
	what := "scenarios"
	if ended == of || p.stopping {
		what = "scenarios; removing what the run made"
	}
	return fmt.Sprintf("%d of %d %s, %s", ended, of, what, seconds(time.Since(p.begin)))
}

// barCells is the width of a family's bar.
const barCells = 12

func (f *familyProgress) line() string {
	full := 0
	if f.of > 0 {
		full = barCells * f.ended / f.of
	}
	bar := strings.Repeat("#", full) + strings.Repeat(".", barCells-full)
	line := fmt.Sprintf("%s  %-26s %s %3d/%d", f.letter, conformance.FamilyName(f.letter), bar, f.ended, f.of)
	if f.bad > 0 {
		line += fmt.Sprintf("  %d FAIL", f.bad)
	}
	if len(f.running) > 0 {
		line += "  " + picture.Printable(strings.Join(f.running, " "))
	}
	return line
}
