<?php
// Drives phpredis: phpredis.php HOST:PORT

require __DIR__ . '/lines.php';

$redis = new Redis();
$redis->connect(...address());
$tokens = [];

// The library returns false for errors that begin with ERR and some other words, and
// throws for all others.
$checked = function ($reply) use ($redis) {
    if ($reply === false && $redis->getLastError() !== null) {
        $error = $redis->getLastError();
        $redis->clearLastError();
        throw new Exception("not thrown, but returned as false: $error");
    }
    return $reply;
};

serve([
    'ping' => fn () => $redis->ping() === true,
    'numbered' => function ($key, $fence) use ($redis) {
        [$taken, $number] = $redis->multi()->set($key, 'a', ['nx', 'px' => 60000])->incr($fence)->exec();
        return ($taken ? 'yes' : 'no') . " $number";
    },
    'database' => function ($n) {
        $other = new Redis();
        $other->connect(...address());
        return $other->select((int) $n);
    },
    'acquire' => function ($key, $millis) use ($redis, $checked, &$tokens) {
        $token = token();
        $taken = $checked($redis->set($key, $token, ['nx', 'px' => (int) $millis]));
        if ($taken) {
            $tokens[$key] = $token;
        }
        return $taken;
    },
    'extend' => function ($key, $millis) use ($redis, $checked, &$tokens) {
        return $checked($redis->eval(EXTEND, [$key, $tokens[$key], $millis], 1)) === 1;
    },
    'release' => function ($key) use ($redis, $checked, &$tokens) {
        return $checked($redis->eval(RELEASE, [$key, $tokens[$key]], 1)) === 1;
    },
]);
