package lua

import "time"

// Limits bounds one script and one run of it. A zero field stands for its
// default, so the zero value is a usable setting.
type Limits struct {
	// MaxSource is the longest script text, in bytes; 64 KiB by default. It also
	// bounds what one run may hand to load and loadstring in total.
	MaxSource int
	// MaxSteps is how much work a run may do; 1,000,000 by default. One step is
	// one instruction of the virtual machine; library functions count extra
	// steps for long strings, tables and searches.
	MaxSteps int64
	// MaxTime is how long a run may compute; 50 ms by default. Time spent in
	// Host.Call does not count: a slow backend is not the script's fault, and the
	// context given to Run bounds it. Nor does a single pause of the process.
	MaxTime time.Duration
	// MaxMemory is how many bytes a run may allocate in all, freed or not, by an
	// estimate that errs by no more than a factor of about three; 16 MiB by
	// default. Counting everything ever allocated is stricter than counting what
	// is alive, and needs no look at the garbage collector.
	MaxMemory int64
	// MaxString is the longest string a script may build, in bytes; 1 MiB by
	// default.
	MaxString int
	// Version is what redis.REDIS_VERSION tells, which is no limit, but changes with
	// them; three numbers from 0 to 255, 7.0.15 by default.
	Version string
}

// The defaults of Limits.
const (
	DefaultMaxSource = 64 << 10
	DefaultMaxSteps  = 1_000_000
	DefaultMaxTime   = 50 * time.Millisecond
	DefaultMaxMemory = 16 << 20
	DefaultMaxString = 1 << 20
	DefaultVersion   = "7.0.15"
)

// withDefaults fills what was left out.
func (l Limits) withDefaults() Limits {
	if l.MaxSource <= 0 {
		l.MaxSource = DefaultMaxSource
	}
	if l.MaxSteps <= 0 {
		l.MaxSteps = DefaultMaxSteps
	}
	if l.MaxTime <= 0 {
		l.MaxTime = DefaultMaxTime
	}
	if l.MaxMemory <= 0 {
		l.MaxMemory = DefaultMaxMemory
	}
	if l.MaxString <= 0 {
		l.MaxString = DefaultMaxString
	}
	if l.Version == "" {
		l.Version = DefaultVersion
	}
	return l
}

// Bounds that are not settings: nothing a lock script does comes near them.
const (
	// maxDepth bounds how deep expressions and blocks nest in a text. The compiler
	// folds constants at every level of a tree, so its time grows with the square
	// of the depth: without this bound 64 KiB of "x+1+1+1..." took 34 seconds.
	maxDepth = 200
	// maxConstants bounds the different names, strings and numbers in a text: the
	// compiler searches them one by one.
	maxConstants = 4096
	// callDepth is how deep functions may call each other, and callDepthProtected
	// the same inside one pcall; a frame takes 88 bytes, allocated beforehand.
	callDepth          = 1024
	callDepthProtected = 256
	// maxProtected is how deep pcall and xpcall nest; Lua 5.1 has the same limit.
	maxProtected = 200
	// maxStack is how many values the stack of one thread may hold, 16 bytes each.
	maxStack = 64 << 10
	// maxUnpack is how many values unpack, string.byte and the like may return.
	maxUnpack = 8000
	// maxReplyDepth is how deep a reply may nest.
	maxReplyDepth = 128
)
