package resp

import (
	"strconv"
	"strings"
	"time"
)

// Every error text that a client can get stands in this file, except the reasons
// for refusing commands, which stand beside the commands in refused.go, what scripts
// are told by package lua, and what ends a connection in package guard, which reads
// bytes and knows no replies.
//
// Texts that Redis has are Redis's own to the letter, because clients look for
// words in them. Our own texts begin with a word that no client knows,
// UNAVAILABLE or UNSUPPORTED: some libraries silently send a command again on
// Redis's words for trouble, and some swallow every error that begins with ERR.
// They also stay clear of words that libraries search for anywhere in a text,
// such as the names of transport faults or of Redis's own error codes; a test
// has the list.

// Errors about arguments and values, in Redis's words.
const (
	ErrSyntax      = Error("ERR syntax error")
	ErrNotInteger  = Error("ERR value is not an integer or out of range")
	ErrOverflow    = Error("ERR increment or decrement would overflow")
	ErrCursor      = Error("ERR invalid cursor")
	ErrWrongType   = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrExpireNX    = Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	ErrExpireGTLT  = Error("ERR GT and LT options at the same time are not compatible")
	ErrDelExOption = Error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
	ErrDelExType   = Error("ERR Key should be of string type if conditions are specified")
	ErrDigest      = Error("ERR digest must be exactly 16 hexadecimal characters")
)

// Errors about scripts, in Redis's words.
const (
	ErrNoScript        = Error("NOSCRIPT No matching script. Please use EVAL.")
	ErrTooManyKeys     = Error("ERR Number of keys can't be greater than number of args")
	ErrNegativeKeys    = Error("ERR Number of keys can't be negative")
	ErrScriptFlush     = Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	ErrNotInScript     = Error("ERR This Redis command is not allowed from script")
	ErrUnknownInScript = Error("ERR Unknown Redis command called from script")
	ErrArityInScript   = Error("ERR Wrong number of args calling Redis command from script")
	ErrReadOnlyScript  = Error("ERR Write commands are not allowed from read-only scripts.")
	ErrWritingScript   = Error("ERR Can not execute a script with write flag using *_ro command.")
	ErrShebang         = Error("ERR Invalid script shebang")
)

// ShebangEngine is the error for a script's first line that begins with another word than
// #!lua.
func ShebangEngine(word string) Error {
	return Error("ERR Unexpected engine in script shebang: " + clean(word))
}

// ShebangOption is the error for a word of that line which is not about flags.
func ShebangOption(word string) Error {
	return Error("ERR Unknown lua shebang option: " + clean(word))
}

// ShebangFlag is the error for a flag in it that Redis doesn't know.
func ShebangFlag(flag string) Error {
	return Error("ERR Unexpected flag in script shebang: " + clean(flag))
}

// Errors of the handshake, in Redis's words; ErrHelloNoAuth in those of 7.2 and
// later, which name the protocol.
const (
	ErrNoAuth          = Error("NOAUTH Authentication required.")
	ErrWrongPass       = Error("WRONGPASS invalid username-password pair or user is disabled.")
	ErrAuthNoPassword  = Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	ErrHelloNoAuth     = Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
	ErrNoProto         = Error("NOPROTO unsupported protocol version")
	ErrProtoNotInteger = Error("ERR Protocol version is not an integer or out of range")
	ErrDBIndex         = Error("ERR DB index is out of range")
	ErrDBNotInt32      = Error("ERR value is out of range, value must between -2147483648 and 2147483647")
	ErrClientName      = Error("ERR Client names cannot contain spaces, newlines or special characters.")
	ErrClusterDisabled = Error("ERR This instance has cluster support disabled")
)

// Errors of transactions, in Redis's words.
const (
	ErrExecAbort           = Error("EXECABORT Transaction discarded because of previous errors.")
	ErrNestedMulti         = Error("ERR MULTI calls can not be nested")
	ErrExecWithoutMulti    = Error("ERR EXEC without MULTI")
	ErrDiscardWithoutMulti = Error("ERR DISCARD without MULTI")
	ErrWatchInMulti        = Error("ERR WATCH inside MULTI is not allowed")
	ErrNotInMulti          = Error("ERR Command not allowed inside a transaction")
)

// ExecAborted is what EXEC answers when it is refused itself.
func ExecAborted(because Error) Error {
	return "EXECABORT Transaction discarded because of: " + Error(strings.TrimPrefix(string(because), "ERR "))
}

// WrongArity is the error for too few or too many arguments. The name is in
// lower case; a subcommand's has a bar in it: script|load.
func WrongArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// InvalidExpire is the error for a time to live that is out of range. The name
// is in lower case.
func InvalidExpire(name string) Error {
	return Error("ERR invalid expire time in '" + name + "' command")
}

// expireOption is the error for a word that EXPIRE doesn't know. Redis takes
// line breaks off its ends and replaces those inside.
func expireOption(word string) Error {
	return Error("ERR Unsupported option " + clean(strings.TrimRight(cstring(word), "\r\n")))
}

// HelloOption is the error for an option that HELLO doesn't know, or that lacks
// its arguments.
func HelloOption(word string) Error {
	return Error("ERR Syntax error in HELLO option '" + clean(cstring(word)) + "'")
}

// UnknownSubcommand is the error for the second word of a command such as CLIENT.
func UnknownSubcommand(command, sub string) Error {
	return Error("ERR unknown subcommand '" + clean(clip(sub, maxEcho)) + "'. Try " +
		UpperASCII(command) + " HELP.")
}

// SubcommandSyntax is the error for too many words behind a subcommand.
func SubcommandSyntax(command, sub string) Error {
	return Error("ERR unknown subcommand or wrong number of arguments for '" + clean(clip(sub, maxEcho)) +
		"'. Try " + UpperASCII(command) + " HELP.")
}

// maxEcho is how many bytes of a client's own words Redis repeats in an error.
const maxEcho = 128

// UnknownCommand is the error for a command that Redis doesn't have. Clients
// decide by its wording whether to fall back to older commands, so it is Redis's
// to the byte: the name and the list of arguments are cut at 128 bytes each, and
// each of them ends at its first NUL.
func UnknownCommand(args []string) Error {
	if len(args) == 0 {
		args = []string{""}
	}
	list := make([]byte, 0, maxEcho+8)
	for _, a := range args[1:] {
		if len(list) >= maxEcho {
			break
		}
		a = clip(a, maxEcho-len(list))
		list = append(list, '\'')
		list = append(list, a...)
		list = append(list, "' "...)
	}
	return Error(clean("ERR unknown command '" + clip(args[0], maxEcho) +
		"', with args beginning with: " + string(list)))
}

// Unavailable is the answer when too many backends failed for a majority to
// grant or to refuse: n backends were asked and q of them had to agree. What was
// asked may or may not have happened.
func Unavailable(granted, refused, failed, n, q int) Error {
	return Error("UNAVAILABLE " + strconv.Itoa(granted) + " granted, " + strconv.Itoa(refused) +
		" refused, " + strconv.Itoa(failed) + " failed of " + strconv.Itoa(n) + " backends; " +
		strconv.Itoa(q) + " needed")
}

// Because adds to an answer of Unavailable why backends have no vote.
func (e Error) Because(why string) Error { return e + ": " + Error(clean(why)) }

// UnavailableReason is Unavailable with a reason other than the votes: no round
// was possible at all, or several did not settle it.
func UnavailableReason(why string) Error { return Error("UNAVAILABLE " + clean(why)) }

// Reasons other than the votes. Nothing was written, or it was undone.
const (
	ErrStopping  = Error("UNAVAILABLE the proxy is stopping")
	ErrTooLate   = Error("UNAVAILABLE the script or transaction was not done when the time for its answer was over")
	ErrLockOver  = Error("UNAVAILABLE the lock's time was over before the answer could be given; it was released")
	ErrUnwatched = Error("UNAVAILABLE the WATCH before this transaction failed; nothing was written, begin with WATCH again")
)

// ErrReservedKey is the answer to a command that names ReservedKey.
const ErrReservedKey = Error("UNSUPPORTED the key " + ReservedKey + ": it is where backends keep what the proxy must know of them; use another name")

// TTLTooLong is the answer to a time to live above the configured maximum.
func TTLTooLong(max time.Duration) Error {
	return Error("UNSUPPORTED a time to live above " + strconv.FormatInt(max.Milliseconds(), 10) +
		" ms: the configured maximum bounds how long a lost lock can stay; use a shorter one and extend it")
}

const errIncrNotAbove = Error("UNSUPPORTED INCRBY with an increment of zero or less: " +
	"fencing numbers only rise; use an increment above zero, or GET to read the number")

// cstring cuts s at its first NUL, where Redis stops reading a word.
func cstring(s string) string {
	before, _, _ := strings.Cut(s, "\x00")
	return before
}

// clip is cstring, of at most n bytes.
func clip(s string, n int) string {
	s = cstring(s)
	return s[:min(len(s), n)]
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// clean replaces line breaks by blanks, as Redis does in errors that repeat a
// client's own words.
func clean(s string) string { return lineBreaks.Replace(s) }

// Errors about bounds that Redis does not have.
const (
	ErrTooManyChannels = Error("UNSUPPORTED too many subscriptions")
	ErrTooManyQueued   = Error("UNSUPPORTED too many commands in one transaction, or keys in them")
	ErrTooManyWatched  = Error("UNSUPPORTED too many watched keys")
)

// ErrClientInfo is Redis's error for a value that CLIENT SETINFO does not take.
func ErrClientInfo(attribute string) Error {
	return Error("ERR " + clean(clip(attribute, 128)) + " cannot contain spaces, newlines or special characters.")
}

// ErrClientOption is Redis's error for an attribute that CLIENT SETINFO does not know.
func ErrClientOption(attribute string) Error {
	return Error("ERR Unrecognized option '" + clean(clip(attribute, 128)) + "'")
}

// Errors of COMMAND GETKEYS, in Redis's words.
const (
	ErrNoSuchCommand = Error("ERR Invalid command specified")
	ErrNoKeys        = Error("ERR The command has no key arguments")
	ErrKeysArity     = Error("ERR Invalid number of arguments specified for command")
)

// Errors of CLIENT and COMMAND; those that begin with ERR in Redis's words.
const (
	ErrNotTracking    = Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	ErrUnblock        = Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	ErrNoSuchClient   = Error("ERR No such client")
	ErrClientID       = Error("ERR client-id should be greater than 0")
	ErrInvalidID      = Error("ERR Invalid client ID")
	ErrMaxAge         = Error("ERR maxage is not an integer or out of range")
	ErrReplyOff       = Error("UNSUPPORTED CLIENT REPLY OFF and SKIP: a client must hear what became of its locks; read the replies and drop them")
	ErrTracking       = Error("UNSUPPORTED CLIENT TRACKING ON: " + whyTracking)
	ErrLongName       = Error("UNSUPPORTED a client name of more than 256 bytes, since each connection keeps it; use a shorter one")
	ErrReplySize      = Error("UNSUPPORTED a reply of more than 64 MB; ask for fewer keys or values at once")
	ErrPattern        = Error("UNSUPPORTED a pattern of more than 256 bytes; use a shorter one, and look through the names that it finds")
	ErrFilterCategory = Error("UNSUPPORTED COMMAND LIST FILTERBY ACLCAT: commands have no categories here; use FILTERBY PATTERN")
)

// ErrClientType is Redis's error for a type of client that it does not know.
func ErrClientType(word string) Error {
	return Error("ERR Unknown client type '" + clean(clip(word, maxEcho)) + "'")
}

// ErrNoSuchUser is Redis's error for a user that it does not know.
func ErrNoSuchUser(name string) Error {
	return Error("ERR No such user '" + clean(clip(name, maxEcho)) + "'")
}

// Subscribed is Redis's error for a command, by its name in lower case, that a RESP2
// connection with subscriptions may not send.
func Subscribed(name string) Error {
	return Error("ERR Can't execute '" + name +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}
