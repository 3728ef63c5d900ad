'use strict';
// Clients that send commands, used as programs use them that lock with a plain
// client: SET NX PX, and scripts in the form that each client has for scripts.
// Each takes a host and a port, and gives { ping, acquire, extend, release, close }.

const { randomUUID } = require('crypto');
const { promisify } = require('util');

const RELEASE = `if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("del", KEYS[1])
else
  return 0
end`;
const EXTEND = `if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("pexpire", KEYS[1], ARGV[2])
else
  return 0
end`;

// plain makes a client of three functions: set resolves to OK or null, and the two
// scripts to how many locks they changed.
function plain({ set, release, extend, ...rest }) {
  const tokens = new Map();
  return {
    acquire: async (key, millis) => {
      tokens.set(key, randomUUID());
      return (await set(key, tokens.get(key), millis)) === 'OK';
    },
    extend: async (key, millis) => (await extend(key, tokens.get(key), String(millis))) === 1,
    release: async (key) => (await release(key, tokens.get(key))) === 1,
    ...rest,
  };
}

// ignore takes the errors of a connection that will be tried again; without a
// listener they would end the process. What a request was told is thrown.
const ignore = () => {};

function connectIoredis(module, host, port) {
  const Redis = require(module);
  const redis = new Redis({ host, port });
  redis.on('error', ignore);
  return redis;
}

const ioredis = (module) => async (host, port) => {
  const redis = connectIoredis(module, host, port);
  redis.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE });
  redis.defineCommand('extendLock', { numberOfKeys: 1, lua: EXTEND });
  return plain({
    ping: () => redis.ping(),
    set: (key, token, millis) => redis.set(key, token, 'PX', millis, 'NX'),
    release: (key, token) => redis.releaseLock(key, token),
    extend: (key, token, millis) => redis.extendLock(key, token, millis),
    close: () => redis.quit(),
  });
};

// redis of version 3 has callbacks, and nothing of its own for scripts.
async function redis3(host, port) {
  const client = require('redis3').createClient({ host, port });
  client.on('error', ignore);
  const [ping, set, run, quit] = ['ping', 'set', 'eval', 'quit'].map((name) => promisify(client[name]).bind(client));
  return plain({
    ping,
    set: (key, token, millis) => set(key, token, 'PX', millis, 'NX'),
    release: (key, token) => run(RELEASE, 1, key, token),
    extend: (key, token, millis) => run(EXTEND, 1, key, token, millis),
    close: quit,
  });
}

// connectRedis opens a client of redis 4 or later.
async function connectRedis(module, host, port) {
  const { createClient, defineScript } = require(module);
  // How a script's arguments are told: by transformArguments in version 4, by
  // parseCommand since 5.
  const script = (SCRIPT) =>
    defineScript({
      SCRIPT,
      NUMBER_OF_KEYS: 1,
      transformArguments: (...args) => args,
      parseCommand: (parser, key, ...args) => {
        parser.pushKey(key);
        parser.push(...args);
      },
      transformReply: (reply) => reply,
    });
  const scripts = { releaseLock: script(RELEASE), extendLock: script(EXTEND) };
  const client = createClient({ url: `redis://${host}:${port}`, scripts });
  client.on('error', ignore);
  await client.connect();
  return client;
}

const redis = (module) => async (host, port) => {
  const client = await connectRedis(module, host, port);
  return plain({
    ping: () => client.ping(),
    set: (key, token, millis) => client.set(key, token, { PX: millis, NX: true }),
    release: (key, token) => client.releaseLock(key, token),
    extend: (key, token, millis) => client.extendLock(key, token, millis),
    close: () => client.quit(),
  });
};

async function glide(host, port) {
  const { GlideClient, Logger, Script, TimeUnit } = require('@valkey/valkey-glide');
  Logger.setLoggerConfig('off'); // it would write to standard output, among the replies
  const client = await GlideClient.createClient({
    addresses: [{ host, port }],
    // Its default of 250 ms is not for machines that do other things.
    requestTimeout: 5000,
  });
  const scripts = { release: new Script(RELEASE), extend: new Script(EXTEND) };
  return plain({
    ping: () => client.ping(),
    set: (key, token, millis) =>
      client.set(key, token, {
        conditionalSet: 'onlyIfDoesNotExist',
        expiry: { type: TimeUnit.Milliseconds, count: millis },
      }),
    release: (key, token) => client.invokeScript(scripts.release, { keys: [key], args: [token] }),
    extend: (key, token, millis) => client.invokeScript(scripts.extend, { keys: [key], args: [token, millis] }),
    close: async () => client.close(),
  });
}

module.exports = {
  ioredis4: ioredis('ioredis4'),
  ioredis5: ioredis('ioredis'),
  ioredis6: ioredis('ioredis6'),
  redis3,
  redis4: redis('redis4'),
  redis5: redis('redis5'),
  redis6: redis('redis'),
  glide,
};
Object.defineProperty(module.exports, 'connect', { value: { ioredis: connectIoredis, redis: connectRedis } });
