package conf

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Action is what the program is to do.
type Action string

// The actions. Serve is the one without a name on the command line.
const (
	Serve   Action = "serve"   // run the proxy
	Check   Action = "check"   // look at the configuration and the backends, and say what is unfit
	Init    Action = "init"    // declare a group to be new
	Top     Action = "top"     // show how the running proxy is
	Inspect Action = "inspect" // show what each backend holds under Command.Key
	Version Action = "version" // print the version
	Help    Action = "help"    // print HelpText
)

// Command is what the command line asks for, beside settings.
type Command struct {
	Action Action
	// Ping, with Check: look at nothing but whether the server at
	// Config.Server.PingAddress answers PING.
	Ping bool
	// Key is what Inspect is to look at.
	Key string
}

var actions = []string{string(Serve), string(Check), string(Init), string(Top), string(Inspect), string(Version), string(Help)}

// flagKeys are the settings that have a flag.
var flagKeys = []struct{ flag, key string }{
	{"listen", "server.listen"},
	{"admin", "server.admin"},
	{"backends", "group.backends"},
	{"log-level", "log.level"},
	{"log-format", "log.format"},
}

// readArgs takes a command line apart, without the program's name. Flags may
// stand before and after the command.
func readArgs(args []string) (cmd Command, found []setting, file string, err error) {
	cmd.Action = Serve
	set := flag.NewFlagSet("redlock-proxy", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&file, "config", "", "")
	set.BoolVar(&cmd.Ping, "ping", false, "")
	for _, f := range flagKeys {
		// The function never fails: an error of the flag package repeats the
		// value, and that may hold a password.
		set.Func(f.flag, "", func(value string) error {
			row, _ := lookup(f.key)
			found = append(found, setting{key: f.key, texts: split(row.kind, value), kind: row.kind, where: "-" + f.flag})
			return nil
		})
	}
	for named := false; ; named = true {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return Command{Action: Help}, nil, "", nil
		} else if err != nil {
			return cmd, nil, "", fmt.Errorf("command line: %w%s", err, flagHint(err))
		}
		if set.NArg() == 0 {
			break
		}
		if named && cmd.Action == Inspect && cmd.Key == "" {
			cmd.Key = set.Arg(0)
		} else if err := cmd.name(set.Arg(0), named); err != nil {
			return cmd, nil, "", err
		}
		args = set.Args()[1:]
	}
	if cmd.Ping && cmd.Action != Check {
		return cmd, nil, "", errors.New("command line: -ping belongs to the check command: `redlock-proxy check -ping`")
	}
	if cmd.Action == Inspect && cmd.Key == "" {
		return cmd, nil, "", errors.New("command line: inspect needs the key to look at: `redlock-proxy inspect KEY`")
	}
	return cmd, found, file, nil
}

// name takes an argument that is no flag.
func (cmd *Command) name(arg string, named bool) error {
	for _, a := range actions {
		switch {
		case arg != a:
		case named:
			return fmt.Errorf("command line: %s is a second command after %s; give only one", a, cmd.Action)
		default:
			cmd.Action = Action(a)
			return nil
		}
	}
	if named {
		// Not repeated: it may be half of a list of backends.
		return fmt.Errorf("command line: there is an argument too many after %s; "+
			"a list of backends has commas and no spaces", cmd.Action)
	}
	if strings.Trim(arg, "abcdefghijklmnopqrstuvwxyz-") != "" {
		arg = "of that name" // an address that lost its flag, perhaps with a password
	}
	return fmt.Errorf("command line: there is no command %s%s", arg, suggestion(arg, actions))
}

func flagHint(err error) string {
	if strings.Contains(err.Error(), "not defined") {
		return "; `redlock-proxy -h` lists the flags"
	}
	return ""
}
