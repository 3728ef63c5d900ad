package proxy

import (
	"slices"
	"strings"

	"redlockproxy/resp"
)

// command answers COMMAND and its subcommands. COMMAND DOCS for all commands is refused:
// redis-cli then uses the help texts that it brings along, which say more.
func command(name string, args []string) resp.Reply {
	switch name {
	case "command":
		return commandInfos(resp.Commands())
	case "command|count":
		return resp.Int(len(resp.Commands()))
	case "command|list":
		return commandList(args[2:])
	case "command|docs":
		if len(args) > 2 {
			return commandDocs(args[2:])
		}
	case "command|info":
		if len(args) == 2 {
			return commandInfos(resp.Commands())
		}
		list := resp.Array{}
		for _, n := range args[2:] {
			if info, ok := resp.Describe(n); ok && info.Family != resp.Refused {
				list = append(list, commandInfo(info))
			} else {
				list = append(list, resp.Null{})
			}
		}
		return list
	case "command|getkeys":
		return commandKeys(args[2:])
	}
	return resp.UnknownSubcommand("command", args[1])
}

func commandInfos(infos []resp.Info) resp.Reply {
	list := make(resp.Array, 0, len(infos))
	for _, info := range infos {
		list = append(list, commandInfo(info))
	}
	return list
}

// commandList is COMMAND LIST [FILTERBY MODULE|ACLCAT|PATTERN value].
func commandList(args []string) resp.Reply {
	pattern := "*"
	if len(args) > 0 {
		if len(args) != 3 || resp.LowerASCII(args[0]) != "filterby" {
			return resp.ErrSyntax
		}
		switch resp.LowerASCII(args[1]) {
		case "module":
			return resp.Array{} // there are none
		case "aclcat":
			return resp.ErrFilterCategory
		case "pattern":
			if pattern = resp.LowerASCII(args[2]); len(pattern) > resp.MaxPattern {
				return resp.ErrPattern
			}
		default:
			return resp.ErrSyntax
		}
	}
	list := resp.Array{}
	for _, info := range resp.Commands() {
		for _, i := range append([]resp.Info{info}, resp.Subcommands(info.Name)...) {
			if glob(pattern, i.Name) {
				list = append(list, resp.Bulk(i.Name))
			}
		}
	}
	return list
}

// commandDocs is what there is to say of some commands; of what is not served, nothing.
func commandDocs(names []string) resp.Reply {
	docs := resp.Map{}
	for _, n := range names {
		if info, ok := resp.Describe(n); ok && info.Family != resp.Refused && !slices.Contains(docs, resp.Reply(resp.Bulk(info.Name))) {
			docs = append(docs, resp.Bulk(info.Name), resp.Map{resp.Bulk("summary"), resp.Bulk(info.Help)})
		}
	}
	return docs
}

// commandInfo is a command's entry in the ten fields of Redis 7, three of which
// (categories, tips, key specifications) are left empty.
func commandInfo(info resp.Info) resp.Reply {
	flags := resp.Unordered{}
	for _, f := range info.Flags.Names() {
		flags = append(flags, resp.Status(f))
	}
	return resp.Array{
		resp.Bulk(info.Name), resp.Int(info.Arity), flags,
		resp.Int(info.FirstKey), resp.Int(info.LastKey), resp.Int(info.Step),
		resp.Unordered{}, resp.Unordered{}, resp.Unordered{}, subcommandInfos(info.Name),
	}
}

func subcommandInfos(name string) resp.Reply {
	list := resp.Unordered{}
	for _, sub := range resp.Subcommands(name) {
		list = append(list, commandInfo(sub))
	}
	return list
}

func commandKeys(args []string) resp.Reply {
	info, err := resp.Check(args)
	switch {
	case err == resp.WrongArity(info.Name) && info.Keyed():
		return resp.ErrKeysArity
	case err == resp.WrongArity(info.Name):
		return resp.ErrNoKeys
	case err != nil:
		return resp.ErrNoSuchCommand
	}
	keys := resp.Keys(args)
	if len(keys) == 0 && info.Flags&resp.NoMandatoryKeys == 0 {
		return resp.ErrNoKeys
	}
	list := resp.Array{}
	for _, k := range keys {
		list = append(list, resp.Bulk(strings.Clone(k)))
	}
	return list
}
