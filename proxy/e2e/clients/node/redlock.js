'use strict';
// Drives node-redlock on ioredis: redlock.js HOST:PORT works-1|works-2|fails-1|fails-2,
// the number being that of the keys of each lock.

const Redis = require('ioredis');
const Redlock = require('redlock');

const [, , addr, scenario] = process.argv;
const [host, port] = addr.split(':');
const keys = scenario.endsWith('-2') ? ['lock:node:a', 'lock:node:b'] : ['lock:node:a'];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function check(fact, what) {
  if (!fact) throw new Error('not so: ' + what);
}

async function rejected(what, promise) {
  try {
    await promise;
  } catch (err) {
    return err;
  }
  throw new Error('no error: ' + what);
}

// A client is a connection, a Redlock on it that tries once, and the errors that
// its server gave; Redlock shows these only as events.
function client() {
  const redis = new Redis({ host, port: Number(port) });
  const errors = [];
  redis.on('error', (err) => errors.push(err));
  const redlock = new Redlock([redis], { retryCount: 0 });
  redlock.on('clientError', (err) => errors.push(err));
  return { redis, redlock, errors };
}

async function remaining(redis) {
  const times = [];
  for (const key of keys) times.push(await redis.pttl(key));
  return { least: Math.min(...times), most: Math.max(...times) };
}

async function holdAndRelease(one, two) {
  const lock = await one.redlock.lock(keys, 10000);
  let left = await remaining(two.redis);
  check(left.least > 8000 && left.most <= 10000, 'all keys are held for 10 seconds: ' + JSON.stringify(left));
  await rejected('a taken lock', two.redlock.lock(keys, 10000));
  await rejected('one taken key of several', two.redlock.lock([keys[keys.length - 1], 'lock:node:other'], 10000));
  check((await two.redis.get('lock:node:other')) === null, 'a refused lock wrote nothing');

  await lock.extend(30000);
  left = await remaining(two.redis);
  check(left.least > 20000 && left.most <= 30000, 'extended to 30 seconds: ' + JSON.stringify(left));
  await lock.unlock();
  left = await remaining(two.redis);
  check(left.most === -2, 'all keys are gone: ' + JSON.stringify(left));
  await (await two.redlock.lock(keys, 10000)).unlock();
}

async function lose(one, two) {
  const lost = await one.redlock.lock(keys, 300);
  for (const end = Date.now() + 5000; (await remaining(two.redis)).most !== -2; await sleep(10)) {
    check(Date.now() < end, 'the lock expires');
  }
  const held = await two.redlock.lock(keys, 10000);
  await rejected('release of a lost lock', lost.unlock());
  // Redlock doesn't ask for a lock that it knows to have expired.
  lost.expiration = Date.now() + 10000;
  await rejected('extension of a lost lock', lost.extend(10000));
  check((await remaining(one.redis)).least > 8000, "the lost lock's owner did no harm");
  await held.unlock();
}

async function race(one, two) {
  const tries = [];
  for (let i = 0; i < 20; i++) tries.push((i % 2 ? one : two).redlock.lock(keys, 10000));
  const won = (await Promise.allSettled(tries)).filter((r) => r.status === 'fulfilled');
  check(won.length === 1, 'one of twenty at once wins, not ' + won.length);
  await won[0].value.unlock();
}

async function works(one, two) {
  await holdAndRelease(one, two);
  await lose(one, two);
  await race(one, two);
  for (const { errors } of [one, two]) check(errors.length === 0, 'no errors: ' + errors.join('; '));
}

async function fails(one) {
  const held = () => new Redlock.Lock(one.redlock, keys, 'x', Date.now() + 10000, 1, 0);
  const calls = {
    lock: () => one.redlock.lock(keys, 10000),
    extend: () => held().extend(10000),
    unlock: () => held().unlock(),
    get: () => one.redis.get(keys[0]).catch((err) => { one.errors.push(err); throw err; }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const start = Date.now();
    one.errors.length = 0;
    await rejected(name, call());
    const texts = one.errors.map((err) => err.message);
    check(texts.length > 0 && texts.every((text) => text.startsWith('UNAVAILABLE ')), name + ' says UNAVAILABLE: ' + texts.join('; '));
    check(Date.now() - start < 500, name + ' fails within half a second');
  }
  check((await one.redis.ping()) === 'PONG', 'PING');
}

async function main() {
  const clients = [client(), client()];
  await (scenario.startsWith('works') ? works : fails)(...clients);
  for (const { redis } of clients) await redis.quit();
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
