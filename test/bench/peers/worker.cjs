// The minimal Node worker of the supervisor bench: says `main` and `ready` as worker.c does, then waits five minutes at most.
const fs = require('node:fs');
const [, , name, events] = process.argv;
const say = (what) => fs.appendFileSync(events, `${what} ${name} ${process.pid} ${process.hrtime.bigint()}\n`);
say('main');
setTimeout(() => process.exit(0), 300_000);
setImmediate(() => say('ready'));
