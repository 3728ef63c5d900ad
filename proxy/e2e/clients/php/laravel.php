<?php
// Drives the locks of Laravel's cache: laravel.php phpredis|predis HOST:PORT

require __DIR__ . '/lines.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require_once 'Predis/autoload.php';

[$host, $port] = address();
$manager = new Illuminate\Redis\RedisManager(null, $argv[1], [
    'default' => ['host' => $host, 'port' => $port, 'database' => 0],
]);
$store = new Illuminate\Cache\RedisStore($manager, '', 'default');
$locks = [];

serve([
    'ping' => fn () => in_array($store->connection()->ping(), [true, 'PONG']),
    'acquire' => function ($key, $millis) use ($store, &$locks) {
        $lock = $store->lock($key, (int) ceil($millis / 1000)); // it counts in seconds
        $taken = $lock->acquire();
        if ($taken) {
            $locks[$key] = $lock;
        }
        return $taken;
    },
    'release' => function ($key) use (&$locks) {
        return $locks[$key]->release();
    },
    'add' => fn ($key, $millis) => $store->add($key, 'a value', (int) ceil($millis / 1000)),
    'delete' => fn ($key) => $store->forget($key),
]);
