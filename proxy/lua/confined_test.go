package lua

import "testing"

func TestScriptsThatNameOnlyTheirKeysAreConfined(t *testing.T) {
	for text, want := range map[string]bool{
		`return 1`: true,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`:             true,
		`local k = KEYS[1] if redis.pcall('set', k, ARGV[1], 'NX', unpack(ARGV, 2)) then return redis.call('TIME') end`: true,
		`for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1]) end return #KEYS`:                                true,
		`for i = 1, #KEYS do redis.call('pexpire', KEYS[i], ARGV[1]) end return redis.call('del', unpack(KEYS))`:        true,
		`local function f(v) return redis.status_reply(v) end redis.call('mset', KEYS[1], 1, KEYS[2], 2) return f(1)`:   true,
		`return redis.call('publish', ARGV[1], 1)`:                                                                      true,
		`return redis.call('get', 'a')`:                                                                                false,
		`return redis.call('get', KEYS[1] .. ':fence')`:                                                                false,
		`return redis.call('get', ARGV[1])`:                                                                            false,
		`local k = KEYS[1] k = 'a' return redis.call('get', k)`:                                                        false,
		`local k = KEYS[1] local function f(k) return redis.call('get', k) end return f(1)`:                            false,
		`KEYS[1] = 'a' return redis.call('get', KEYS[1])`:                                                              false,
		`KEYS[1], KEYS[2] = 'a', 'b' return redis.call('get', KEYS[1])`:                                                false,
		`local KEYS = {'a'} return redis.call('get', KEYS[1])`:                                                         false,
		`table.insert(KEYS, 'a') return redis.call('get', KEYS[2])`:                                                    false,
		`local t = KEYS t[1] = 'a' return redis.call('get', KEYS[1])`:                                                  false,
		`local f = redis.call return f('get', 'a')`:                                                                    false,
		`return pcall(redis.call, 'get', 'a')`:                                                                         false,
		`return redis['ca' .. 'll']('get', 'a')`:                                                                       false,
		`local r = redis return r.call('get', 'a')`:                                                                    false,
		`return server.call('get', 'a')`:                                                                               false,
		`return _G.redis.call('get', 'a')`:                                                                             false,
		`return loadstring("return redis.call('get', 'a')")()`:                                                         false,
		`return getfenv(0).redis.call('get', 'a')`:                                                                     false,
		`local ipairs = function() return next, {'a'} end for _, k in ipairs(KEYS) do return redis.call('get', k) end`: false,
		`return redis.call(ARGV[1], KEYS[1])`:                                                                          false,
		`return redis.call('mget', KEYS[1], 'a')`:                                                                      false,
		`return redis.call('mget', KEYS[1], unpack(ARGV))`:                                                             false,
		`return redis.call('mset', KEYS[1], unpack(ARGV))`:                                                             false,
		`return redis.call('mset', KEYS[1], 1, 'a', 2)`:                                                                false,
		`return redis.call(unpack(ARGV))`:                                                                              false,
		`return redis.call('get', unpack({'a'}))`:                                                                      false,
		`for k in pairs(KEYS) do redis.call('get', k) end`:                                                             false,
		`for i, k in next, {'a'} do redis.call('get', k) end`:                                                          false,
	} {
		s, err := Compile(text, Limits{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if s.Confined() != want {
			t.Errorf("%s: %v", text, s.Confined())
		}
	}
}

// TestGlobalsAreKnown fails when the sandbox has a name that nobody thought of.
func TestGlobalsAreKnown(t *testing.T) {
	for name := range baseFunctions() {
		if !plainGlobals[name] && !otherGlobals[name] {
			t.Errorf("%s is not in a list", name)
		}
	}
}
