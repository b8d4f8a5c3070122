/**
 * Which servers exist: what each profile's config.yaml names, and the connections that serve them. Equal
 * settings share one connection. A changed file is noticed at the next use; what did not change stays
 * connected, what did is stopped and proved gone before its successor starts.
 */
import { AgentError, messageOf } from '../../base/errors.ts';
import { loadConfig } from '../../state/config/load.ts';
import { stampOf } from '../../state/fileStamp.ts';
import { readSecrets } from '../../state/env.ts';
import { DEFAULT_PROFILE, requireProfile, type ProfilePaths } from '../../state/home.ts';
import type { WorkerContext } from '../worker.ts';
import { Connection } from './connection.ts';
import { readServers, type ConfiguredServer } from './settings.ts';
import type { McpStore } from './store.ts';

export interface FleetServer {
  configured: ConfiguredServer;
  /** Undefined when disabled or unusable. */
  connection: Connection | undefined;
}

interface ProfileServers {
  stamp: string;
  servers: ConfiguredServer[];
}

export interface FleetChange {
  started: string[];
  stopped: string[];
  kept: string[];
}

export class Fleet implements AsyncDisposable {
  #context: WorkerContext;
  #store: McpStore;
  #onChange: () => void;
  #profiles = new Map<string, ProfileServers>();
  #connections = new Map<string, Connection>();
  /** Server name → the connection it had before, until that is proved gone. */
  #ending = new Map<string, Connection>();

  constructor(context: WorkerContext, store: McpStore, onChange: () => void) {
    this.#context = context;
    this.#store = store;
    this.#onChange = onChange;
  }

  /** The servers of a profile, its files read again if they changed. Errors: UNKNOWN_PROFILE. */
  servers(profile: string = DEFAULT_PROFILE): FleetServer[] {
    const paths = requireProfile(this.#context.home, profile);
    if (this.#profiles.get(profile)?.stamp !== stampOfProfile(paths)) this.#read(profile, paths);
    return this.#profiles.get(profile)!.servers.map((configured) => ({ configured, connection: this.#connections.get(configured.key) }));
  }

  /** Errors: UNKNOWN_PROFILE, UNKNOWN_SERVER. */
  server(name: string, profile?: string): FleetServer {
    const all = this.servers(profile);
    const found = all.find(({ configured }) => configured.name === name);
    if (found) return found;
    const names = all.map(({ configured }) => configured.name);
    throw new AgentError('UNKNOWN_SERVER', `there is no MCP server "${name}" in config.yaml`, {
      fix: names.length ? `known servers: ${names.join(', ')}` : `add it: agent mcp add ${name} --command … or --url …`,
    });
  }

  /** Reads every profile in use again; answers when what was removed or changed is proved gone. */
  async reload(): Promise<FleetChange> {
    const before = this.#keysByName();
    for (const profile of new Set([DEFAULT_PROFILE, ...this.#profiles.keys()])) {
      try {
        this.#read(profile, requireProfile(this.#context.home, profile));
      } catch (thrown) {
        this.#context.log.warn(`profile ${profile} is gone: ${messageOf(thrown)}`);
        this.#profiles.delete(profile);
        this.#reconcile();
      }
    }
    await this.#allEnded();
    const after = this.#keysByName();
    const changed = (name: string) => before.get(name) !== after.get(name);
    return {
      started: [...after.keys()].filter(changed),
      stopped: [...before.keys()].filter(changed),
      kept: [...after.keys()].filter((name) => !changed(name)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#profiles.clear();
    this.#reconcile();
    await this.#allEnded();
  }

  #read(profile: string, paths: ProfilePaths): void {
    const { home, log, redact } = this.#context;
    const stamp = stampOfProfile(paths);
    const { config, problem } = loadConfig(home, paths);
    const known = this.#profiles.get(profile);
    if (problem && known) {
      // A slip of the pen in config.yaml must not take running servers away.
      log.warn(`config.yaml cannot be used, the servers stay as they were: ${problem.message}`, { line: problem.line, fix: problem.fix });
      known.stamp = stamp;
      return;
    }
    // A profile sees its own .env alone, never what the process inherited for another.
    const secrets = readSecrets(paths.env, profile === DEFAULT_PROFILE ? process.env : {});
    redact.learn(secrets.values());
    this.#profiles.set(profile, { stamp, servers: readServers(config, secrets, home.root) });
    this.#reconcile();
  }

  /** Makes the connections those that some profile wants. */
  #reconcile(): void {
    const usable = [...this.#profiles.values()].flatMap(({ servers }) => servers).filter(({ settings }) => settings);
    const wanted = new Map(usable.map((server) => [server.key, server]));
    for (const [key, connection] of this.#connections) {
      if (wanted.has(key)) continue;
      this.#connections.delete(key);
      this.#ending.set(connection.name, connection);
      this.#end(connection).catch(() => {});
    }
    for (const [key, { name, settings }] of wanted) {
      if (!settings || this.#connections.has(key)) continue;
      const { log, release } = this.#context;
      const before = this.#ending.get(name);
      const parts = {
        name,
        settings,
        log: log.child(`mcp.${name}`),
        store: this.#store,
        version: release.version,
        onChange: this.#onChange,
      };
      this.#connections.set(key, new Connection(before ? { ...parts, after: () => this.#end(before) } : parts));
    }
  }

  /** Errors: STOP_FAILED; then its successor does not start. */
  async #end(connection: Connection): Promise<void> {
    await connection[Symbol.asyncDispose]();
    if (this.#ending.get(connection.name) === connection) this.#ending.delete(connection.name);
  }

  async #allEnded(): Promise<void> {
    const ends = await Promise.allSettled([...this.#ending.values()].map((connection) => this.#end(connection)));
    for (const end of ends)
      if (end.status === 'rejected') this.#context.log.error(`a server could not be stopped: ${messageOf(end.reason)}`);
  }

  #keysByName(): Map<string, string> {
    const entries = [...this.#profiles].flatMap(([profile, { servers }]) =>
      servers
        .filter(({ settings }) => settings)
        .map(({ name, key }) => [profile === DEFAULT_PROFILE ? name : `${name}@${profile}`, key] as const),
    );
    return new Map(entries);
  }
}

/** Changes when config.yaml or .env of the profile does. */
const stampOfProfile = ({ config, env }: ProfilePaths): string => stampOf([config, env]);
