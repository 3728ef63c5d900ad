// Package conf turns a command line, an environment and a TOML file into one
// checked Config, or into errors that say where a mistake stands and what to do
// about it.
//
// Sources are laid over each other, the later one winning:
//
//	defaults < TOML file < environment (REDLOCK_PROXY_<SECTION>_<KEY>) < flags
//
// There is one list of settings, in table*.go. Each row names the key, the field
// of Config that it fills, the default, the bounds, and what an operator has to
// know, danger included; the parser of every source, the help text, the example
// file and the printed configuration are all made from these rows. A misspelt
// name is an error wherever it stands: a lock service that quietly runs with a
// default instead of what was meant is worse than one that does not start.
//
// A value is checked where it is read, so that the error can name the line, the
// variable or the flag. What concerns several settings at once is checked after
// the sources were merged (validate.go).
//
// Passwords never leave this package in an error, and never show in a Config
// that is printed by whatever means: see Secret.
//
// The package opens no connection and reads no file but through the function it
// is given. It knows nothing of Redis commands, votes or loggers, and imports
// none of this module's other packages.
package conf
