package clientconf

import (
	"io/fs"
	"runtime"
	"slices"
)

// Sources are where properties come from, the weakest first.
type Sources struct {
	Files     []string // names of files
	Arguments []string // key=value
	// Suggest returns the word that is closest to one that is not known, ""
	// if none is close. Without it nothing is suggested.
	Suggest func(word string, known []string) string

	read func(name string) ([]byte, fs.FileMode, error) // nil: from the file system
}

// Load reads the properties and the files that they name. Everything that is
// wrong with them is one *[Error].
func Load(from Sources) (*Config, error) {
	l := &loader{Sources: from, config: &Config{}}
	if l.read == nil {
		l.read = readFile
	}
	for i, file := range from.Files {
		l.count(l.file(file, i))
	}
	l.count(l.arguments(len(from.Files)))
	l.build()
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.config, nil
}

// loader is one run of Load.
type loader struct {
	Sources
	report
	config *Config
	given  map[string]setting // by the name that it is looked up by: the setting that counts
}

// file reads one file of properties. What is not used of it is noted.
func (l *loader) file(name string, rank int) []setting {
	text, mode, err := l.read(name)
	if err != nil {
		l.add(setting{file: name, rank: rank}, "", "%v", err)
		return nil
	}
	var kept []setting
	var ignored []string
	for _, s := range parseFile(name, rank, text, &l.report) {
		switch k, _, advice := classify(s.key); {
		case k == effective:
			kept = append(kept, s)
		case k == idle:
			ignored = append(ignored, s.key)
		case k == unknown || s.value != "": // templates list names without a value
			l.reject(s, k, advice)
		}
	}
	if len(ignored) > 0 {
		slices.Sort(ignored)
		l.config.Ignored = append(l.config.Ignored, Ignored{File: name, Keys: slices.Compact(ignored)})
	}
	if readableByOthers(mode) && slices.ContainsFunc(kept, holdsSecret) {
		l.config.warn("%s holds secrets, and other users can read it (mode %04o); mode 0600 keeps it to you", name, mode.Perm())
	}
	return kept
}

// arguments reads the arguments. In them nothing is ignored: somebody typed it.
func (l *loader) arguments(rank int) []setting {
	var kept []setting
	for i, argument := range l.Arguments {
		s, ok := parseArgument(argument, rank+i, &l.report)
		if !ok {
			continue
		}
		k, _, advice := classify(s.key)
		switch k {
		case effective:
			kept = append(kept, s)
		case idle:
			l.add(s, advice, "means nothing to this command")
		default:
			l.reject(s, k, advice)
		}
	}
	return kept
}

// reject reports a property that is refused or unknown.
func (l *loader) reject(s setting, k kind, advice string) {
	if k == refused {
		l.add(s, advice, "not supported")
		return
	}
	near := ""
	if l.Suggest != nil && s.key != "" {
		near = l.Suggest(s.key, knownNames())
	}
	if near != "" {
		near = "did you mean " + near + "?"
	}
	s.key = shownKey(s.key)
	l.add(s, near, "unknown property")
}

// alternatives are properties of which only one form can count: the files with
// the authorities may be given in four ways. A form in a later source replaces
// those of earlier ones.
var alternatives = []struct {
	what  string
	forms [][]string
}{
	{"the credentials", [][]string{{saslUsername, saslPassword}, {saslJaasConfig}}},
	{"the authorities", [][]string{{caLocation}, {caPEM}, {truststoreLocation}, {truststoreCertificates}}},
	{"the client's certificate and key", [][]string{
		{certificateLocation, certificatePEM, keyLocation, keyPEM},
		{keystoreLocation},
		{keystoreChain, keystoreKey},
	}},
	{"the client's certificate", [][]string{{certificateLocation}, {certificatePEM}}},
	{"the client's key", [][]string{{keyLocation}, {keyPEM}}},
}

// count takes over the settings of one source. Of settings with the same name
// the last counts.
func (l *loader) count(settings []setting) {
	if l.given == nil {
		l.given = make(map[string]setting)
	}
	source := make(map[string]setting)
	for _, s := range settings {
		_, name, _ := classify(s.key)
		source[name] = s
	}
	for _, a := range alternatives {
		for i, form := range a.forms {
			if !slices.ContainsFunc(form, func(name string) bool { return source[name].value != "" }) {
				continue
			}
			for j, other := range a.forms {
				if j != i {
					l.forget(other)
				}
			}
		}
	}
	for name, s := range source {
		l.given[name] = s
	}
}

func (l *loader) forget(names []string) {
	for _, name := range names {
		delete(l.given, name)
	}
}

// get returns the setting of a name, if it has a value.
func (l *loader) get(name string) (setting, bool) {
	s, ok := l.given[name]
	return s, ok && s.value != ""
}

// value is the value of a name, "" if there is none.
func (l *loader) value(name string) string { return l.given[name].value }

// first returns the first setting with a value, of the names in their order.
func (l *loader) first(names ...string) (setting, bool) {
	for _, name := range names {
		if s, ok := l.get(name); ok {
			return s, true
		}
	}
	return setting{}, false
}

// exclude reports forms of the same thing that were given side by side.
func (l *loader) exclude() {
	for _, a := range alternatives {
		var before setting
		for _, form := range a.forms {
			s, ok := l.first(form...)
			switch {
			case !ok:
			case before.key == "":
				before = s
			default:
				l.add(s, "", "excludes %s: both give %s", before.key, a.what)
			}
		}
	}
}

func holdsSecret(s setting) bool {
	_, name, _ := classify(s.key)
	return slices.Contains(secrets, name) && s.value != ""
}

// readableByOthers reports whether others than the owner may read a file.
// Windows has other means, and its mode bits say nothing.
func readableByOthers(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&0o044 != 0
}
