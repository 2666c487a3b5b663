package clientconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFileBytes bounds a file that is read: every CA bundle and key store is far
// below.
const maxFileBytes = 8 << 20

// readFile reads a whole file, which may be a pipe. Its errors do not name it.
func readFile(name string) ([]byte, fs.FileMode, error) {
	if err := checkFileName(name); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, 0, withoutPath(err)
	case len(text) > maxFileBytes:
		return nil, 0, fmt.Errorf("larger than %d MiB", maxFileBytes>>20)
	}
	return text, info.Mode(), nil
}

// checkFileName finds values that are no name of a file but, by mistake, what
// should be in it. An error of the operating system would show them.
func checkFileName(name string) error {
	if strings.Contains(name, "-----BEGIN") || strings.ContainsAny(name, "\n\r\x00") || len(name) > 4096 {
		return errors.New("not the name of a file; the text itself belongs into the property that ends in .pem, or in .certificates, .certificate.chain or .key")
	}
	return nil
}

// withoutPath is the reason alone.
func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// open reads a file that a property names. Errors name it, unless what should be
// a name cannot be one.
func (l *loader) open(path string) ([]byte, *storeError) {
	text, _, err := l.read(path)
	switch {
	case err == nil:
		return text, nil
	case checkFileName(path) != nil:
		return nil, &storeError{text: err.Error()}
	}
	return nil, &storeError{text: fmt.Sprintf("%s: %v", path, err)}
}
