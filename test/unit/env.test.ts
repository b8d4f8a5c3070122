import t from 'tap';
import { filterEnv } from '../../base/envFilter.ts';
import { commonEnv } from '../../services/manifest.ts';
import { interpolate, readSecrets } from '../../state/env.ts';
import { testHome } from '../harness/home.ts';

t.test('.env: quotes, comments and empty values; the environment outranks it; no file is no secret', async (t) => {
  using home = testHome({ '.env': 'A=1\n# comment\nB="two words"\nC=\'#3\'\nexport D=4\nEMPTY=\n' });
  const secrets = readSecrets(home.env, { A: 'from outside', B: '' });
  t.same(['A', 'B', 'C', 'D', 'EMPTY', 'F'].map(secrets.get), ['from outside', 'two words', '#3', '4', undefined, undefined]);
  t.same(secrets.names(), ['A', 'B', 'C', 'D', 'EMPTY']);
  t.same(readSecrets(`${home.env}.absent`, {}).names(), []);
  t.throws(() => readSecrets(home.root), { code: 'HOME_UNUSABLE', fix: /chmod 600/ });
});

t.test('${NAME} and ${env:NAME} are filled in; what is not set keeps its placeholder', async (t) => {
  using home = testHome({ '.env': 'KEY=v$1\n' });
  const secrets = readSecrets(home.env, {});
  t.equal(interpolate('a ${KEY} ${env:KEY} ${NOPE} $KEY ${ KEY }', secrets), 'a v$1 v$1 ${NOPE} $KEY ${ KEY }');
});

t.test('what the redactor learns: secret names and random values, not every word', async (t) => {
  using home = testHome({
    '.env':
      'IRC_PASSWORD=simple\nIRC_HOST=irc.example.org\nMODE=production\nPORT=8644\nURL=http://127.0.0.1:8080/v1\nHASH=9f86d081884c7d659a2f\n',
  });
  t.same(readSecrets(home.env, {}).values().toSorted(), ['9f86d081884c7d659a2f', 'simple']);
});

t.test('lesson 38: a child sees what it may: exact names, prefixes and suffixes', async (t) => {
  const env = { PATH: '/bin', LC_ALL: 'C', LCX: '', OPENAI_API_KEY: 'k', API_KEY_FILE: 'f', HOME: '/h', UNSET: undefined };
  t.same(filterEnv(env, ['PATH', 'LC_*', '*_API_KEY', 'UNSET']), { PATH: '/bin', LC_ALL: 'C', OPENAI_API_KEY: 'k' });
  t.same(
    filterEnv({ ...env, AGENT_SLOT_NONCE: 'n', IRC_PASSWORD: 'p', NODE_OPTIONS: '--inspect' }, commonEnv),
    { PATH: '/bin', LC_ALL: 'C', HOME: '/h' },
    'nothing secret is common',
  );
  t.same(
    filterEnv({ AGENT_INCARNATION: 'home.slot.1', AGENT_SLOT: 's' }, []),
    { AGENT_INCARNATION: 'home.slot.1' },
    'the mark always passes',
  );
});
