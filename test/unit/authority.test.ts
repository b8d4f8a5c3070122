/** The table of who may do what, walked whole: every act, every slash command and every blueprint for every kind of principal. */
import t from 'tap';
import { acts, extentOf, may, type Act } from '../../agent/authority/may.ts';
import { decodePrincipal, encodePrincipal, OWNER, principalOf, type Principal } from '../../agent/authority/principal.ts';
import { registry } from '../../agent/commands/registry.ts';
import { messagesOriginOnly } from '../../agent/tools/policy.ts';
import { Config } from '../../state/config/schema.ts';
import { blueprintTable } from '../../services/cron/blueprints/table.ts';
import { filledFor } from '../../services/cron/blueprints.ts';
import { testHome } from '../harness/home.ts';

const chat: Principal = { kind: 'chat', platform: 'irc', scope: 'agent:default:irc:group:#room' };
const tier: Principal = { ...chat, kind: 'chat_owner' };
const webhook: Principal = { kind: 'webhook', platform: 'webhook', scope: 'ses_1' };
const schedule: Principal = { kind: 'schedule' };

t.test('what strangers reach by default is exactly this', async (t) => {
  const reach = (principal: Principal) =>
    acts.filter((act) => extentOf(principal, act) !== 'none').map((act) => `${act} ${extentOf(principal, act)}`);
  t.same(reach(chat), [
    'converse own',
    'look_up_web all',
    'search_sessions own',
    'keep_jobs own',
    'remember own',
    'read_skills all',
    'send_messages own',
    'choose_model own',
    'answer_approvals own',
  ]);
  t.same(
    reach(tier).filter((row) => !reach(chat).includes(row)),
    ['configure all', 'see_usage all'],
  );
  t.same(reach(webhook), ['converse own', 'look_up_web all', 'send_messages own']);
  t.equal(reach(OWNER).length, acts.length);
});

t.test('what the owner lists opens what a platform has, and never the configuration or the service itself', async (t) => {
  for (const principal of [chat, webhook]) {
    for (const act of ['use_files', 'run_programs', 'use_mcp', 'send_messages'] as const)
      t.equal(extentOf(principal, act, true), 'all', `${principal.kind} ${act}`);
    for (const act of ['search_sessions', 'keep_jobs', 'remember'] as const)
      t.equal(extentOf(principal, act, true), 'own', `${principal.kind} ${act}`);
    for (const act of ['configure', 'see_usage', 'administer'] as const) t.notOk(may(principal, act, { listed: true }), act);
  }
  t.notOk(may(chat, 'keep_jobs', { own: false }), 'a job of another is not theirs');
});

t.test('commands that a chat or a webhook may not use, by every form of their arguments', async (t) => {
  const forms = [
    '',
    '--global',
    'x --global',
    'high --global',
    'show',
    'enable x',
    'disable x',
    'rm 1',
    'key value',
    'agent.max_turns 3',
    'approvals.mode off',
  ];
  const refused = (principal: Principal) =>
    registry.flatMap(({ name, needs }) => {
      const wrong = forms.filter((args) => !may(principal, typeof needs === 'string' ? needs : needs(args)));
      return wrong.length ? [`${name}${wrong.length === forms.length ? '' : ` ${wrong.join('|')}`}`] : [];
    });
  const globals = ['model --global|x --global|high --global', 'reasoning --global|x --global|high --global|show'];
  const administration = ['yolo', 'skills enable x|disable x', 'memory', 'reload-mcp', 'reload'];
  const settings = ['personality', 'skin', 'busy', 'config'];
  const sorted = (...rows: string[]) => rows.toSorted();
  t.same(refused(OWNER), []);
  t.same(sorted(...refused(chat)), sorted(...globals, ...administration, ...settings, 'insights'));
  t.same(
    sorted(...refused(tier)),
    sorted(...administration, 'config x --global|high --global|enable x|disable x|rm 1|key value|approvals.mode off'),
  );
  const config = registry.find(({ name }) => name === 'config')!.needs as (args: string) => Act;
  const sections = Object.keys(Config.shape).filter((section) => may(tier, config(`${section}.key value`)));
  t.same(
    sorted(...sections),
    ['clarify', 'compression', 'display', 'model_aliases', 'personalities'],
    'every other section is refused as a whole',
  );
  t.ok(['cron', 'blueprint', 'approve', 'deny'].every((name) => refused(webhook).includes(name)));
});

t.test('every blueprint with a script or a path is refused to a chat, and none may name a secret of the service', async (t) => {
  using home = testHome({ '.env': 'KEY=x' });
  const values = {
    folder: '/srv',
    file: '/var/log/syslog',
    path: '/srv',
    url: 'https://example.org/',
    urls: 'https://example.org/',
    text: 'x',
    feeds: 'https://example.org/',
    page: 'https://example.org/',
  };
  const allowed: string[] = [];
  for (const blueprint of blueprintTable) {
    const given = Object.fromEntries(
      blueprint.fields.flatMap(({ name }) => (name in values ? [[name, values[name as keyof typeof values]]] : [])),
    );
    try {
      filledFor({ context: { home } as never }, blueprint.key, given, encodePrincipal(chat));
      allowed.push(blueprint.key);
    } catch (thrown) {
      if ((thrown as { code: string }).code !== 'NOT_PERMITTED') allowed.push(`${blueprint.key}: ${String(thrown)}`);
    }
  }
  t.same(allowed.filter((key) => !key.includes(':')).toSorted(), ['feed-reading', 'morning-briefing', 'page-changes', 'weekly-review']);
  t.notMatch(allowed.join(' '), /watch|digest|disk|backup/);
  t.throws(() => filledFor({ context: { home } as never }, 'log-watch', { file: `${home.root}/.env` }, null), { code: 'INVALID_PARAMS' });
});

t.test('a principal comes from the surface, or from whoever made the session, and what cannot be read has no rights', async (t) => {
  const scope = 'k';
  t.same(principalOf({ surface: 'gateway', platform: 'irc', scope }), { kind: 'chat', platform: 'irc', scope });
  t.same(principalOf({ surface: 'gateway', platform: 'irc', scope, isOwner: true }), { kind: 'chat_owner', platform: 'irc', scope });
  t.same(principalOf({ surface: 'gateway', platform: 'webhook', scope, isOwner: true }).kind, 'webhook');
  t.same(principalOf({ surface: 'scheduled_task', scope, stored: encodePrincipal(chat) }), chat);
  t.same(principalOf({ surface: 'scheduled_task', scope }), schedule);
  for (const surface of ['cli', 'tui', 'desktop', 'api', 'other']) t.same(principalOf({ surface, platform: 'irc', scope }), OWNER);
  for (const surface of ['', 'mcp', 'api_key', 'profile', 'Owner'])
    t.equal(principalOf({ surface, scope }).kind, 'webhook', `${surface} is not listed`);
  t.equal(encodePrincipal(tier), encodePrincipal(chat), 'what the owner made from a chat runs later as that chat');
  for (const text of ['', 'null', '{', '{"kind":"chat_owner"}', '{"kind":"root"}', '[]'])
    t.equal(decodePrincipal(text).kind, 'webhook', text);
});

t.test('a job that a chat made may do what both jobs and that chat may', async (t) => {
  t.ok(messagesOriginOnly({ surface: 'scheduled_task', principal: chat, platformToolsets: { cron: ['messaging'] } }));
  t.notOk(
    messagesOriginOnly({ surface: 'scheduled_task', principal: chat, platformToolsets: { cron: ['messaging'], irc: ['messaging'] } }),
  );
  t.notOk(messagesOriginOnly({ surface: 'scheduled_task', platformToolsets: { cron: ['messaging'] } }));
});
