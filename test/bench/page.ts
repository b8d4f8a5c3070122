/**
 * `npm run bench -- page [row …] [--json]`: what a person waits for on the page, in a real Chromium. Rows: `first` (bytes of
 * script, time until it can be used), `session` (frames while a session of 5,000 messages scrolls),
 * `logs` (the same with a log of 100,000 lines). Default: all.
 */
import { sessionImport } from '../../ipc/contracts/rpcSessions.ts';
import type { Message } from '../../ipc/contracts/rpcRecords.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';
import { machine, round, shown, spread } from './measure.ts';
import { frameLine, scrolled, type Line } from './pageFrames.ts';
import { logs } from './pageLogs.ts';
import { message } from '../harness/records.ts';

interface Bench {
  home: TestHome;
  agent: TestWorker;
  dashboard: TestDashboard;
  /** With the token. */
  address: string;
}

/** A row of the bench by its name; another place adds its own. */
const rows: Record<string, (bench: Bench) => Promise<Line[]>> = { first, session, logs };

const MESSAGES = 5_000;
/** By the page's own clock, which starts with the navigation: the composer is there and the agent is connected. */
const markUsable = `new MutationObserver((_, observer) => {
  const connected = document.querySelector('[data-testid=connection]')?.textContent === 'Connected';
  if (!connected || !document.querySelector('textarea[aria-label=Message]')) return;
  window.usableMs = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true, characterData: true })`;

const words = process.argv.slice(2);
const chosen = Object.keys(rows).filter((name) => words.includes(name));
const rounds = words.includes('--quick') ? 3 : 7;

await ensurePage();
{
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  const bench: Bench = { home, agent, dashboard, address: `${dashboard.address}?token=${dashboard.token}` };
  const lines: Line[] = [];
  for (const name of chosen.length > 0 ? chosen : Object.keys(rows)) lines.push(...(await rows[name]!(bench)));
  if (words.includes('--json')) process.stdout.write(`${JSON.stringify({ machine: machine(), lines }, null, 2)}\n`);
  else {
    process.stdout.write(`\n${machine()}\n\n| what | figure | wanted |\n|---|---|---|\n`);
    for (const { what, value, limit } of lines) process.stdout.write(`| ${what} | ${value} | ${limit} |\n`);
  }
}

// --- first: from the address to a message that can be written ---

async function first({ address }: Bench): Promise<Line[]> {
  const usableMs: number[] = [];
  let scriptBytes = 0;
  for (let round = 0; round < rounds; round++) {
    // A new profile each time: nothing is cached.
    await using browser = await startBrowser();
    const page = await browser.context.newPage();
    const cdp = await browser.context.newCDPSession(page);
    await cdp.send('Network.enable');
    const scripts = new Set<string>();
    let bytes = 0;
    cdp.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId));
    // Bodies as they travelled, without their heads.
    cdp.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) bytes += encodedDataLength;
    });
    // Gzip, as the budget counts it: brotli would be smaller.
    await cdp.send('Network.setExtraHTTPHeaders', { headers: { 'Accept-Encoding': 'gzip' } });
    await page.addInitScript(markUsable);
    await page.goto(address);
    // Asked from outside: the page's policy lets nothing be evaluated inside.
    usableMs.push(await until('a message can be written', () => page.evaluate<number | undefined>('window.usableMs')));
    scriptBytes = bytes;
  }
  return [
    { what: 'first load: script, gzip, KB', value: String(round(scriptBytes / 1_000)), limit: '≤ 200' },
    { what: 'first load: until a message can be written, ms', value: shown(spread(usableMs), 0), limit: '< 1000' },
  ];
}

// --- session: 5,000 messages, scrolled from one end to the other ---

async function session({ agent, dashboard, address }: Bench): Promise<Line[]> {
  using link = await agent.dial();
  const { imported_ids, errors } = await link.call(sessionImport, { sessions: [longSession()] });
  if (imported_ids.length === 0) throw new Error(`the session was not taken: ${JSON.stringify(errors)}`);
  await using browser = await startBrowser();
  const { page } = await browser.open(address);
  await page.getByText('Connected', { exact: true }).waitFor();
  const startedAt = performance.now();
  await page.goto(`${dashboard.address}chat/${imported_ids[0]}`);
  await page.getByText(`Answer ${MESSAGES / 2}`, { exact: true }).waitFor();
  const openMs = performance.now() - startedAt;

  const box = `document.querySelector('[data-testid=messages]')`;
  const back = await scrolled(page, box, { pixels: -60_000, perFrame: 60 });
  await until('all pages are read', async () => {
    await page.evaluate(`${box}.scrollTop = 0`);
    return (await page.getByText('The beginning of this chat').count()) > 0;
  });
  const whole = await scrolled(page, box, { pixels: 150_000, perFrame: 120 });
  return [
    { what: `a session of ${MESSAGES} messages: until its end is read, ms`, value: String(round(openMs, 0)), limit: '' },
    frameLine('scrolling back while older pages come in', back),
    frameLine(`scrolling through all ${MESSAGES}`, whole),
  ];
}

function longSession() {
  const messages: Message[] = [];
  const add = (role: Message['role'], content: string, more: Partial<Message> = {}) =>
    messages.push(
      message(messages.length + 1, role, content, {
        timestamp: new Date(1_700_000_000_000 + messages.length * 1_000).toISOString(),
        ...more,
      }),
    );
  for (let n = 1; n <= MESSAGES / 2; n++) {
    add('user', `Question ${n}: how does part ${n} of the service start again after it was killed?`);
    add('assistant', answer(n));
  }
  return {
    format: 'agent.session.v1' as const,
    session: { id: 'ses_long', source: 'api', title: 'A long chat', started_at: '2026-01-01T00:00:00.000Z' },
    messages,
  };
}

/** Prose, lists, tables and code in turn, as answers are. */
function answer(n: number): string {
  const prose = `It is **started again** by its supervisor: the exit is classified, the delay is looked up, and part ${n} begins anew with \`--resume\`. `;
  const parts = [
    prose.repeat((n % 4) + 1),
    n % 3 === 0 ? '- the lock is taken\n- the store is opened\n- what was cut is marked' : '',
    n % 5 === 0
      ? `\`\`\`ts\nexport function part${n}(signal: AbortSignal): Promise<void> {\n  // once a minute\n  return run({ signal, every: 60_000 });\n}\n\`\`\``
      : '',
    n % 7 === 0 ? '| part | state |\n|---|---|\n| agent | ready |\n| cron | parked |' : '',
    `Answer ${n}`,
  ];
  return parts.filter(Boolean).join('\n\n');
}
