package proxy

import (
	"strings"

	"redlockproxy/resp"
)

// command answers COMMAND and its subcommands. COMMAND DOCS is refused: redis-cli
// then uses the help texts that it brings along, which say more.
func command(name string, args []string) resp.Reply {
	switch name {
	case "command":
		return commandInfos(resp.Commands())
	case "command|count":
		return resp.Int(len(resp.Commands()))
	case "command|list":
		list := resp.Array{}
		for _, info := range resp.Commands() {
			list = append(list, resp.Bulk(info.Name))
		}
		return list
	case "command|info":
		if len(args) == 2 {
			return commandInfos(resp.Commands())
		}
		list := resp.Array{}
		for _, n := range args[2:] {
			if info, ok := resp.Lookup(n); ok && info.Family != resp.Refused {
				list = append(list, commandInfo(info))
			} else {
				list = append(list, resp.NullArray{})
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

// commandInfo is a command's entry in the ten fields of Redis 7, the last four of
// which (categories, tips, key specifications, subcommands) are left empty.
func commandInfo(info resp.Info) resp.Reply {
	flags := resp.Array{}
	for _, f := range info.Flags.Names() {
		flags = append(flags, resp.Status(f))
	}
	return resp.Array{
		resp.Bulk(info.Name), resp.Int(info.Arity), flags,
		resp.Int(info.FirstKey), resp.Int(info.LastKey), resp.Int(info.Step),
		resp.Array{}, resp.Array{}, resp.Array{}, resp.Array{},
	}
}

func commandKeys(args []string) resp.Reply {
	if _, err := resp.Check(args); err != nil {
		return resp.ErrNoSuchCommand
	}
	keys := resp.Keys(args)
	if len(keys) == 0 {
		return resp.ErrNoKeys
	}
	list := resp.Array{}
	for _, k := range keys {
		list = append(list, resp.Bulk(strings.Clone(k)))
	}
	return list
}
