package resp

import "strings"

// Why groups of commands are refused, and what to use instead. Each reads on
// behind "UNSUPPORTED <COMMAND>: ".
const (
	whyType     = "only string keys are served, since a majority decides locks and counters here; keep other data in a Redis of its own"
	whyBits     = "a value is read and written whole here, so that backends can be compared; use GET and SET"
	whyPubSub   = "messages are not relayed, since nobody could tell a lost one from none; wait for a lock by trying again after a delay"
	whyBlocking = "nothing wakes a waiting client here; try again after a delay"
	whyDecr     = "counters only rise, so that a fencing number never comes twice; use INCR or INCRBY"
	whyName     = "a key keeps its name and its database, since a majority decides each key by itself; use SET on the other key"
	whyScan     = "keys are decided one by one and no list of them is agreed on at one moment; use SCAN"
	whyFlush    = "it would drop the locks of every client; use DEL with the keys that are yours"
	whyDump     = "the bytes of one backend are not what a majority agreed on; use GET and PTTL, and SET with PX"
	whyFunction = "functions are not served; use EVAL, or SCRIPT LOAD and EVALSHA"
	whyAdmin    = "it is about one server, and several stand behind this endpoint; send it to the backend that it is for"
	whyScript   = "scripts end by themselves, within bounds of steps and time; use a Redis of your own to debug one"
	whyClient   = "a client that waited for it would lose its locks; stop the application instead"
	whyTracking = "no invalidations are sent, so a client's cache would go stale; turn client-side caching off and use GET"
	whySetting  = "settings come from this program's configuration file; change them there"
	whyModule   = "modules are not served; keep their data in a Redis of its own"
)

// refusals is why each refused command is refused, by its name in lower case; a
// subcommand has a bar in it. The list is Redis's own from 7.0 to 8.4. An empty
// reason means the error is Redis's own.
var refusals = reasons(map[string]string{
	whyType: `lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx
		hdel hexists hexpire hexpireat hexpiretime hget hgetall hgetdel hgetex hincrby hincrbyfloat hkeys hlen hmget hmset
		hpersist hpexpire hpexpireat hpexpiretime hpttl hrandfield hscan hset hsetex hsetnx hstrlen httl hvals
		sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember smove spop srandmember srem sscan sunion sunionstore
		zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange
		zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex
		zrevrangebyscore zrevrank zscan zscore zunion zunionstore
		xack xackdel xadd xautoclaim xcfgset xclaim xdel xdelex xgroup xidmprecord xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim
		geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore
		pfadd pfcount pfdebug pfmerge pfselftest
		vadd vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrange vrem vsetattr vsim
		sort sort_ro`,
	whyBits:     "bitcount bitfield bitfield_ro bitop bitpos getbit setbit lcs append setrange",
	whyPubSub:   "publish pubsub spublish",
	whyBlocking: "blmove blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin",
	whyDecr:     "decr decrby",
	whyName:     "rename renamenx copy move swapdb",
	whyScan:     "keys randomkey",
	whyFlush:    "flushall flushdb",
	whyDump:     "dump restore restore-asking migrate",
	whyFunction: "function fcall fcall_ro",
	whyAdmin: `acl bgrewriteaof bgsave debug failover lastsave latency memory module monitor object psync replconf replicaof save
		shutdown slaveof slowlog sync trimslots hotkeys command|getkeysandflags config|resetstat config|rewrite`,
	whyScript:  "script|debug script|kill",
	whyClient:  "client|pause client|unpause",
	whySetting: "config|set",

	"it reads the old value and writes blindly, so two clients could both believe they hold a lock; use SET with NX, or SET with GET": "getset",
	"it reads and writes by one word; use GET, and PEXPIRE or PERSIST, in one script if they belong together":                         "getex",
	"it sets several keys and their expiry at once; use MULTI, SET with PX for each, and EXEC":                                        "msetex",
	"counters are whole numbers, on which a majority can agree exactly; use INCRBY":                                                   "incrbyfloat",
	"keys are never dropped for being unused here; use EXISTS to count them":                                                          "touch",

	"": "cluster readonly readwrite asking",
})

// reasons turns reason -> names into name -> reason.
func reasons(groups map[string]string) map[string]string {
	all := make(map[string]string)
	for why, names := range groups {
		for _, name := range strings.Fields(names) {
			all[name] = why
		}
	}
	return all
}

// modulePrefixes begin the names of the commands of Redis's own modules. They
// are too many to list, and all are refused alike.
var modulePrefixes = []string{"json.", "ft.", "ts.", "bf.", "cf.", "cms.", "topk.", "tdigest."}

// ofModule reports whether name belongs to one of the modules.
func ofModule(name string) bool {
	for _, p := range modulePrefixes {
		if len(name) > len(p) && len(name) <= maxName && LowerASCII(name[:len(p)]) == p {
			return true
		}
	}
	return false
}

// Unsupported is the error for a command that Redis has and that is not served.
// The name is in any case; a subcommand is "config|set" or "config set". For the
// commands of a sharded group of servers it is Redis's own text, which their
// clients look for.
func Unsupported(name string) Error {
	key := strings.ReplaceAll(LowerASCII(clip(name, maxName)), " ", "|")
	why, known := refusals[key]
	switch {
	case known && why == "":
		return ErrClusterDisabled
	case !known && ofModule(name):
		why = whyModule
	case !known:
		why = "it is answered without the backends; send it as a command of its own"
	}
	return Error(clean("UNSUPPORTED " + UpperASCII(strings.ReplaceAll(key, "|", " ")) + ": " + why))
}
