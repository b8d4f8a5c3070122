/** What a process flushes to the disk and writes, in order, as its system calls say. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from './until.ts';

export const traceable = { skip: spawnSync('strace', ['-e', 'trace=none', 'true']).status !== 0 && 'needs strace and the right to trace' };

export interface SyncTrace extends AsyncDisposable {
  /** Whether a flush comes before the first write that holds `text`, once there is one. */
  flushedBefore(text: string): Promise<boolean>;
  /** Forgets what was seen. */
  reset(): void;
}

export async function traceSyncs(pid: number): Promise<SyncTrace> {
  const child = spawn('strace', ['-f', '-qq', '-s', '4096', '-e', 'trace=fsync,fdatasync,write,writev,sendto,sendmsg', '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let seen = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (seen += chunk));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until('the tracer is attached', () => /^TracerPid:\s+[1-9]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')));
  return {
    async flushedBefore(text) {
      const lines = await until(`it writes ${text}`, () => {
        const all = seen.split('\n');
        const at = all.findIndex((line) => /\b(?:write|writev|sendto|sendmsg)\(/.test(line) && line.includes(text));
        return at >= 0 && all.slice(0, at);
      });
      return lines.some((line) => /\bf(?:data)?sync\(/.test(line));
    },
    reset: () => void (seen = ''),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
