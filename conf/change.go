package conf

import (
	"errors"
	"fmt"
)

// Change compares a configuration that is in force with one that is to take its
// place. It returns the keys of the settings that differ, in the order of the table; a
// certificate that is renewed in its file is no such difference. The error names each
// setting that can't change while the proxy runs, with the reason.
func (c Config) Change(to Config) (keys []string, err error) {
	var errs []error
	after := table(&to)
	for i, before := range table(&c) {
		after := after[i]
		if before.value() != after.value() {
			keys = append(keys, before.key)
		}
		// Of a list of backends the literal is the addresses; what else is in an entry
		// may change.
		if !before.canChange && before.literal() != after.literal() {
			errs = append(errs, fmt.Errorf("%s can't change from %s to %s while the proxy runs, because %s: restart it, or put the old value back",
				before.key, before.literal(), after.literal(), before.because))
		}
	}
	return keys, errors.Join(errs...)
}

// value is all of a setting's value. It may be a secret.
func (f field) value() string {
	if f.exact != nil {
		return f.exact()
	}
	return f.literal()
}
