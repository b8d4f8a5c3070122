/** A change of config.yaml that would close the dashboard to its own user. */
import t from 'tap';
import { lockoutReason } from '../../state/config/lockout.ts';
import type { Config } from '../../state/config/schema.ts';

const HASH = `scrypt$16384$8$5$${Buffer.alloc(16, 1).toString('base64url')}$${Buffer.alloc(32, 2).toString('base64url')}`;
const password = { basic_auth: { username: 'ada', password_hash: HASH } };
const oidc = { oauth: { self_hosted: { issuer: 'https://id.example.org', client_id: 'agent' } } };

interface Case {
  name: string;
  before?: Config;
  after: Config;
  secrets?: Record<string, string>;
  env?: Record<string, string>;
  want: RegExp | null;
}

const cases: Case[] = [
  { name: 'what has nothing to do with it', after: { model: { default: 'x' } }, want: null },
  { name: 'another port', after: { dashboard: { port: 9200 } }, want: null },
  {
    name: 'a wide address without a sign-in',
    after: { dashboard: { host: '0.0.0.0' } },
    want: /listens on 0\.0\.0\.0:9119.*agent dashboard passwd/,
  },
  { name: 'one address of this machine without a sign-in', after: { dashboard: { host: '192.168.1.4' } }, want: /192\.168\.1\.4/ },
  {
    name: 'a public name without a sign-in',
    after: { dashboard: { public_url: 'https://agent.example.org' } },
    want: /public_url is https:\/\/agent\.example\.org/,
  },
  { name: 'a public name of this machine', after: { dashboard: { public_url: 'http://localhost:9000' } }, want: null },
  { name: 'a wide address with a password', after: { dashboard: { host: '0.0.0.0', ...password } }, want: null },
  { name: 'a wide address with OpenID Connect', after: { dashboard: { host: '0.0.0.0', ...oidc } }, want: null },
  {
    name: 'a wide address with a password in .env',
    after: { dashboard: { host: '0.0.0.0' } },
    secrets: { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: 'ada', AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: HASH },
    want: null,
  },
  {
    name: 'a wide address of a service that runs with --insecure',
    after: { dashboard: { host: '0.0.0.0' } },
    env: { AGENT_DASHBOARD_INSECURE: '1' },
    want: null,
  },
  {
    name: 'the last provider taken away while it stands open',
    before: { dashboard: { host: '0.0.0.0', ...password } },
    after: { dashboard: { host: '0.0.0.0' } },
    want: /no sign-in is set up/,
  },
  {
    name: 'one of two providers taken away',
    before: { dashboard: { host: '0.0.0.0', ...password, ...oidc } },
    after: { dashboard: { host: '0.0.0.0', ...oidc } },
    want: null,
  },
  {
    name: 'a hash that is none',
    after: { dashboard: { basic_auth: { username: 'ada', password_hash: '1234' } } },
    want: /not of the form scrypt\$N\$r\$p\$salt\$key/,
  },
  {
    name: 'a hash that is none, where the environment has a good one',
    after: { dashboard: { basic_auth: { username: 'ada', password_hash: '1234' } } },
    secrets: { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: 'ada', AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: HASH },
    want: /password_hash is not of the form/,
  },
  {
    name: 'a hash that costs too much',
    after: { dashboard: { basic_auth: { username: 'ada', password_hash: HASH.replace('16384', '16777216') } } },
    want: /not of the form/,
  },
  {
    name: 'a user name without a password, while it stands open',
    after: { dashboard: { host: '0.0.0.0', basic_auth: { username: 'ada' } } },
    want: /the user name ada has no password/,
  },
  {
    name: 'a variable that is not set',
    after: { dashboard: { host: '0.0.0.0', basic_auth: { username: 'ada', password: '${DASH_PW}' } } },
    want: /DASH_PW.*is not set/,
  },
  { name: 'a port that is drawn by lot', after: { dashboard: { port: 0 } }, want: /port 0/ },
  { name: 'a port that browsers refuse', after: { dashboard: { port: 6667 } }, want: /browsers refuse to open port 6667/ },
  {
    name: 'the port of the webhook platform',
    after: { dashboard: { port: 8644 }, platforms: { webhook: { port: 8644 } } },
    want: /port of the webhook platform/,
  },
  {
    name: 'an issuer in the clear',
    after: { dashboard: { oauth: { self_hosted: { issuer: 'http://id.example.org', client_id: 'x' } } } },
    want: /https:\/\//,
  },
  {
    name: 'an issuer on this machine',
    after: { dashboard: { oauth: { self_hosted: { issuer: 'http://127.0.0.1:8080/realms/x', client_id: 'x' } } } },
    want: null,
  },
  ...['*', '0.0.0.0/0', '::/0', 'proxy.example.org', '10.0.0.0/33'].map((entry) => ({
    name: `everybody trusted as a proxy: ${entry}`,
    after: { dashboard: { trusted_proxies: [entry] } },
    want: /trusted_proxies/,
  })),
  { name: 'a network of proxies', after: { dashboard: { trusted_proxies: ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'] } }, want: null },
  {
    name: 'a public address with a path',
    after: { dashboard: { public_url: 'https://example.org/agent', ...password } },
    want: /a name of its own/,
  },
  {
    name: 'a public address that is none',
    after: { dashboard: { public_url: 'agent.example.org', ...password } },
    want: /write it as https:\/\/name/,
  },
  {
    name: 'a change elsewhere, while an old fault is there',
    before: { dashboard: { host: '0.0.0.0' } },
    after: { dashboard: { host: '0.0.0.0' }, model: { default: 'x' } },
    want: null,
  },
];

for (const { name, before = {}, after, secrets = {}, env = {}, want } of cases) {
  t.test(`${name}: ${want ? 'refused with what to do' : 'goes through'}`, async (t) => {
    const reason = lockoutReason(before, after, { get: (key) => secrets[key] ?? env[key] }, env);
    if (want) t.match(reason, want);
    else t.equal(reason, null);
  });
}
