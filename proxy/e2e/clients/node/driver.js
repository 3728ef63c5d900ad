'use strict';
// A driver as ../doc.go describes it: driver.js LIBRARY [DATABASE] HOST:PORT, the library
// being one of those in clients.js and locks.js.

const readline = require('readline');
const libraries = { ...require('./clients'), ...require('./locks') };

const say = (line) => process.stdout.write(line.replace(/[\r\n]+/g, ' ') + '\n');
const sayError = (err) => say('error ' + (err && err.message ? err.message : String(err)));

// A library's yes and no are booleans; one that doesn't tell says nothing.
const word = (result) => {
  if (typeof result === 'string') return 'value ' + result;
  return result === undefined ? 'done' : result ? 'yes' : 'no';
};

// What a client does for the requests that all have; times are whole milliseconds.
const requests = {
  ping: async (client) => (await client.ping()) === 'PONG',
  acquire: (client, key, millis) => client.acquire(key, Number(millis)),
  extend: (client, key, millis) => client.extend(key, Number(millis)),
  release: (client, key) => client.release(key),
};

async function main([library, ...rest]) {
  const [host, port] = rest.pop().split(':');
  const client = await libraries[library](host, Number(port), ...rest.map(Number));
  await client.ping();
  say('ready');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [request, ...args] = line.split(' ');
    try {
      // Some have further ones, by the name of the request.
      const run = requests[request] || (() => client[request](...args));
      say(word(await run(client, ...args)));
    } catch (err) {
      sayError(err);
    }
  }
  // One whose server has gone would wait for it to come back.
  await Promise.race([client.close(), new Promise((done) => setTimeout(done, 500))]);
  process.exit(0);
}

main(process.argv.slice(2)).catch((err) => {
  sayError(err);
  process.exit(1);
});
