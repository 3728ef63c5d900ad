package lane

import (
	"crypto/sha1"
	"encoding/hex"
)

// A script is a Lua text and the digest by which backends know it.
type script struct{ text, digest string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text: text, digest: hex.EncodeToString(sum[:])}
}

// The only scripts that backends ever run, beside one of package look that reads. They
// strip the tags of stored values as package quorum makes them: a mark of four bytes and
// 16 characters.

// commitScript checks guards and applies writes (quorum.Commit).
//
// KEYS are the distinct keys. ARGV: the number of guards; for each guard its kind,
// the index of its key and its text; then for each write its kind, the index of its
// key, the stored value and the ttl in milliseconds.
//
// Reply: 1 and, for each write, the kind and text of what its key held; or 0, the
// index of the failing guard, and the kind and text of what that key holds. Kinds:
// 0 nothing, 1 string, 2 another type, with the type's name for text.
//
// Numbers are compared as decimal strings: Lua's are doubles, and exact only up to
// 2^53.
var commitScript = newScript(`
local next_arg = 0
local function arg()
  next_arg = next_arg + 1
  return ARGV[next_arg]
end
local function holds(key)
  local s = redis.pcall('GET', key)
  if s == false then return 0, '' end
  if type(s) == 'string' then return 1, s end
  return 2, redis.call('TYPE', key).ok
end
local function client(s)
  if #s >= 20 and string.sub(s, -20, -17) == '~rl:' and not string.find(string.sub(s, -16), '[^%w_-]') then
    return string.sub(s, 1, -21)
  end
  return s
end
local function digits_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local function is_number(s)
  local sign, digits = string.match(s, '^(%-?)([1-9]%d*)$')
  if not digits then return s == '0' end
  if sign == '-' then return not digits_less('9223372036854775808', digits) end
  return not digits_less('9223372036854775807', digits)
end
local function less(a, b)
  local na, nb = string.sub(a, 1, 1) == '-', string.sub(b, 1, 1) == '-'
  if na ~= nb then return na end
  if na then return digits_less(string.sub(b, 2), string.sub(a, 2)) end
  return digits_less(a, b)
end
local function passes(kind, key, text)
  local k, s = holds(key)
  if kind == 'absent' then return k == 0, k, s end
  if kind == 'present' then return k ~= 0, k, s end
  if kind == 'value' then return k == 1 and client(s) == text, k, s end
  if kind == 'stored' then return k == 1 and s == text, k, s end
  if kind == 'type' then
    return (k == 2 and s == text) or (k == 1 and text == 'string'), k, s
  end
  if kind == 'lower' then
    if k == 0 then return true, k, s end
    if k == 2 then return false, k, s end
    local n = client(s)
    return is_number(n) and less(n, text), k, s
  end
  local ttl = redis.call('PTTL', key)
  if kind == 'volatile' then return ttl >= 0, k, s end
  return ttl == -1, k, s
end
for g = 0, tonumber(arg()) - 1 do
  local kind, key, text = arg(), KEYS[tonumber(arg())], arg()
  local ok, k, s = passes(kind, key, text)
  if not ok then return {0, g, k, s} end
end
local reply = {1}
while ARGV[next_arg + 1] do
  local kind, key, stored, ttl = arg(), KEYS[tonumber(arg())], arg(), arg()
  local k, s = holds(key)
  reply[#reply + 1] = k
  reply[#reply + 1] = s
  if kind == 'refresh' then
    if k == 1 and client(s) == client(stored) then
      kind = ttl == '0' and 'persist' or 'expire'
    else
      kind = 'put'
    end
  end
  if kind == 'put' and ttl == '0' then redis.call('SET', key, stored)
  elseif kind == 'put' then redis.call('SET', key, stored, 'PX', ttl)
  elseif kind == 'keep' then redis.call('SET', key, stored, 'KEEPTTL')
  elseif kind == 'delete' then redis.call('DEL', key)
  elseif kind == 'expire' then redis.call('PEXPIRE', key, ttl)
  elseif kind == 'persist' then redis.call('PERSIST', key)
  end
end
return reply
`)

// ownerScript carries out commits that are one guard on the value of a key and one
// write that removes this key or sets its expiry: a release, an undo, an extension.
// Nearly all commits are one of these. The shorter text takes a backend half the time,
// and it does several of them, each for itself, in one call.
//
// KEYS are the keys, one for each commit. ARGV, for each: the guard's kind, value or
// stored, and its text; the write's kind, delete or expire, and the ttl in milliseconds.
//
// Reply, for each: 1 or 0, and the kind and text of what the key held, as above.
var ownerScript = newScript(`
local call, sub, find = redis.call, string.sub, string.find
local reply = {}
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local s = redis.pcall('GET', key)
  local done, kind = 0, 1
  if s == false then kind, s = 0, ''
  elseif type(s) ~= 'string' then kind, s = 2, call('TYPE', key).ok
  else
    local value = s
    if ARGV[at - 3] == 'value' and #s >= 20 and sub(s, -20, -17) == '~rl:'
      and not find(sub(s, -16), '[^%w_-]') then
      value = sub(s, 1, -21)
    end
    if value == ARGV[at - 2] then
      done = 1
      if ARGV[at - 1] == 'delete' then call('DEL', key) else call('PEXPIRE', key, ARGV[at]) end
    end
  end
  reply[3 * i - 2], reply[3 * i - 1], reply[3 * i] = done, kind, s
end
return reply
`)

// readScript looks at keys (quorum.Read with Full). ARGV[1] is how long a text may be
// that is to come as it is; of a longer one comes the SHA1. Reply: for each key the kind
// and text of what it holds, as above, and its remaining milliseconds.
var readScript = newScript(`
local reply, most = {}, tonumber(ARGV[1])
for _, key in ipairs(KEYS) do
  local s = redis.pcall('GET', key)
  local k = 1
  if s == false then k, s = 0, ''
  elseif type(s) ~= 'string' then k, s = 2, redis.call('TYPE', key).ok
  elseif #s > most then s = 'SHA1 ' .. redis.sha1hex(s) end
  reply[#reply + 1] = k
  reply[#reply + 1] = s
  reply[#reply + 1] = redis.call('PTTL', key)
end
return reply
`)

// scripts are all of them.
var scripts = []script{commitScript, ownerScript, readScript}
