/** `agent gateway platforms|setup|enable|disable|test`: chat platforms as the page shows and changes them. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { limits } from '../../base/limits.ts';
import { platforms as askPlatforms, testPlatform } from '../../ipc/contracts/gateway.ts';
import { platformIds } from '../../base/closedWords.ts';
import { guideOf, type PlatformGuide } from '../../ipc/contracts/platformGuides.ts';
import { parseValue } from '../../state/config/edit.ts';
import { classOf, whenInForce } from '../../state/config/classes.ts';
import { openHome, prepareHome, type Home } from '../../state/home.ts';
import {
  gatewayOnRecord,
  platformWord,
  readPlatform,
  savePlatform,
  type GatewaySeen,
  type PlatformSettings,
} from '../../state/platforms.ts';
import { hasFlag, listOption, textOption, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { readSecret } from '../secretInput.ts';
import { slotOf } from '../slots.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

export async function listPlatforms(input: Input): Promise<number> {
  const home = openHome();
  const seen = await look(home, input);
  const rows = platformIds.map((id) => {
    const own = readPlatform(home, home.profile(input.profile), id, guideOf(id)!);
    return {
      id,
      name: guideOf(id)!.name,
      state: platformWord(id, own, seen),
      ...own,
      error_message: seen.platforms[id]?.error_message ?? null,
    };
  });
  if (input.json) printJson({ gateway_running: seen.running, platforms: rows });
  else {
    const paint = painter(out);
    print(
      table([
        ['PLATFORM', 'STATE', ''],
        ...rows.map(({ id, state, error_message }) => [
          id,
          paint(state === 'connected' ? 'green' : state === 'fatal' || state === 'startup_failed' ? 'red' : 'yellow', state),
          error_message ?? fixes(id)[state] ?? '',
        ]),
      ]),
    );
  }
  return exitCodes.ok;
}

const fixes = (id: string): Record<string, string> => ({
  not_configured: `agent gateway setup ${id}`,
  disabled: `agent gateway enable ${id}`,
  gateway_stopped: 'agent gateway start',
  startup_failed: 'agent why gateway',
  pending_restart: 'agent gateway restart',
});

/** Of a gateway that runs, its own words; else the record. */
async function look(home: Home, { profile }: Input): Promise<GatewaySeen> {
  const record = gatewayOnRecord(home.profile(profile));
  if (!record.running) return record;
  const answer = await withWorker(home, slotOf('gateway', profile), (link) =>
    link.call(askPlatforms, {}, { timeoutMs: limits.dashboard.statusMs }),
  );
  const observed = Object.fromEntries(answer.platforms.map(({ platform, ...one }) => [platform, one]));
  return { ...record, platforms: observed, pending: answer.pending };
}

/** Without anything to change: the steps, and what is set. */
export async function setup(input: Input): Promise<number> {
  const [id] = input.args;
  if (id === undefined) return listPlatforms(input);
  const guide = requireGuide(id);
  const home = openHome();
  prepareHome(home);
  const paths = home.profile(input.profile);
  const settings = Object.fromEntries([
    ...listOption(input, 'set').map((pair) => settingOf(pair, guide)),
    ...listOption(input, 'unset').map((key) => [key, null] as const),
  ]);
  const secret = textOption(input, 'secret');
  const clearEnv = listOption(input, 'clear');
  const change = Object.keys(settings).length > 0 || secret !== undefined || clearEnv.length > 0;
  if (change) {
    if (secret !== undefined && !guide.variables.some(({ key }) => key === secret))
      throw unknownName(
        'variable',
        secret,
        guide.variables.map(({ key }) => key),
      );
    const env = secret === undefined ? {} : { [secret]: await readSecret(secret) };
    const enabled = hasFlag(input, 'disable') ? false : listOption(input, 'set').length > 0 ? true : undefined;
    await savePlatform(paths, id, guide, { settings, env, clearEnv, enabled });
  }
  const own = readPlatform(home, paths, id, guide);
  if (input.json) printJson({ platform: id, ...own });
  else print(described(id, guide, own));
  if (change)
    note(
      secret === undefined && clearEnv.length === 0
        ? whenInForce(classOf(['platforms']))
        : 'the gateway takes it over when it is restarted: agent gateway restart',
    );
  return exitCodes.ok;
}

/** `key=value`; lists are separated by commas. Errors: USAGE. */
function settingOf(pair: string, { settings }: PlatformGuide): readonly [string, unknown] {
  const at = pair.indexOf('=');
  const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
  if (at < 1)
    throw new AgentError('USAGE', `--set ${pair}: write key=value`, { fix: `keys: ${settings.map((one) => one.key).join(', ')}` });
  const setting = settings.find((one) => one.key === key);
  if (!setting)
    throw unknownName(
      'setting',
      key,
      settings.map((one) => one.key),
    );
  if (setting.kind === 'list')
    return [
      key,
      text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean),
    ];
  return [key, setting.kind === 'text' ? text : parseValue(text)];
}

function described(id: string, { name, description, steps, settings, variables, docs }: PlatformGuide, own: PlatformSettings): string {
  const paint = painter(out);
  const value = (key: string) => (own.settings[key] === undefined ? undefined : JSON.stringify(own.settings[key]));
  return [
    `${paint('bold', name)}: ${description}${own.configured ? (own.enabled ? '' : ' Switched off.') : ' Not set up yet.'}`,
    '',
    ...steps.map((step, n) => `${n + 1}. ${step}`),
    '',
    table([
      ...settings.map(({ key, default: usual, label }) => [`  ${key}`, value(key) ?? paint('dim', usual), paint('dim', label)]),
      ...variables.flatMap(({ key, prompt, advanced }, n) => {
        const { is_set, shown } = own.variables[n]!;
        return advanced && !is_set ? [] : [[`  ${key}`, shown ?? paint('dim', 'not set'), paint('dim', `${prompt} (.env)`)]];
      }),
    ]),
    '',
    paint('dim', `agent gateway setup ${id} --set key=value --secret NAME; more in ${docs}`),
  ].join('\n');
}

export async function enable(input: Input, enabled: boolean): Promise<number> {
  const id = input.args[0]!;
  const home = openHome();
  prepareHome(home);
  await savePlatform(home.profile(input.profile), id, requireGuide(id), { enabled });
  if (input.json) printJson({ platform: id, enabled });
  else print(`${id} is switched ${enabled ? 'on' : 'off'}; ${whenInForce(classOf(['platforms']))}.`);
  return exitCodes.ok;
}

/** Exit code 1 when it does not connect. */
export async function test(input: Input): Promise<number> {
  const id = input.args[0]!;
  requireGuide(id);
  const home = openHome();
  if (!gatewayOnRecord(home.profile(input.profile)).running)
    throw new AgentError('PLATFORM_DOWN', 'the gateway does not run, and it is what connects', { fix: 'agent gateway start' });
  const tried = await withWorker(home, slotOf('gateway', input.profile), (link) => link.call(testPlatform, { platform: id }));
  const { ok, message, fix } = tried;
  if (input.json) printJson(tried);
  else print(`${id}: ${message}${fix ? ` — ${fix}` : ''}`);
  return ok ? exitCodes.ok : exitCodes.failed;
}

function requireGuide(id: string): PlatformGuide {
  const guide = guideOf(id);
  if (!guide) throw unknownName('platform', id, platformIds);
  return guide;
}
