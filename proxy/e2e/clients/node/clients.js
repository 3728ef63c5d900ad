'use strict';
// Clients that send commands, used as programs use them that lock with a plain
// client: SET NX PX, and scripts in the form that each client has for scripts.
// Each takes a host, a port and, if it is not the first, a database, and gives
// { ping, acquire, extend, release, close }, and told where it emits errors.

const { once } = require('events');
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

// listen takes the errors that a connection emits, which will be tried again; without
// a listener they would end the process. What a request was told is thrown. It gives
// what tells the latest.
const listen = (connection) => {
  let last = '';
  connection.on('error', (err) => (last = err.message));
  return () => last;
};

function connectIoredis(module, host, port, db) {
  const Redis = require(module);
  const redis = new Redis({ host, port, ...(db && { db }) });
  redis.told = listen(redis);
  return redis;
}

const ioredis = (module) => async (host, port, db) => {
  const redis = connectIoredis(module, host, port, db);
  redis.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE });
  redis.defineCommand('extendLock', { numberOfKeys: 1, lua: EXTEND });
  return plain({
    ping: () => redis.ping(),
    set: (key, token, millis) => redis.set(key, token, 'PX', millis, 'NX'),
    release: (key, token) => redis.releaseLock(key, token),
    extend: (key, token, millis) => redis.extendLock(key, token, millis),
    told: redis.told,
    close: () => redis.quit(),
  });
};

// redis of version 3 has callbacks, and nothing of its own for scripts.
async function redis3(host, port, db) {
  const client = require('redis3').createClient({ host, port, ...(db && { db }) });
  const told = listen(client);
  const [ping, set, run, quit] = ['ping', 'set', 'eval', 'quit'].map((name) => promisify(client[name]).bind(client));
  return plain({
    ping,
    set: (key, token, millis) => set(key, token, 'PX', millis, 'NX'),
    release: (key, token) => run(RELEASE, 1, key, token),
    extend: (key, token, millis) => run(EXTEND, 1, key, token, millis),
    told,
    close: quit,
  });
}

// connectRedis opens a client of redis 4 or later. It would try for ever where its first
// try failed.
async function connectRedis(module, host, port, database) {
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
  const client = createClient({ url: `redis://${host}:${port}`, database, scripts });
  client.told = listen(client);
  const failed = once(client, 'error').then(([err]) => Promise.reject(err));
  await Promise.race([client.connect(), failed]);
  return client;
}

const redis = (module) => async (host, port, database) => {
  const client = await connectRedis(module, host, port, database);
  return plain({
    ping: () => client.ping(),
    set: (key, token, millis) => client.set(key, token, { PX: millis, NX: true }),
    release: (key, token) => client.releaseLock(key, token),
    extend: (key, token, millis) => client.extendLock(key, token, millis),
    told: client.told,
    close: () => client.quit(),
  });
};

const glide = (options) => async (host, port, databaseId) => {
  const { GlideClient, Logger, Script, TimeUnit } = require('@valkey/valkey-glide');
  Logger.setLoggerConfig('off'); // it would write to standard output, among the replies
  const client = await GlideClient.createClient({
    addresses: [{ host, port }],
    databaseId,
    ...options,
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
};

module.exports = {
  ioredis4: ioredis('ioredis4'),
  ioredis5: ioredis('ioredis'),
  ioredis6: ioredis('ioredis6'),
  redis3,
  redis4: redis('redis4'),
  redis5: redis('redis5'),
  redis6: redis('redis'),
  // Its default of 250 ms is not for machines that do other things.
  glide: glide({ requestTimeout: 5000 }),
  glideAsItIs: glide({}),
};
Object.defineProperty(module.exports, 'connect', { value: { ioredis: connectIoredis, redis: connectRedis } });
