/**
 * `npm run bench -- agentStore`: what the agent worker's stores cost. A million messages searched, the first frame
 * of a conversation of ten thousand messages, the list of ten thousand conversations. Prints a table; never
 * judges. `--quick`: a tenth of each. `--json`.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { sessionSearch } from '../../ipc/contracts/rpcSessions.ts';
import type { Link } from '../../ipc/link.ts';
import { Store } from '../../services/agent/store.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { seeded, type Random } from '../chaos/random.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';
import { machine, round } from './measure.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, rounds: { type: 'string' }, json: { type: 'boolean' } } });
const scale = values.quick ? 0.1 : 1;
const MESSAGES = 1_000_000 * scale;
const SESSIONS = 10_000 * scale;
const LONG_SESSION = 10_000;
const QUERIES = 60;

const SYLLABLES = 'ka to mi ren der bo sal tik va lor en ging pre con ti on al ex ter um ble ing er ran do fi le sy stem se ver'.split(' ');
const HAN = '数据库查询服务器错误配置文件模型会话搜索索引日志网络连接测试部署更新用户消息系统时间内存进程线程';

const place = mkdtempSync(join(tmpdir(), 'agent-bench-'));
const table: { what: string; value: string }[] = [];
const mebibytes = (path: string): number => Math.round(statSync(path).size / 2 ** 20);
const row = (what: string, value: string): void => void table.push({ what, value });

try {
  const home = openHome(join(place, 'home'));
  mkdirSync(home.root, { recursive: true });
  prepareHome(home);
  const longSession = seed(home.stateDb, seeded(1));
  await using worker = await startWorker(home, 'agent', { demo: true });
  using link = await worker.dial();
  const startedAt = performance.now();
  await until('all is indexed', async () => (await ask(link, 'alpha')).ready, 1_200_000);
  row(
    'index of search.db',
    `${Math.round((performance.now() - startedAt) / 1_000)} s, ${mebibytes(home.searchDb)} MiB beside ${mebibytes(home.stateDb)} MiB`,
  );
  await searches(link, seeded(2));
  await timed('first frame of a session of 10,000 messages', 20, () => link.call(sessionResume, { session_id: longSession }));
  await timed(`list of 50 out of ${SESSIONS} sessions`, 20, () => link.call(sessionList, { limit: 50 }));
  print();
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** Conversations in words of a Zipf-like distribution, one in twenty messages in Han characters. Answers the long one. */
function seed(path: string, random: Random): string {
  const store = new Store(path);
  store.db.pragma('synchronous = OFF');
  const words = vocabulary();
  const perSession = MESSAGES / SESSIONS;
  const fill = (id: string, rows: number) => {
    for (let position = 1; position <= rows; position++) {
      const [role, reason] = position % 2 ? ['user', null] : ['assistant', 'stop'];
      store.run(
        'INSERT INTO messages (session_id, position, role, content, finish_reason, timestamp) VALUES (?, ?, ?, ?, ?, ?)',
        id,
        position,
        role,
        sentence(words, random),
        reason,
        Date.now(),
      );
    }
  };
  for (let n = 0; n < SESSIONS; n++) {
    store.transaction(() => {
      const { id } = store.createSession({ source: 'cli', cwd: '/', title: `session ${n}` });
      store.pinSystemPrompt(id, 'p'.repeat(20_000), '[]');
      fill(id, perSession);
    });
  }
  const { id } = store.createSession({ source: 'cli', cwd: '/', title: 'long' });
  store.transaction(() => fill(id, LONG_SESSION));
  store.db.pragma('wal_checkpoint(TRUNCATE)');
  store.close();
  return id;
}

function vocabulary(): string[] {
  const random = seeded(3);
  return Array.from({ length: 60_000 }, () => Array.from({ length: random.between(1, 5) }, () => random.pick(SYLLABLES)).join(''));
}

function word(words: readonly string[], random: Random): string {
  return words[Math.floor(Math.exp(random.next() * Math.log(words.length))) - 1] ?? words[0]!;
}

function sentence(words: readonly string[], random: Random): string {
  if (random.next() < 0.05) return Array.from({ length: random.between(20, 80) }, () => random.pick([...HAN])).join('');
  const length = Math.max(3, Math.floor(-Math.log(1 - random.next()) * 40));
  return Array.from({ length }, () => (random.next() < 0.02 ? random.between(2 ** 24, 2 ** 31).toString(16) : word(words, random))).join(
    ' ',
  );
}

function ask(link: Link, query: string) {
  return link.call(sessionSearch, { query, limit: 20 }, { timeoutMs: 30_000 });
}

async function searches(link: Link, random: Random): Promise<void> {
  const words = vocabulary();
  const inner = () => random.pick(words).slice(1, 6).padEnd(3, 'e');
  const kinds: Record<string, () => string> = {
    'one word': () => word(words, random),
    'two words': () => `${word(words, random)} ${word(words, random)}`,
    'part of a word': inner,
    'two Han characters': () => Array.from({ length: 2 }, () => random.pick([...HAN])).join(''),
    'quoted phrase': () => `"${word(words, random)} ${word(words, random)}"`,
  };
  for (const [name, query] of Object.entries(kinds)) await timed(`search: ${name}`, QUERIES, () => ask(link, query()));
}

async function timed(what: string, times: number, call: () => Promise<unknown>): Promise<void> {
  await call();
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const startedAt = performance.now();
    await call();
    taken.push(performance.now() - startedAt);
  }
  taken.sort((a, b) => a - b);
  const at = (share: number) => round(taken[Math.min(taken.length - 1, Math.floor(taken.length * share))]!);
  row(what, `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`);
}

function print(): void {
  if (values.json) return void process.stdout.write(`${JSON.stringify({ machine: machine(), messages: MESSAGES, table })}\n`);
  const width = Math.max(...table.map(({ what }) => what.length)) + 2;
  const lines = table.map(({ what, value }) => what.padEnd(width) + value);
  process.stdout.write([machine(), `${MESSAGES.toLocaleString('en')} messages`, '', ...lines, ''].join('\n'));
}
