package conf

import (
	"fmt"
	"strings"
)

const (
	// envPrefix begins the name of every variable that is ours.
	envPrefix = "REDLOCK_PROXY_"
	// envFile names the configuration file, as -config does.
	envFile = envPrefix + "CONFIG"
)

// readEnv takes the settings out of an environment, and the path of a file.
// Every variable with our prefix must be known, so that a misspelt one is found.
func readEnv(environ []string) (found []setting, file string, errs []error) {
	var c Config
	byName := map[string]field{}
	names := []string{envFile}
	for _, f := range table(&c) {
		byName[f.env()] = f
		names = append(names, f.env())
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		f, known := byName[name]
		switch {
		case !strings.HasPrefix(name, envPrefix):
		case name == envFile:
			file = value
		case known:
			found = append(found, setting{key: f.key, texts: split(f.kind, value), kind: f.kind, where: name})
		case serviceLink(strings.TrimPrefix(name, envPrefix), value):
		default:
			errs = append(errs, fmt.Errorf("environment: there is no setting %s%s", printable(name), suggestion(name, names)))
		}
	}
	return found, file, errs
}

// split makes a list of a text from the environment or the command line.
func split(k kind, value string) []string {
	switch {
	case k != kindList:
		return []string{value}
	case strings.TrimSpace(value) == "":
		// Set, but to nothing: an empty list, which is an error, and not the
		// same as leaving the setting out. Somebody's variable was empty.
		return nil
	}
	return strings.Split(value, ",")
}

// serviceLink recognises the variables that Kubernetes puts into every pod of a
// namespace with a Service called redlock-proxy, or redlock-proxy-something:
// <NAME>_SERVICE_HOST, <NAME>_SERVICE_PORT[_X], <NAME>_PORT[_80_TCP[_ADDR…]].
func serviceLink(rest, value string) bool {
	rest = "_" + rest
	if strings.HasSuffix(rest, "_SERVICE_HOST") || strings.HasSuffix(rest, "_SERVICE_PORT") ||
		strings.Contains(rest, "_SERVICE_PORT_") {
		return true
	}
	for _, protocol := range []string{"tcp", "udp", "sctp"} {
		if strings.HasSuffix(rest, "_PORT") && strings.HasPrefix(value, protocol+"://") {
			return true
		}
		port, field, ok := strings.Cut(rest, "_"+strings.ToUpper(protocol))
		if !ok {
			continue
		}
		if i := strings.LastIndex(port, "_PORT_"); i < 0 || strings.Trim(port[i+len("_PORT_"):], "0123456789") != "" {
			continue
		}
		switch field {
		case "", "_PROTO", "_PORT", "_ADDR":
			return true
		}
	}
	return false
}
