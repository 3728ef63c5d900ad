package resp

// digestLen is the length of a SHA1 in hexadecimal.
const digestLen = 40

// parseEval parses EVAL, EVALSHA and their _RO forms.
func parseEval(name string, args []string) (Request, error) {
	e := Eval{
		Script:   args[1],
		ByDigest: name == "evalsha" || name == "evalsha_ro",
		ReadOnly: name == "eval_ro" || name == "evalsha_ro",
	}
	if e.ByDigest {
		// Redis looks at this before the keys, so it is the first error here too.
		if len(e.Script) != digestLen {
			return nil, ErrNoScript
		}
		e.Script = LowerASCII(e.Script)
	}
	keys, rest, err := scriptKeys(args)
	if err != "" {
		return nil, err
	}
	e.Keys, e.Args = keys, rest
	return e, nil
}

// scriptKeys splits what follows the number of keys into keys and arguments; ""
// stands for no error.
func scriptKeys(args []string) (keys, rest []string, err Error) {
	if len(args) < 3 {
		return nil, nil, ErrSyntax
	}
	n, ok := parseInt(args[2])
	args = args[3:]
	switch {
	case !ok:
		return nil, nil, ErrNotInteger
	case n > int64(len(args)):
		return nil, nil, ErrTooManyKeys
	case n < 0:
		return nil, nil, ErrNegativeKeys
	}
	return args[:n:n], args[n:], ""
}

// parseScript parses the subcommands of SCRIPT.
func parseScript(_ string, args []string) (Request, error) {
	if len(args) < 2 {
		return nil, WrongArity("script")
	}
	switch option(args[1]) {
	case "LOAD":
		return ScriptLoad{Script: args[2]}, nil
	case "EXISTS":
		digests := make([]string, 0, len(args)-2)
		for _, d := range args[2:] {
			digests = append(digests, LowerASCII(d))
		}
		return ScriptExists{Digests: digests}, nil
	case "FLUSH":
		if len(args) == 2 {
			return ScriptFlush{}, nil
		}
		if mode := option(args[2]); len(args) == 3 && (mode == "ASYNC" || mode == "SYNC") {
			return ScriptFlush{}, nil
		}
		return nil, ErrScriptFlush
	}
	return nil, Unsupported("script|" + args[1]) // HELP, which is a Local command
}
