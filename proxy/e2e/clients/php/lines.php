<?php
// The lines that a driver speaks; ../doc.go has them.

const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';
const EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end';

// Answers each line of standard input by calling $requests[word]: true and false are
// yes and no, null is done, and a text is a value.
function serve(array $requests): void
{
    $say = function (string $line): void {
        fwrite(STDOUT, strtr($line, "\r\n", '  ') . "\n");
    };
    $say('ready');
    while (($line = fgets(STDIN)) !== false) {
        $words = explode(' ', trim($line));
        $word = array_shift($words);
        try {
            $reply = $requests[$word](...$words);
            $say($reply === null ? 'done' : (is_bool($reply) ? ($reply ? 'yes' : 'no') : "value $reply"));
        } catch (Throwable $e) { // whatever the library throws is what is asked for
            $say('error ' . get_class($e) . ': ' . $e->getMessage());
        }
    }
}

// The host and the port that the last argument names.
function address(): array
{
    global $argv;
    [$host, $port] = explode(':', end($argv));
    return [$host, (int) $port];
}

function token(): string
{
    return bin2hex(random_bytes(16));
}
