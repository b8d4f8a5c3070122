/**
 * The platforms this gateway knows, as data. An adapter's module is loaded when its platform is
 * configured, not before: their libraries cost memory. A new platform is a file and a row here.
 */
import type { PlatformId } from '../../base/closedWords.ts';
import { limits } from '../../base/limits.ts';
import { guideOf, platformGuides } from '../../ipc/contracts/platformGuides.ts';
import type { Secrets } from '../../state/env.ts';
import type { AdapterFactory } from './adapter.ts';

export interface PlatformEntry {
  /** Messages can be sent to its chats. */
  canSend: boolean;
  load(): Promise<AdapterFactory>;
  /** Settings found in the environment or `.env`; undefined = it is not configured there. */
  fromSecrets(secrets: Secrets): Record<string, unknown> | undefined;
  /** The one way a chat's name is written; undefined = it cannot be a chat of this platform. */
  normalizeChat(chat: string): string | undefined;
  /** The longest pause between two lines of one person that are one message; 0 = each is one. */
  gatherMs(settings: Record<string, unknown>): number;
  /** Chats named in its settings, the home chat first. */
  chats(settings: Record<string, unknown>): string[];
}

/** One for each guide that people are shown, by type. */
const entries: Readonly<Record<PlatformId, PlatformEntry>> = {
  irc: {
    canSend: platformGuides.irc.canSend,
    load: async () => (await import('./adapters/irc.ts')).createIrcAdapter,
    fromSecrets: (secrets) => {
      const host = secrets.get('IRC_HOST');
      if (!host) return undefined;
      const port = Number(secrets.get('IRC_PORT') ?? '');
      const channels = (secrets.get('IRC_CHANNELS') ?? '').split(',').map((name) => name.trim());
      return { host, ...(port ? { port } : {}), nick: secrets.get('IRC_NICK') ?? 'agent', channels: channels.filter(Boolean) };
    },
    // No space, comma, bell or line break: anything else could become another command.
    normalizeChat: (chat) => (/^[^\s,:\0\x07][^\s,\0\x07]{0,199}$/.test(chat) ? chat.toLowerCase() : undefined),
    gatherMs: ({ gather_ms }) => (typeof gather_ms === 'number' ? gather_ms : limits.gateway.ircGatherMs),
    // A channel may have its key behind it.
    chats: (settings) =>
      [settings.home_channel, ...(Array.isArray(settings.channels) ? settings.channels : [])]
        .filter((chat) => typeof chat === 'string')
        .map((chat) => chat.split(' ')[0]!),
  },
  webhook: {
    canSend: platformGuides.webhook.canSend,
    load: async () => (await import('./adapters/webhook.ts')).createWebhookAdapter,
    fromSecrets: (secrets) => {
      if (!/^(1|true|yes)$/i.test(secrets.get('WEBHOOK_ENABLED') ?? '')) return undefined;
      const port = Number(secrets.get('WEBHOOK_PORT') ?? '');
      return port ? { port } : {};
    },
    normalizeChat: () => undefined,
    gatherMs: () => 0,
    chats: () => [],
  },
};

export const catalog: Readonly<Record<string, PlatformEntry>> = entries;

/** Values of the variables that an adapter may read beside its settings. */
export const secretsOf = (platform: string, secrets: Secrets): string[] =>
  (guideOf(platform)?.variables ?? []).map(({ key }) => secrets.get(key) ?? '');
