// The floor: ten lines that start programs, write what they print, and start them again. [[program, ...args], …] stands in argv[2], the folder for their output in argv[3].
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const [, , list, folder] = process.argv;
const children = new Map();
let stopping = false;
function start([file, ...args], index) {
  const out = fs.openSync(`${folder}/${index}.log`, 'a');
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.set(index, child);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => fs.writeSync(out, chunk));
  child.on('close', () => fs.closeSync(out));
  child.on('exit', () => (stopping ? children.delete(index) && children.size === 0 && process.exit(0) : start([file, ...args], index)));
}
JSON.parse(fs.readFileSync(list, 'utf8')).forEach(start);
process.on('SIGTERM', () => {
  stopping = true;
  children.forEach((child) => child.kill('SIGTERM'));
});
