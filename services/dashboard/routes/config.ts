/** config.yaml over HTTP. The file is the people's: it is edited through state/config, as by the command line. */
import { isAgentError, AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import {
  getConfig,
  getConfigDefaults,
  getConfigRaw,
  getConfigSchema,
  putConfig,
  putConfigRaw,
  type ConfigProblemView,
} from '../../../ipc/contracts/http/config.ts';
import { changeConfig, changeConfigText, versionOf, type Changed, type ChangeRules } from '../../../state/config/change.ts';
import { differences, dottedKey } from '../../../state/config/diff.ts';
import { loadConfig, parseConfigText, readText, type ConfigProblem } from '../../../state/config/load.ts';
import { createMasks, type Masks } from '../../../state/config/mask.ts';
import { readSecrets } from '../../../state/env.ts';
import type { ProfilePaths } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler, type RouteInput } from '../route.ts';

type Put<B> = RouteInput<unknown, unknown, B>;

export function configRoutes({ context: { home, log } }: Dashboard): HttpHandler[] {
  const given = new GivenOut();
  const form = () => import('../../../state/config/fields.ts');
  const rulesFor = (profile: ProfilePaths, { body, request }: Put<{ version?: string | undefined }>): ChangeRules => ({
    masks: masksOf(profile),
    expected: body.version ?? ifMatch(request.headers['if-match']),
  });
  const save = async <B extends { version?: string | undefined }>(
    input: Put<B>,
    change: (file: string, rules: ChangeRules) => Promise<Changed>,
  ) => {
    const { profile, request, reply } = input;
    const rules = rulesFor(profile, input);
    const changed = await change(profile.config, rules).catch((thrown: unknown) => {
      throw isAgentError(thrown) && thrown.code === 'CONFIG_CHANGED' ? given.explained(thrown, rules, profile) : thrown;
    });
    log.info('config.yaml changed in the dashboard', {
      from: request.ip,
      profile: profile.name,
      keys: changed.changed.map(({ key }) => key).slice(0, 50),
    });
    void reply.header('ETag', `"${changed.version}"`);
    return { ok: true as const, ...changed };
  };
  return [
    on(getConfig, ({ profile, reply }) => {
      // Values and version are of one reading: between two of them somebody may write.
      const { config, problem, ineffective, text = textOf(profile) } = loadConfig(home, profile);
      given.keep(text);
      void reply.header('ETag', `"${versionOf(text)}"`);
      return {
        config: masksOf(profile).hide(config) as Record<string, unknown>,
        path: profile.config,
        version: versionOf(text),
        problem: problem ? viewOf(problem) : null,
        unknown: ineffective.map(({ key }) => key),
      };
    }),
    on(putConfig, (input) =>
      save(input, (file, rules) => changeConfig(file, { values: input.body.config, whole: input.body.replace === true }, rules)),
    ),
    on(getConfigDefaults, async () => ({ config: (await form()).configDefaults() })),
    on(getConfigSchema, async () => (await form()).configForm()),
    on(getConfigRaw, ({ profile, reply }) => {
      const { problem, text = textOf(profile) } = loadConfig(home, profile);
      given.keep(text);
      void reply.header('ETag', `"${versionOf(text)}"`);
      return {
        yaml: masksOf(profile).hideText(text),
        path: profile.config,
        version: versionOf(text),
        problem: problem ? viewOf(problem) : null,
      };
    }),
    on(putConfigRaw, (input) => save(input, (file, rules) => changeConfigText(file, input.body.yaml_text, rules))),
  ];
}

const masksOf = (profile: ProfilePaths): Masks => createMasks(readSecrets(profile.env).values());

/** A file that is too large to be one is shown as none; `problem` says why. */
function textOf(profile: ProfilePaths): string {
  try {
    return readText(profile.config);
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'CONFIG_INVALID') return '';
    throw thrown;
  }
}

const viewOf = ({ line, column, key, message, fix }: ConfigProblem): ConfigProblemView => ({ line, column, key, message, fix });

function ifMatch(header: string | undefined): string | undefined {
  const [, tag] = /^\s*(?:W\/)?"([^"]+)"\s*$/.exec(header ?? '') ?? [];
  return tag;
}

/** The last versions that were handed out: whoever saves over somebody else hears what that one changed. */
class GivenOut {
  readonly #texts = new Map<string, string>();

  keep(text: string): void {
    const version = versionOf(text);
    this.#texts.delete(version);
    this.#texts.set(version, text);
    if (this.#texts.size > limits.configEdit.versionsKept) this.#texts.delete(this.#texts.keys().next().value!);
  }

  explained({ message, fix, facts }: AgentError, { masks }: ChangeRules, profile: ProfilePaths): AgentError {
    const old = this.#texts.get(String(facts?.expected));
    const changed = old === undefined ? null : whatChanged(old, textOf(profile), masks);
    return new AgentError('CONFIG_CHANGED', message, { ...(fix ? { fix } : {}), facts: { ...facts, changed } });
  }
}

function whatChanged(old: string, now: string, masks: Masks): { key: string; before: unknown; after: unknown }[] | null {
  try {
    const [before, after] = [old, now].map((text) => parseConfigText(text, '').config) as [object, object];
    return differences(before, after).map(({ path, ...values }) => ({
      key: dottedKey(path),
      before: masks.hide(values.before, path) ?? null,
      after: masks.hide(values.after, path) ?? null,
    }));
  } catch {
    return null;
  }
}
