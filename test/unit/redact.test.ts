import fc from 'fast-check';
import t from 'tap';
import { createRedactor, SECRET_FIELD, SECRET_NAME } from '../../base/redact.ts';

const MARK = '[redacted]';

t.test('lesson 38: credentials of known shapes are recognised without knowing them', async (t) => {
  const table: [given: string, want: string][] = [
    ['key sk-proj-abcDEF1234567890abcd in use', `key ${MARK} in use`],
    ['ghp_0123456789abcdefghij0123', MARK],
    ['xoxb-1234567890-abcdef', MARK],
    ['AKIAIOSFODNN7EXAMPLE', MARK],
    [`AIza${'a1'.repeat(18)}`, MARK],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU', MARK],
    ['bot 123456789:AAF-abcdefghijklmnopqrstuvwxyz012345', `bot ${MARK}`],
    ['Authorization: Bearer abc123def456ghi7', `Authorization: Bearer ${MARK}`],
    ['authorization: basic dXNlcjpwYXNzd29yZA==', `authorization: basic ${MARK}`],
    ['GET /x?token=abc&n=1', `GET /x?token=${MARK}&n=1`],
    ['ws://h/api/ws?ticket=t-1', `ws://h/api/ws?ticket=${MARK}`],
    ['OPENAI_API_KEY=abc', `OPENAI_API_KEY=${MARK}`],
    ['MY_SECRET="with \'blanks\' in it" next', `MY_SECRET=${MARK} next`],
    ['postgres://user:pa55w0rd@host/db', `postgres://user:${MARK}@host/db`],
    ['{"api_key":"plain-words-only-key","n":1}', `{"api_key":"${MARK}","n":1}`],
    ['{\\"client_secret\\": \\"deep1nside\\"}', `{\\"client_secret\\": \\"${MARK}\\"}`],
    ['--password=hunter', `--password=${MARK}`],
    ['refresh_token: 1//0abc', `refresh_token: ${MARK}`],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after', `${MARK} after`],
    ['-----BEGIN PRIVATE KEY-----\ncut off', MARK],
  ];
  const redact = createRedactor();
  t.same(
    table.map(([given]) => redact(given)),
    table.map(([, want]) => want),
  );
});

t.test('ordinary words survive', async (t) => {
  const redact = createRedactor();
  const words = [
    'a basic configuration of the bearer certificates',
    'Basic authentication is refused',
    'risk-assessment-of-the-desk-lamp',
    'sk-learn-is-a-library-for-python',
    'session_key agent:main:irc:group:#room',
    'the password: it must have eight characters',
    'max_tokens: 4096, prompt_tokens=12, tokens: 512',
    'http://127.0.0.1:9119/?page=2&sort=key',
    'mailto:someone@example.org wrote at 12:30:45',
    'token budget, key binding, cookie policy',
    '2026-11-21T06:34:08.761Z 0123456789abcdef0123456789abcdef',
    'https://github.com/user/repo@main',
    'put OPENAI_API_KEY=… (or ANTHROPIC_API_KEY) into /home/ada/.agent/.env',
    'put OPENAI_API_KEY=... into .env, or OPENAI_API_KEY=<your key>, or PASSWORD=${OTHER_PASSWORD}',
    'api_key: ${OPENAI_API_KEY_OF_THE_TEAM}, api_key=<the key of your account>',
  ];
  t.same(
    words.map((text) => redact(text)),
    words,
  );
});

t.test('known values disappear wherever they stand, the longer one first; short ones are too common', async (t) => {
  const redact = createRedactor();
  redact.learn(['s3cr3t', 's3cr3t-and-more', 'abc', 'a.c*(x']);
  t.equal(redact('s3cr3t-and-more s3cr3ts abc aXcYx a.c*(x'), `${MARK} ${MARK}s abc aXcYx ${MARK}`);
  redact.learn(['another']);
  t.equal(redact('s3cr3t another'), `${MARK} ${MARK}`, 'learning adds');
});

t.test('which names are secret', async (t) => {
  const names = [
    'OPENAI_API_KEY',
    'IRC_PASSWORD',
    'token',
    'cookies',
    'session_key',
    'api_key',
    'authorization',
    'max_tokens',
    'keyboard',
    'monkeys',
  ];
  t.same(
    names.filter((name) => SECRET_NAME.test(name)),
    ['OPENAI_API_KEY', 'IRC_PASSWORD', 'token', 'cookies', 'session_key', 'api_key', 'max_tokens', 'monkeys'],
    'for configuration: rather too many',
  );
  t.same(
    names.filter((name) => SECRET_FIELD.test(name)),
    ['OPENAI_API_KEY', 'IRC_PASSWORD', 'token', 'api_key', 'authorization'],
    'for log fields',
  );
});

t.test('the quick look misses nothing that redaction would change, at whatever offset it stands', async (t) => {
  const redact = createRedactor();
  redact.learn(['opensesame', 'x7k2-Q9', '日本語の秘密']);
  const pairs = new Uint8Array(0x10000);
  redact.mark(pairs, 1);
  const marked = (text: string) => {
    const bytes = Buffer.from(text);
    return bytes.some((_, at) => at % 2 === 0 && pairs[bytes[at]! | ((bytes[at + 1] ?? 0) << 8)] === 1);
  };
  const digits = fc.stringMatching(/^[A-Za-z0-9_-]{36}$/);
  const words = fc.constantFrom('api_key', 'API-KEY', 'Access_Token', 'authtoken', 'client_secret', 'Password', 'passwd', 'refresh-token');
  const secret = fc.oneof(
    fc
      .tuple(fc.constantFrom('sk-', 'pk-', 'rk-proj-', 'ghp_', 'gho_', 'xoxb-', 'AKIA', 'AIza', '123456:', '99999999:'), digits)
      .map(([a, b]) => a + b),
    fc.tuple(fc.constantFrom('Bearer ', 'basic ', 'BEARER  ', 'Basic\t'), digits).map(([a, b]) => a + b),
    fc.tuple(digits, digits, digits).map((parts) => `eyJ${parts.join('.')}`),
    fc.tuple(words, fc.constantFrom('=', ': ', '": "', '\\": \\"', '=\\"'), digits).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('MY_TOKEN=', 'KEY=', 'A_SECRET="', 'PGPASSWORD=', '?token=', '&ticket=', '?key=', '&secret='), digits)
      .map(([a, b]) => a + b),
    digits.map((text) => `postgres://user:${text}@host/db`),
    fc.constantFrom('-----BEGIN RSA PRIVATE KEY-----', 'opensesame', 'x7k2-Q9', '日本語の秘密'),
  );
  let changed = 0;
  fc.assert(
    fc.property(fc.string({ maxLength: 9 }), secret, fc.string({ maxLength: 9 }), (before, middle, after) => {
      const text = `${before} ${middle} ${after}`;
      if (redact(text) === text) return true;
      changed++;
      return redact.suspects(text) && marked(text);
    }),
    { numRuns: 3_000 },
  );
  t.ok(changed > 2_000, `${changed} texts with a secret`);
  t.notOk(redact.suspects('GET /api/v1/items 200 in 12 ms, cache-hit, user_agent=curl the keyboard and tokens of a basin'));
});

t.test('a known value is hidden whatever is between its characters, as base64 of any text, and line by line', async (t) => {
  const value = fc.stringMatching(/^[A-Za-z0-9+/_-]{12,60}$/).filter((text) => /\d/.test(text) && /[A-Za-z]/.test(text));
  const between = fc.constantFrom('\x1b[31m', '\x1b[0m', '\x9b1;32m', '\r', '\0', '\n', '\r\n', '\u200b', '\x1b[2K\r');
  const cut = (text: string, gaps: readonly (readonly [number, string])[]) => {
    const placed = new Map(gaps.map(([at, gap]) => [1 + (at % (text.length - 1)), gap]));
    return Array.from(text, (sign, at) => (placed.get(at) ?? '') + sign).join('');
  };
  const bare = (text: string) => text.replace(/(?:\x1b\[|\x9b)[0-9;]*[A-Za-z]|[\r\0\n\u200b]/g, '');
  fc.assert(
    fc.property(
      value,
      fc.array(fc.tuple(fc.nat(), between), { maxLength: 5 }),
      fc.string({ maxLength: 7 }),
      fc.constantFrom('plain', 'base64', 'base64url'),
      (secret, gaps, around, form) => {
        const redact = createRedactor();
        redact.learn([secret]);
        const inner = form === 'plain' ? secret : Buffer.from(`${around}${secret}${around}`).toString(form);
        const text = `it is ${cut(inner, gaps)} .`;
        const clean = redact(text);
        // What base64 has before and after the value holds nothing of it but some bits.
        const shown = form === 'plain' ? secret : inner.slice(10, -10);
        return redact.suspects(text) && clean.includes(MARK) && (shown.length < 8 || !bare(clean).includes(shown));
      },
    ),
    { numRuns: 2_000 },
  );
  const redact = createRedactor();
  redact.learn(['-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----']);
  t.same(
    ['a line MIIEvQIBADANBgkqhkiG9w0B alone', 'AQEFAASCBKcwggSjAgEAAoIB'].map((line) => redact(line)),
    [`a line ${MARK} alone`, MARK],
  );
  redact.learn(['opensesame-77']);
  t.equal(redact('one opense\nsame-77 two'), `one ${MARK}\n${MARK} two`, 'lines stay lines');
  t.equal(redact('\x1b[1mBearer \x1b[32mabc123\x1b[0mdef456ghi7'), `Bearer ${MARK}`, 'a shape that colours cut');
  t.equal(redact('\x1b[1mbold\x1b[0m\r\nnext\n'), '\x1b[1mbold\x1b[0m\r\nnext\n', 'all else stays as it is');
});

t.test('the time for a line is bounded, however many secrets and gaps there are', async (t) => {
  const redact = createRedactor();
  redact.learn(Array.from({ length: 2_000 }, (_, n) => `secret-${n}-${'x'.repeat(40)}`));
  const lines = ['a\r'.repeat(32_000), 'secret-'.repeat(9_000), '\x1b['.repeat(32_000), 'Zm9v'.repeat(16_000)];
  const startedAt = performance.now();
  for (const line of lines) redact(line);
  t.ok(performance.now() - startedAt < 20_000, `${Math.round(performance.now() - startedAt)} ms for ${lines.length} lines of 64 KB`);
});
