package lockscripts

import "slices"

// Served are all scripts that lock with string keys.
func Served() []Script { return slices.Concat(acquire, release, extend, inspect) }

var acquire = []Script{
	{Name: "acquire: set", Text: `return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`, Args: []string{Owner, "60000"}},
	{Name: "acquire: exists, then set", Keys: Any, Args: []string{Owner, "60000"},
		Text: `for _, k in ipairs(KEYS) do if redis.call('exists', k) == 1 then return 0 end end for _, k in ipairs(KEYS) do redis.call('set', k, ARGV[1], 'PX', ARGV[2]) end return #KEYS`},
	{Name: "acquire: mine or free", Args: []string{Owner, "60000"},
		Text: `local v = redis.call('get', KEYS[1]) if not v or v == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end return redis.error_reply('ERROR')`},
	{Name: "acquire: only if asked", Args: []string{Owner, "60000", "yes"}, Text: acquireIfAsked},
	{Name: "acquire: not asked", Args: []string{Owner, "60000", "no"}, Text: acquireIfAsked},
	{Name: "acquire: prefix", Args: []string{Owner, "2", "60000"},
		Text: `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return redis.status_reply('OK') end local n = tonumber(ARGV[2]) if redis.call('getrange', KEYS[1], 0, n - 1) == string.sub(ARGV[1], 1, n) then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[3]) end return false`},
	{Name: "acquire: several", Keys: Any, Args: []string{Owner, "2", "60000"},
		Text: `local kv = {} for _, k in ipairs(KEYS) do kv[#kv + 1] = k kv[#kv + 1] = ARGV[1] end if redis.call('MSETNX', unpack(kv)) == 0 then for _, k in ipairs(KEYS) do if redis.call('getrange', k, 0, tonumber(ARGV[2]) - 1) ~= string.sub(ARGV[1], 1, tonumber(ARGV[2])) then return false end end redis.call('mset', unpack(kv)) end for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[3]) end return redis.status_reply('OK')`},
	{Name: "acquire: and read", Args: []string{Owner, "60000"},
		Text: `local r = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) redis.call('GET', KEYS[1]) return r`},
	{Name: "acquire: until", Args: []string{Owner, deadline},
		Text: `local r = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PXAT', ARGV[2]) redis.call('GET', KEYS[1]) return r`},
	{Name: "acquire: by force", Args: []string{Owner, deadline},
		Text: `local r = redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2]) redis.call('GET', KEYS[1]) return r`},
	{Name: "acquire: true or nil", Args: []string{Owner, "60000"},
		Text: `local id = redis.call('GET', KEYS[1]) if id == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return true elseif not id then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return true end return false`},
	{Name: "acquire: setex", Text: `return redis.call('exists', KEYS[1]) < 1 and redis.call('setex', KEYS[1], ARGV[2], ARGV[1])`, Args: []string{Owner, "60"}},
	{Name: "acquire: with fencing number", Keys: Counted, Args: []string{Owner, "60000"},
		Text: `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) end return false`},
}

const acquireIfAsked = `if (redis.call('exists', KEYS[1]) == 0 and ARGV[3] == 'yes') or redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`

var release = []Script{
	{Name: "release", Args: []string{Owner},
		Text: `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`},
	{Name: "release: constants", Args: []string{Owner},
		Text: `local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1`},
	{Name: "release: missing told", Args: []string{Owner},
		Text: `local v = redis.call("GET", KEYS[1]) if v == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif v == false then return -1 else return 0 end`},
	{Name: "release: other told", Args: []string{Owner},
		Text: `local v = redis.call("get", KEYS[1]) if v == ARGV[1] then return redis.call("del", KEYS[1]) elseif not v then return -1 end return -2`},
	{Name: "release: status and error", Args: []string{Owner},
		Text: `local v = redis.call('get', KEYS[1]) if v == ARGV[1] then return redis.call('del', KEYS[1]) elseif v == false then return redis.status_reply('OK') end return redis.error_reply('ERROR')`},
	{Name: "release: unlink", Args: []string{Owner},
		Text: `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('UNLINK', KEYS[1]) return true end return false`},
	{Name: "release: tells a channel", Args: []string{Owner, "channel"},
		Text: `if redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('UNLINK', KEYS[1]) == 1 then redis.call('PUBLISH', ARGV[2], KEYS[1]) return true end return false`},
	{Name: "release: all or nothing", Keys: Any, Args: []string{Owner},
		Text: `local values = redis.call('mget', unpack(KEYS)) for i = 1, #KEYS do if values[i] ~= ARGV[1] then return false end end redis.call('del', unpack(KEYS)) return redis.status_reply('OK')`},
	{Name: "release: each", Keys: Any, Args: []string{Owner},
		Text: `local n = 0 for i, k in ipairs(KEYS) do if redis.call("get", k) == ARGV[1] then redis.pcall("del", k) n = n + 1 end end return n`},
}

const extendTold = `local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) if not left then left = 0 end if left < 0 then return 0 end local new = ARGV[2] if ARGV[3] == "0" then new = ARGV[2] + left end redis.call('pexpire', KEYS[1], new) return 1`

// Additive is the extension that adds to what is left, instead of replacing it.
var Additive = Script{Name: "extend: add", Text: extendTold, Args: []string{Owner, "90000", "0"}}

var extend = []Script{
	{Name: "extend", Args: []string{Owner, "90000"},
		Text: `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`},
	Additive,
	{Name: "extend: replace", Text: extendTold, Args: []string{Owner, "90000", "1"}},
	{Name: "extend: constants", Args: []string{Owner, "90000"},
		Text: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('pexpire', KEYS[1], ARGV[2]) return 1`},
	{Name: "extend: true or nil", Args: []string{Owner, "90000"},
		Text: `local mine = redis.call('GET', KEYS[1]) == ARGV[1] if mine then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return mine`},
	{Name: "extend: only if it expires", Args: []string{Owner, "90000"},
		Text: `local holder, left = redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1]) if holder == ARGV[1] and left >= 0 then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end return 0`},
	{Name: "extend: or take", Args: []string{Owner, "90000"},
		Text: `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) elseif redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 else return 0 end`},
	{Name: "extend: or -1", Args: []string{Owner, "90000"},
		Text: `local v = redis.call('get', KEYS[1]) if v == false then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) and 1 or 0 elseif v == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return -1 end`},
	{Name: "extend: or the reply of set", Args: []string{Owner, "90000"},
		Text: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) end return redis.call('pexpire', KEYS[1], ARGV[2])`},
	{Name: "extend: all", Keys: Any, Args: []string{Owner, "90000"},
		Text: `for _, k in ipairs(KEYS) do if redis.call("get", k) ~= ARGV[1] then return 0 end end for _, k in ipairs(KEYS) do redis.call("set", k, ARGV[1], "PX", ARGV[2]) end return #KEYS`},
	{Name: "extend: set again", Args: []string{Owner, "90000"},
		Text: `if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end if redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2]) then return 1 end return 0`},
	{Name: "extend: absolute", Args: []string{Owner, deadline},
		Text: `if redis.call("GET", KEYS[1]) == ARGV[1] then local r = redis.call("PEXPIREAT", KEYS[1], ARGV[2]) redis.call("GET", KEYS[1]) return r end return 0`},
	{Name: "extend: numbered codes", Args: []string{"90", Owner},
		Text: `if redis.call("get", KEYS[1]) ~= ARGV[2] then return 1 elseif redis.call("ttl", KEYS[1]) < 0 then return 2 else redis.call("expire", KEYS[1], ARGV[1]) return 0 end`},
	{Name: "extend: status", Keys: Any, Args: []string{Owner, "90000"},
		Text: `local v = redis.call('mget', unpack(KEYS)) for i, _ in ipairs(KEYS) do if v[i] ~= ARGV[1] then return nil end end for _, k in ipairs(KEYS) do redis.call('pexpire', k, ARGV[2]) end return redis.status_reply("OK")`},
	{Name: "extend: all operands are keys", AlsoKeys: []string{"90000", Owner},
		Text: `if redis.call('get', KEYS[1]) ~= KEYS[3] then return 0 end return redis.call('set', KEYS[1], KEYS[3], 'PX', KEYS[2], 'XX')`},
	{Name: "extend: expire or persist, 90 s", Text: expireOrPersist, Args: []string{Owner, "90"}},
	{Name: "extend: expire or persist, no end", Text: expireOrPersist, Args: []string{Owner, "0"}},
}

const expireOrPersist = `if redis.call('get', KEYS[1]) == ARGV[1] then if tonumber(ARGV[2]) > 0 then return redis.call('expire', KEYS[1], ARGV[2]) else redis.call('persist', KEYS[1]) return 1 end else return 0 end`

var inspect = []Script{
	{Name: "inspect: left", Args: []string{Owner},
		Text: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end local left = redis.call('pttl', KEYS[1]) return left > 0 and left or 0`},
	{Name: "inspect: smallest", Keys: Any, Args: []string{Owner},
		Text: `local least = 0 local v = redis.call('mget', unpack(KEYS)) for i, k in ipairs(KEYS) do if v[i] ~= ARGV[1] then return nil end local left = redis.call('pttl', k) if left > 0 and (least == 0 or left < least) then least = left end end return least`},
	{Name: "inspect: -3", Args: []string{Owner},
		Text: `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pttl", KEYS[1]) else return -3 end`},
	{Name: "inspect: error", Args: []string{Owner},
		Text: `if redis.call('get', KEYS[1]) ~= ARGV[1] then return {err = 'ERROR not the holder'} end return redis.call('ttl', KEYS[1])`},
	{Name: "inspect: pair", Text: `return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1])}`},
}
