# Drives redis-rb: redis_rb.rb HOST:PORT

require 'redis'
require 'securerandom'

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'
EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end'

host, port = ARGV.last.split(':')
redis = Redis.new(host: host, port: port.to_i)
tokens = {}

requests = {
  'ping' => -> { redis.ping == 'PONG' },
  'numbered' => lambda { |key, fence|
    taken, number = redis.multi do |t|
      t.set(key, 'a', nx: true, px: 60_000)
      t.incr(fence)
    end
    "value #{taken ? 'yes' : 'no'} #{number}"
  },
  'database' => ->(n) { Redis.new(host: host, port: port.to_i, db: n.to_i).ping == 'PONG' },
  'acquire' => lambda { |key, millis|
    token = SecureRandom.hex
    taken = redis.set(key, token, nx: true, px: millis.to_i)
    tokens[key] = token if taken
    taken
  },
  'extend' => ->(key, millis) { redis.eval(EXTEND, [key], [tokens[key], millis]) == 1 },
  'release' => ->(key) { redis.eval(RELEASE, [key], [tokens[key]]) == 1 },
}

$stdout.sync = true
puts 'ready'
$stdin.each_line do |line|
  word, *words = line.split
  begin
    reply = requests.fetch(word).call(*words)
    puts reply.is_a?(String) ? reply : reply ? 'yes' : 'no'
  rescue StandardError => e # whatever the library raises is what is asked for
    puts "error #{e.class}: #{e.message.tr("\n", ' ')}"
  end
end
