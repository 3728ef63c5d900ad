package conf

import (
	"errors"
	"fmt"
	"strings"
)

// Load makes a Config of the command line without the program's name, of the
// environment as os.Environ gives it, and of the files that these name.
//
// For Help and Version it looks at nothing else and returns the defaults: both
// must work where the configuration is broken. In every other case the Config
// was checked; an error holds one line for each mistake that was found, with the
// place of each, and none of them repeats a password.
func Load(args, environ []string, readFile func(string) ([]byte, error)) (Config, Command, error) {
	cmd, fromArgs, file, err := readArgs(args)
	if err != nil || cmd.Action == Help || cmd.Action == Version {
		return Default(), cmd, err
	}
	fromEnv, envFile, errs := readEnv(environ)
	if file == "" {
		file = envFile
	}
	var fromFile []setting
	if file != "" {
		fromFile, err = readConfigFile(file, readFile)
		errs = append(errs, err)
	}

	l := loader{cfg: Default(), origin: map[string]string{}}
	for _, source := range [][]setting{fromFile, fromEnv, fromArgs} {
		errs = append(errs, l.apply(source)...)
	}
	// What follows looks at values together, which makes sense only if each is
	// what it was meant to be.
	if err := errors.Join(errs...); err != nil {
		return Config{}, cmd, err
	}
	if err := errors.Join(l.readSecrets(readFile)...); err != nil {
		return Config{}, cmd, err
	}
	l.cfg.Embedded = cmd.Action == Serve && len(l.cfg.Group.Backends) == 0
	if err := errors.Join(l.validate(cmd)...); err != nil {
		return Config{}, cmd, err
	}
	l.cfg.Group.shareWithBackends()
	if err := l.cfg.readCertificates(readFile); err != nil {
		return Config{}, cmd, err
	}
	return l.cfg, cmd, nil
}

func readConfigFile(name string, readFile func(string) ([]byte, error)) ([]setting, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return readTOML(name, data)
}

// loader is a Config in the making.
type loader struct {
	cfg    Config
	origin map[string]string // key → where its value comes from, unless it is the default
}

// apply lays the settings of one source over the Config.
func (l *loader) apply(source []setting) (errs []error) {
	rows := table(&l.cfg)
	for _, s := range source {
		f, _ := rows.find(s.key) // the readers give no other keys
		if err := f.set(s.texts); err != nil {
			name := s.key
			if s.where == f.env() {
				name = "" // says it all
			}
			errs = append(errs, fmt.Errorf("%s: %w", strings.TrimSuffix(s.where+": "+name, ": "), err))
			continue
		}
		l.origin[s.key] = s.where
	}
	return errs
}

// readSecrets replaces each password that is given as a file.
func (l *loader) readSecrets(readFile func(string) ([]byte, error)) (errs []error) {
	c := &l.cfg
	for _, s := range []struct {
		key    string
		file   string
		secret *Secret
	}{
		{"server.password", c.Server.PasswordFile, &c.Server.Password},
		{"group.backend_password", c.Group.BackendPasswordFile, &c.Group.BackendPassword},
	} {
		if s.file == "" {
			continue
		}
		if s.secret.IsSet() {
			errs = append(errs, l.problem("set only one of the two", s.key, s.key+"_file"))
			continue
		}
		if err := readPassword(s.file, s.secret, readFile); err != nil {
			errs = append(errs, l.problem(err.Error(), s.key+"_file"))
		}
	}
	for i := range c.Group.Backends {
		b := &c.Group.Backends[i]
		if b.PasswordFile == "" {
			continue
		}
		if err := readPassword(b.PasswordFile, &b.Password, readFile); err != nil {
			errs = append(errs, l.problem(fmt.Sprintf("entry %d: password_file: %v", i+1, err), "group.backends"))
		}
	}
	return errs
}

// readPassword reads a file that holds nothing but a password.
func readPassword(path string, into *Secret, readFile func(string) ([]byte, error)) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" || len(text) > maxSecret {
		return fmt.Errorf("the file must hold a password of 1 to %d bytes", maxSecret)
	}
	*into = NewSecret(text)
	return nil
}

// shareWithBackends gives each backend what is the group's and it has none of: user
// and password together, since an entry with one of the two has said what it wants,
// the authority, and the certificate with its key.
func (g *Group) shareWithBackends() {
	for i := range g.Backends {
		b := &g.Backends[i]
		if !b.User.IsSet() && !b.Password.IsSet() {
			b.User, b.Password = g.BackendUser, g.BackendPassword
		}
		if !b.TLS {
			continue
		}
		if b.TLSCA == "" {
			b.TLSCA = g.TLSCA
		}
		if b.TLSCert == "" {
			b.TLSCert, b.TLSKey = g.TLSCert, g.TLSKey
		}
	}
}

// problem is an error about one or several settings, and says where the values
// come from.
func (l *loader) problem(text string, keys ...string) error {
	var names []string
	for _, key := range keys {
		where := l.origin[key]
		if where == "" {
			where = "the default"
		}
		names = append(names, key+" ("+where+")")
	}
	return fmt.Errorf("%s: %s", strings.Join(names, " and "), text)
}
