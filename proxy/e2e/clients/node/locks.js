'use strict';
// Lock libraries, each on a client that it is made for, told to try once. Each takes
// a host and a port, and gives { ping, acquire, extend, release, close }.

const { connect } = require('./clients');

// told runs an operation of a library that reports what the server said as events
// only: an event that is no refusal is the operation's error.
const told = (events, refusal) => async (operation) => {
  events.length = 0;
  try {
    await operation();
    return true;
  } catch (err) {
    const trouble = events.find((event) => !refusal(event));
    if (trouble) throw trouble;
    return false;
  }
};

async function redlock(host, port) {
  const Redlock = require('redlock');
  const redis = connect.ioredis('ioredis', host, port);
  const library = new Redlock([redis], { retryCount: 0 });
  const events = [];
  library.on('clientError', (err) => events.push(err));
  const tell = told(events, () => false);
  const locks = new Map();
  return {
    ping: () => redis.ping(),
    acquire: (key, millis) => tell(async () => locks.set(key, await library.lock(key, millis))),
    extend: (key, millis) => tell(() => locks.get(key).extend(millis)),
    release: (key) => tell(() => locks.get(key).unlock()),
    close: () => library.quit(),
  };
}

async function sesamecare(host, port) {
  const { Redlock, ResourceLockedError } = require('@sesamecare-oss/redlock');
  const redis = connect.ioredis('ioredis6', host, port);
  const library = new Redlock([redis], { retryCount: 0 });
  const events = [];
  library.on('error', (err) => events.push(err));
  const tell = told(events, (event) => event instanceof ResourceLockedError);
  const locks = new Map();
  return {
    ping: () => redis.ping(),
    acquire: (key, millis) => tell(async () => locks.set(key, await library.acquire([key], millis))),
    extend: (key, millis) => tell(async () => locks.set(key, await locks.get(key).extend(millis))),
    release: (key) => tell(() => locks.get(key).release()),
    close: () => library.quit(),
  };
}

async function semaphore(host, port) {
  const { Mutex } = require('redis-semaphore');
  const redis = connect.ioredis('ioredis6', host, port);
  const once = { acquireAttemptsLimit: 1, refreshInterval: 0 };
  const locks = new Map();
  const lost = new Set();
  return {
    ping: () => redis.ping(),
    acquire: async (key, lockTimeout) => {
      const mutex = new Mutex(redis, key, { ...once, lockTimeout });
      const acquired = await mutex.tryAcquire();
      if (acquired) locks.set(key, mutex);
      return acquired;
    },
    // A mutex that was acquired elsewhere begins with an extension.
    extend: (key, lockTimeout) => {
      const { identifier } = locks.get(key);
      return new Mutex(redis, key, { ...once, lockTimeout, identifier, acquiredExternally: true }).tryAcquire();
    },
    release: (key) => locks.get(key).release(),
    // Its default is to extend a lock again and again, and to call back when that fails.
    hold: (key, millis) => {
      const mutex = new Mutex(redis, key, { lockTimeout: Number(millis), onLockLost: () => lost.add(key) });
      locks.set(key, mutex);
      return mutex.tryAcquire();
    },
    lost: async (key) => lost.has(key),
    close: () => redis.quit(),
  };
}

const simpleMutex = (module) => async (host, port) => {
  const { tryLock } = require('simple-redis-mutex');
  const redis = await connect.redis(module, host, port);
  const releases = new Map();
  return {
    ping: () => redis.ping(),
    acquire: async (key, timeout) => {
      const [acquired, release] = await tryLock(redis, key, { timeout });
      if (acquired) releases.set(key, release);
      return acquired;
    },
    release: (key) => releases.get(key)(),
    close: () => redis.close(),
  };
};

module.exports = {
  redlock,
  sesamecare,
  semaphore,
  simpleMutex5: simpleMutex('redis5'),
  simpleMutex6: simpleMutex('redis'),
};
