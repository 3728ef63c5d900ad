package guard

// Cause names why a client was cut off, in a word that suits a metric's label:
// there are only the ones below.
type Cause string

// The causes that Hooks.ProtocolError reports.
const (
	CauseMultibulkLength Cause = "multibulk_length"
	CauseBulkLength      Cause = "bulk_length"
	CauseExpectedDollar  Cause = "expected_dollar"
	CauseBigLine         Cause = "big_line"
	CauseBigCommand      Cause = "big_command"
	CauseLarge           Cause = "large_commands"
	CauseQuotes          Cause = "unbalanced_quotes"
	CauseInline          Cause = "inline"
	CauseUnauthenticated Cause = "unauthenticated"
	CauseCrossProtocol   Cause = "cross_protocol"
)

// The causes that Hooks.Timeout reports.
const (
	CauseHandshake   Cause = "handshake"
	CauseAuth        Cause = "auth"
	CauseHalfCommand Cause = "half_command"
	CauseIdle        Cause = "idle"
	CauseWriteStall  Cause = "write_stall"
)

// CauseTLS is for what Hooks.HandshakeFail reports.
const CauseTLS Cause = "tls_handshake"

// Causes are all of them.
func Causes() []Cause {
	return []Cause{
		CauseMultibulkLength, CauseBulkLength, CauseExpectedDollar, CauseBigLine, CauseBigCommand,
		CauseLarge, CauseQuotes, CauseInline, CauseUnauthenticated, CauseCrossProtocol,
		CauseHandshake, CauseAuth, CauseHalfCommand, CauseIdle, CauseWriteStall, CauseTLS,
	}
}

// A fault is why a client's bytes are no command. After it the connection can
// not be used, since nobody knows where the next command would begin.
type fault struct {
	cause Cause
	text  string // what the client is told; empty: nothing
}

// Redis's texts (networking.c of 7.0), but for the last four, which are about
// what Redis does not refuse.
var (
	faultMultibulkLength = &fault{CauseMultibulkLength, "invalid multibulk length"}
	faultBulkLength      = &fault{CauseBulkLength, "invalid bulk length"}
	faultBigCount        = &fault{CauseBigLine, "too big mbulk count string"}
	faultBigLength       = &fault{CauseBigLine, "too big bulk count string"}
	faultBigInline       = &fault{CauseBigLine, "too big inline request"}
	faultQuotes          = &fault{CauseQuotes, "unbalanced quotes in request"}
	faultUnauthMultibulk = &fault{CauseUnauthenticated, "unauthenticated multibulk length"}
	faultUnauthBulk      = &fault{CauseUnauthenticated, "unauthenticated bulk length"}

	faultCrossProtocol = &fault{CauseCrossProtocol, ""}
	faultNUL           = &fault{CauseInline, "NUL byte in inline request"}
	faultBigCommand    = &fault{CauseBigCommand, "too big request"}
	faultLarge         = &fault{CauseLarge, "too many large requests at the same time"}
)

// faultExpectedDollar is for a byte where a bulk's $ should be. A line break
// would end the error reply early, so it is replaced, as Redis does.
func faultExpectedDollar(got byte) *fault {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	return &fault{CauseExpectedDollar, "expected '$', got '" + string([]byte{got}) + "'"}
}

// reply is the fault as the client hears it; empty if it is told nothing.
func (f *fault) reply() string {
	if f.text == "" {
		return ""
	}
	return "-ERR Protocol error: " + f.text + "\r\n"
}
