/**
 * What people have to know to set a chat platform up: its variables, its settings and the steps. The gateway's table of
 * adapters (services/gateway/catalog.ts) has one entry for each of these and no other, by type.
 */
import type { PlatformId } from '../../base/closedWords.ts';
import { limits } from '../../base/limits.ts';

export interface PlatformVariable {
  key: string;
  /** Shown masked. */
  secret: boolean;
  required: boolean;
  /** For a form: what the value is. */
  prompt: string;
  description: string;
  /** Only for those who set the platform up in the environment alone. */
  advanced: boolean;
  /** With this one set (to yes, where `flag` says so) the platform is configured without config.yaml. */
  configures?: 'value' | 'flag';
}

export interface PlatformSetting {
  /** Below `platforms.<id>` of config.yaml. */
  key: string;
  kind: 'text' | 'number' | 'switch' | 'list';
  label: string;
  help: string;
  /** As a person would write it; what counts while nothing is set. */
  default: string;
}

export interface PlatformGuide {
  name: string;
  description: string;
  /** Page of the documentation, with its anchor. */
  docs: string;
  canSend: boolean;
  steps: readonly string[];
  variables: readonly PlatformVariable[];
  settings: readonly PlatformSetting[];
}

const variable = (key: string, prompt: string, description: string, more: Partial<PlatformVariable> = {}): PlatformVariable => ({
  key,
  secret: false,
  required: false,
  prompt,
  description,
  advanced: true,
  ...more,
});

const secret = { secret: true, advanced: false } as const;

export const platformGuides = {
  irc: {
    name: 'IRC',
    description: 'Rooms and direct messages on one IRC server.',
    docs: 'docs/chat-platforms.md#irc',
    canSend: true,
    steps: [
      'Choose the server, and whether it speaks TLS (port 6697) or not (6667).',
      'Choose a nick that nobody else uses there, and the rooms to enter, each with its #.',
      'Say who may talk to it: nobody may until they are named. Nicks, masks such as *!*@staff.example.org, or * for everybody.',
      'Save, start the gateway, and test the connection.',
    ],
    variables: [
      variable('IRC_PASSWORD', 'Password', 'Of the server, or of the account named as the nick.', secret),
      variable('IRC_ACCOUNT_PASSWORD', 'Account password', 'Of the account; IRC_PASSWORD is then that of the server alone.', secret),
      variable('IRC_HOST', 'Server', 'Instead of the setting of that name.', { configures: 'value' }),
      variable('IRC_PORT', 'Port', 'Instead of the setting of that name.'),
      variable('IRC_NICK', 'Nick', 'Instead of the setting of that name.'),
      variable('IRC_CHANNELS', 'Rooms', 'Separated by commas; instead of the setting of that name.'),
      variable('IRC_ALLOWED_USERS', 'People who may talk to it', 'Separated by commas; added to the setting of that name.'),
    ],
    settings: [
      { key: 'host', kind: 'text', label: 'Server', help: 'Its name or address.', default: '127.0.0.1' },
      { key: 'port', kind: 'number', label: 'Port', help: '', default: '6667, or 6697 with TLS' },
      { key: 'tls', kind: 'switch', label: 'TLS', help: 'The connection is encrypted.', default: 'off' },
      {
        key: 'tls_ca',
        kind: 'text',
        label: 'Certificate authority',
        help: 'PEM file of the authority that signed the certificate of the server.',
        default: 'those of this machine',
      },
      {
        key: 'tls_fingerprint',
        kind: 'text',
        label: 'Certificate fingerprint',
        help: 'SHA-256 of the only certificate to accept.',
        default: 'none',
      },
      { key: 'account', kind: 'text', label: 'Account', help: 'Signed in to with SASL.', default: 'the nick' },
      { key: 'nick', kind: 'text', label: 'Nick', help: 'What it is called in the rooms.', default: 'agent' },
      { key: 'channels', kind: 'list', label: 'Rooms', help: 'Separated by commas: #room, #other.', default: 'none' },
      {
        key: 'allowed_users',
        kind: 'list',
        label: 'People who may talk to it',
        help: 'Nicks, masks with *, account names, or * for everybody; separated by commas.',
        default: 'nobody',
      },
      {
        key: 'home_channel',
        kind: 'text',
        label: 'Home room',
        help: 'Where messages without another address go.',
        default: 'the first room',
      },
      {
        key: 'require_mention',
        kind: 'switch',
        label: 'Only when it is named',
        help: 'In rooms it answers lines that name it, and no others.',
        default: 'off',
      },
      {
        key: 'gather_ms',
        kind: 'number',
        label: 'Gather lines (ms)',
        help: 'Lines of one person that arrive within this time of each other are one message; 0: each is one.',
        default: String(limits.gateway.ircGatherMs),
      },
    ],
  },
  webhook: {
    name: 'Webhooks',
    description: 'Other programs send events to an address of this machine; each becomes a prompt.',
    docs: 'docs/chat-platforms.md#webhooks',
    canSend: false,
    steps: [
      'Set the secret that senders prove themselves with.',
      'Name the routes under platforms.webhook.routes of config.yaml: a prompt, and where the answer goes.',
      'Save, start the gateway, and send a first event to the address that its log names.',
    ],
    variables: [
      variable('WEBHOOK_SECRET', 'Shared secret', 'Signs the requests of every route that has no secret of its own.', secret),
      variable('WEBHOOK_ENABLED', 'Switched on', 'yes: without a section in config.yaml.', { configures: 'flag' }),
      variable('WEBHOOK_PORT', 'Port', 'Instead of the setting of that name.'),
    ],
    settings: [
      {
        key: 'host',
        kind: 'text',
        label: 'Address to listen on',
        help: 'Beyond loopback every route needs a secret.',
        default: limits.gateway.webhookHost,
      },
      { key: 'port', kind: 'number', label: 'Port', help: '', default: String(limits.gateway.webhookPort) },
    ],
  },
} as const satisfies Record<PlatformId, PlatformGuide>;

/** Undefined = there is no such platform. */
export const guideOf = (id: string): PlatformGuide | undefined =>
  Object.hasOwn(platformGuides, id) ? platformGuides[id as PlatformId] : undefined;
