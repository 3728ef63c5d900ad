-- Drives lua-redis: driver.lua HOST:PORT

local redis = require 'redis'

local release = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'
local extend = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end'

local host, port = arg[#arg]:match('^(.*):(%d+)$')
local client = redis.connect(host, tonumber(port))
local tokens, count = {}, 0

-- Tokens only have to differ from those of the other clients of a test.
local function token()
    count = count + 1
    return tostring(tokens) .. ':' .. os.time() .. ':' .. count
end

local requests = {
    ping = function() return client:ping() end,
    numbered = function(key, fence)
        local replies = client:transaction(function(t)
            t:set(key, 'a', 'NX', 'PX', 60000)
            t:incr(fence)
        end)
        -- A null leaves a hole, or nothing at all, in the table.
        return ('value %s %d'):format(replies[1] and 'yes' or 'no', replies[2])
    end,
    database = function(n) return redis.connect(host, tonumber(port)):select(n) end,
    acquire = function(key, millis)
        local mine = token()
        local taken = client:set(key, mine, 'NX', 'PX', millis)
        if taken then tokens[key] = mine end
        return taken
    end,
    extend = function(key, millis) return client:eval(extend, 1, key, tokens[key], millis) == 1 end,
    release = function(key) return client:eval(release, 1, key, tokens[key]) == 1 end,
}

io.stdout:setvbuf('line')
print('ready')
for line in io.lines() do
    local words = {}
    for word in line:gmatch('%S+') do words[#words + 1] = word end
    local ok, reply = pcall(requests[words[1]], unpack(words, 2))
    if ok then
        print(type(reply) == 'string' and reply:match('^value ') and reply or reply and 'yes' or 'no')
    else
        print('error ' .. tostring(reply):gsub('[\r\n]', ' '))
        -- The library does not connect anew by itself. Its own errors and the server's
        -- are told apart by asking.
        if not pcall(client.ping, client) then
            local back, new = pcall(redis.connect, host, tonumber(port))
            if back then client = new end
        end
    end
end
