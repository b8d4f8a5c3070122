/**
 * The configuration in force: config.yaml and .env as they are, or as they last were good. The files are
 * the truth; watchers are hints, so asking whether something changed is cheap.
 */
import { existsSync } from 'node:fs';
import { isAgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import type { Redactor } from '../base/redact.ts';
import { loadConfig, placed, rememberGood, type LoadedConfig } from '../state/config/load.ts';
import { readSecrets } from '../state/env.ts';
import { badLines } from '../state/envFile.ts';
import { stampOf } from '../state/fileStamp.ts';
import { DEFAULT_PROFILE, listProfiles, type Home } from '../state/home.ts';
import type { Problems } from './problems.ts';
import { defaultPolicy, type RestartPolicy } from './spec.ts';

/** Lines of `.env` files that are named; the others are seen when these are corrected. */
const BAD_LINES_NAMED = 5;

export class Settings {
  #home: Home;
  #loaded: LoadedConfig;
  #stamp: string;
  #files: { profiles: string | undefined; paths: string[] } = { profiles: undefined, paths: [] };

  #rememberAgain: NodeJS.Timeout | undefined;

  constructor(home: Home) {
    this.#home = home;
    this.#stamp = this.#stampNow();
    this.#loaded = loadConfig(home);
  }

  get config(): LoadedConfig['config'] {
    return this.#loaded.config;
  }

  /** Contract §4, as `supervisor.restart` changes it. */
  get policy(): RestartPolicy {
    const { base_ms, max_ms, healthy_ms } = this.config.supervisor?.restart ?? {};
    return {
      ...defaultPolicy,
      ...(base_ms && { baseMs: base_ms }),
      ...(max_ms && { maxMs: max_ms }),
      ...(healthy_ms && { healthyMs: healthy_ms }),
    };
  }

  get hasMcpServers(): boolean {
    return Object.keys(this.config.mcp_servers ?? {}).length > 0;
  }

  /** True when a file is another one than that in force, or profiles came or went. */
  isStale(): boolean {
    return this.#stampNow() !== this.#stamp;
  }

  /** Reads the files again; when that fails they are stale as before. */
  renew(): void {
    const stamp = this.#stampNow();
    this.#loaded = loadConfig(this.#home);
    this.#stamp = stamp;
  }

  /** Says what is wrong with them, and hides what is secret. */
  report(problems: Problems, log: Logger, redact: Redactor): void {
    const { problem, ineffective } = this.#loaded;
    if (problem) {
      const place = `${problem.path}:${problem.line}:${problem.column}`;
      const serves = existsSync(this.#home.run.goodConfig)
        ? 'the last good configuration is used'
        : 'the defaults are used, because none was good before';
      problems.set('config', `${place}: ${problem.message}; ${serves}`, problem.fix);
    } else {
      problems.delete('config');
    }
    for (const setting of ineffective) log.warn(`${placed(setting)} — ${setting.fix}`);
    try {
      const profiles = listProfiles(this.#home).map((one) => this.#home.profile(one));
      // Workers of every profile print here.
      for (const { name, env } of profiles) redact.learn(readSecrets(env, name === DEFAULT_PROFILE ? process.env : {}).values());
      const bad = profiles.flatMap(({ env }) => badLines(env).map((line) => `${env}:${line}`));
      if (bad.length === 0) problems.delete('env');
      else
        problems.set(
          'env',
          `${bad.slice(0, BAD_LINES_NAMED).join(', ')}: not of the form NAME=value, so ignored`,
          'correct the file, or set the value with `agent env set NAME`',
        );
    } catch (thrown) {
      problems.set('env', messageOf(thrown), isAgentError(thrown) ? (thrown.fix ?? '') : '');
    }
  }

  /** Keeps what is good, for the day when it is not. */
  remember(log: Logger): void {
    if (this.#loaded.problem) return;
    try {
      rememberGood(this.#home, this.#loaded);
    } catch (thrown) {
      log.warn('the good configuration could not be kept', errorFields(thrown));
      clearTimeout(this.#rememberAgain);
      this.#rememberAgain = setTimeout(() => this.remember(log), limits.restart.shortageCheckMs).unref();
    }
  }

  /** Asked at every pulse: the paths are put together only when profiles come or go. */
  #stampNow(): string {
    const names = listProfiles(this.#home);
    const profiles = names.join(' ');
    if (this.#files.profiles !== profiles) {
      const all = names.map((name) => this.#home.profile(name));
      this.#files = { profiles, paths: all.flatMap(({ config, env }) => [config, env]) };
    }
    // A renamed one has the same files.
    return `${profiles} ${stampOf(this.#files.paths)}`;
  }
}
