/** Rows of the interface spec about settings of the terminal chat, in a real terminal against the real service. */
import { join } from 'node:path';
import t from 'tap';
import { cliEnv } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { openTerminal, type Terminal } from '../harness/tmux.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const service = cliService();
t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
t.teardown(() => service[Symbol.asyncDispose]());

/** `args`: what stands behind `agent`. */
function agent(...args: string[]): Promise<Terminal> {
  const command = [process.execPath, join(projectRoot, 'bin', 'main.ts'), ...args].join(' ');
  return openTerminal(`${command}; echo "EXIT:$?"; read line`, { env: cliEnv({ home: service.home }) });
}

async function setting(key: string, value: string): Promise<void> {
  const { code, stderr } = await service.agent('config', 'set', key, value);
  t.equal(code, 0, stderr);
}

const atPrompt = /›\s*$/;

t.test('cfg.1 display.interface is cli unless configured: a bare chat is the classic one and says nothing about it', async (t) => {
  await using bare = await agent('chat');
  t.notMatch(await bare.shows(atPrompt), /full-screen/);
  await setting('display.interface', 'cli');
  await using classic = await agent('chat');
  t.notMatch(await classic.shows(atPrompt), /full-screen/);
});

t.test(
  'cfg.1 display.interface tui falls back to the classic chat with one notice; --cli beats it; other values are refused',
  async (t) => {
    await setting('display.interface', 'tui');
    await using full = await agent('chat');
    const screen = await full.shows(/full-screen interface is not part of this release[\s\S]*›\s*$/);
    t.equal(screen.match(/full-screen/g)?.length, 1);
    await using classic = await agent('chat', '--cli');
    t.notMatch(await classic.shows(atPrompt), /full-screen/);
    t.match(await service.agent('config', 'set', 'display.interface', 'web'), { code: 78, stderr: /display\.interface[^]*cli[^]*tui/ });
    await setting('display.interface', 'cli');
  },
);

t.test('cfg.2 display.vim_mode: vi keys in the composer from the start; without it they are letters', async (t) => {
  await using plain = await agent('chat');
  t.notMatch(await plain.shows(atPrompt), /INSERT/);
  await setting('display.vim_mode', 'true');
  await using vi = await agent('chat');
  await vi.shows('INSERT');
  await vi.type('one two three');
  await vi.press('Escape');
  await vi.shows('NORMAL');
  await vi.type('0dwx$p');
  await vi.shows(/wo threet\s*$/);
  await vi.type('ccsay: 1 word');
  await vi.press('Enter');
  t.match(await vi.shows('alpha'), /› say: 1 word/);
});

t.test('cfg.2 no slash command toggles vi keys', async (t) => {
  await using vi = await agent('chat');
  await vi.shows('INSERT');
  await vi.type('/vim');
  await vi.press('Enter');
  t.match(await vi.shows(/there is no command[\s\S]*INSERT/), /\/help lists them/);
});
