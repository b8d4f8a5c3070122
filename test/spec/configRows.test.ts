/** Interface spec, Versioning: row ver.3. */
import t from 'tap';
import { parseConfigText } from '../../state/config/load.ts';
import { migrations } from '../../state/config/migrations.ts';
import { configVersions, LATEST_CONFIG_VERSION } from '../../state/config/schema.ts';

const read = (value: object) => parseConfigText(JSON.stringify(value), 'config.yaml').config;

t.test('ver.3 config migrations are numbered: 39 to 40, 44 to 45, and the last leads to the form of this release', async (t) => {
  t.strictSame(
    migrations.map(({ from, to }) => [from, to]),
    [
      [39, 40],
      [44, 45],
    ],
  );
  t.equal(migrations.at(-1)!.to, LATEST_CONFIG_VERSION);
});

t.test('ver.3 39 to 40 drops the old ttl_hours default; another number was a choice and stays', async (t) => {
  for (const { name, given, want } of [
    { name: 'the old default in an old file', given: { _config_version: 39, model_catalog: { ttl_hours: 24 } }, want: undefined },
    { name: 'a choice in an old file', given: { _config_version: 39, model_catalog: { ttl_hours: 6 } }, want: 6 },
    { name: 'in a file of form 40', given: { _config_version: 40, model_catalog: { ttl_hours: 24 } }, want: 24 },
    { name: 'in a file that names no form', given: { model_catalog: { ttl_hours: 24 } }, want: 24 },
  ])
    t.equal(read(given).model_catalog?.ttl_hours, want, name);
});

t.test('ver.3 44 to 45 turns the connections toolset on for explicit lists, unless it is disabled', async (t) => {
  const lists = { irc: ['terminal', 'file'], cli: ['agent-cli'], cron: 'agent-cron', webhook: [], slack: ['connections', 'web'] };
  const after = { ...lists, irc: ['terminal', 'file', 'connections'] };
  t.strictSame(read({ _config_version: 44, platform_toolsets: lists }).platform_toolsets, after);
  t.strictSame(read({ _config_version: 12, platform_toolsets: lists }).platform_toolsets, after, 'older ones too');
  for (const given of [
    { _config_version: 45, platform_toolsets: lists },
    { platform_toolsets: lists },
    { _config_version: 44, platform_toolsets: lists, agent: { disabled_toolsets: ['connections'] } },
  ])
    t.strictSame(read(given).platform_toolsets, lists);
});

t.test('ver.3 a file of an older form is read in the latest, and still says which it is', async (t) => {
  const config = read({ _config_version: 39, model_catalog: { ttl_hours: 24 } });
  t.strictSame(configVersions(config), { config_version: 39, latest_config_version: 45 });
});
