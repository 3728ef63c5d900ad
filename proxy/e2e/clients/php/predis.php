<?php
// Drives Predis: predis.php HOST:PORT

require __DIR__ . '/lines.php';
require 'Predis/autoload.php';

[$host, $port] = address();
$redis = new Predis\Client(['host' => $host, 'port' => $port]);
$tokens = [];

serve([
    'ping' => fn () => (string) $redis->ping() === 'PONG',
    'numbered' => function ($key, $fence) use ($redis) {
        [$taken, $number] = $redis->transaction(function ($t) use ($key, $fence) {
            $t->set($key, 'a', 'PX', 60000, 'NX');
            $t->incr($fence);
        });
        return ($taken === null ? 'no' : 'yes') . " $number";
    },
    'database' => function ($n) use ($host, $port) {
        $other = new Predis\Client(['host' => $host, 'port' => $port, 'database' => $n]);
        return (string) $other->ping() === 'PONG';
    },
    'acquire' => function ($key, $millis) use ($redis, &$tokens) {
        $token = token();
        $reply = $redis->set($key, $token, 'PX', $millis, 'NX');
        if ($reply === null) {
            return false;
        }
        $tokens[$key] = $token;
        return (string) $reply === 'OK';
    },
    'extend' => function ($key, $millis) use ($redis, &$tokens) {
        return $redis->eval(EXTEND, 1, $key, $tokens[$key], $millis) === 1;
    },
    'release' => function ($key) use ($redis, &$tokens) {
        return $redis->eval(RELEASE, 1, $key, $tokens[$key]) === 1;
    },
]);
