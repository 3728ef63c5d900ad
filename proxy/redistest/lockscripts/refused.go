package lockscripts

// Refused are scripts that lock with more than strings, and the command that each
// has to fail with on a free lock if it acquires, else on its owner's. Those with two
// keys have a list or the like as the second.
func Refused() []Refusal { return refused }

// Refusal is a script that can't be served.
type Refusal struct {
	Script
	Command string // in upper case
}

var refused = []Refusal{
	{Command: "LPUSH", Script: Script{Name: "release: wakes by a list", Args: []string{Owner}, Keys: Counted,
		Text: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end redis.call('del', KEYS[2]) redis.call('lpush', KEYS[2], 1) redis.call('del', KEYS[1]) return 0`}},
	{Command: "KEYS", Script: Script{Name: "release: everybody's", Text: `for _, k in ipairs(redis.call('keys', 'lock:*')) do redis.call('del', k) end`}},
	{Command: "ZREMRANGEBYSCORE", Script: Script{Name: "acquire: sorted set", Args: []string{Owner, "60000", "1700000000000"},
		Text: `redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[3]) if redis.call('zcard', KEYS[1]) > 0 then return 0 end redis.call('zadd', KEYS[1], ARGV[3] + ARGV[2], ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return 1`}},
	{Command: "ZSCORE", Script: Script{Name: "acquire: sorted set by the server's clock", Args: []string{Owner, "60000"},
		Text: `redis.replicate_commands() local now = redis.call('TIME') if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end redis.call('ZADD', KEYS[1], now[1] + ARGV[2], ARGV[1]) return 1`}},
	{Command: "ZADD", Script: Script{Name: "extend: sorted set", Args: []string{Owner, "60000"},
		Text: `redis.call('pexpire', KEYS[1], ARGV[2]) redis.pcall('zadd', KEYS[1], 'XX', ARGV[2], ARGV[1]) return 1`}},
	{Command: "HINCRBY", Script: Script{Name: "acquire: hash", Args: []string{Owner, "60000"},
		Text: `if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return nil end return redis.call('pttl', KEYS[1])`}},
	{Command: "HINCRBY", Script: Script{Name: "acquire: hash with fencing number", Args: []string{Owner, "60000"}, Keys: Counted,
		Text: `redis.call('incr', KEYS[2]) redis.call('hincrby', KEYS[1], ARGV[1], 1) return 1`}},
	{Command: "LINDEX", Script: Script{Name: "acquire: in turn", Args: []string{Owner, "60000"}, Keys: Counted,
		Text: `if redis.call('exists', KEYS[1]) == 0 and redis.call('lindex', KEYS[2], 0) == false then redis.call('hset', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2]) return nil end return redis.call('pttl', KEYS[1])`}},
	{Command: "DECRBY", Script: Script{Name: "acquire: a permit", Args: []string{"1"},
		Text: `if tonumber(redis.call('get', KEYS[1]) or ARGV[1]) >= tonumber(ARGV[1]) then redis.call('decrby', KEYS[1], ARGV[1]) return 1 end return 0`}},
	{Command: "RPUSH", Script: Script{Name: "acquire: a job's digest", Args: []string{Owner, "60"}, Keys: Counted,
		Text: `if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then return redis.call('get', KEYS[1]) end redis.call('expire', KEYS[1], ARGV[2]) redis.call('rpush', KEYS[2], ARGV[1]) return ARGV[1]`}},
}
