// Package clientconf turns client properties, by the names that kcat, librdkafka
// and the Java client know, into options of kgo.
//
// Properties come from files and from arguments of the form key=value. Files
// are of the form that kcat and Java share:
//
//   - a line holds key=value, key: value or key value; space around both is
//     dropped;
//   - lines that begin with # or ! are comments; a line that ends in a backslash
//     goes on in the next one;
//   - \t \n \r \f \uXXXX, and a backslash in front of \ = : # ! " ' or space
//     are escapes, as in Java; every other backslash is kept, as in kcat.
//
// In arguments a value is taken as it stands. An empty value takes a property
// back; of one that is given more than once the last counts, and arguments count
// over files.
//
// # Secrets
//
// No error and no warning holds a value, except the names of files. A key is
// shown if it is known, or looks like the name of a property: what follows a
// line end that was forgotten may be part of a secret.
package clientconf
