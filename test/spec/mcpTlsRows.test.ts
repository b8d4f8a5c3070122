/** Interface spec, configuration of MCP servers over TLS: cfg.11–13 and err.19, against a real HTTPS server. */
import t from 'tap';
import { createMasks, MARK } from '../../state/config/mask.ts';
import { parseConfigText } from '../../state/config/load.ts';
import { makeCertificates, PASSWORD } from '../harness/certificates.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { startTestBroker } from '../harness/mcp.ts';
import { startTlsServer } from '../harness/mcpOverTls.ts';

const files = makeCertificates();
t.teardown(() => files[Symbol.dispose]());
const ca = files.path('ca.pem');

t.test('cfg.11 client_cert: one file with both, [cert, key], [cert, key, password]; over HTTP and SSE', async (t) => {
  await using server = await startTlsServer(files, { clients: true });
  const url = `https://127.0.0.1:${server.port}/mcp`;
  const cert = files.path('client.pem');
  const key = files.path('client.key');
  await using broker = await startTestBroker(
    {
      combined: { url, ssl_verify: ca, client_cert: files.path('both.pem') },
      pair: { url, ssl_verify: ca, client_cert: [cert, key] },
      locked: { url, ssl_verify: ca, client_cert: [cert, files.path('locked.key'), '${KEY_PASSWORD}'] },
      sse: { url: `https://127.0.0.1:${server.port}/sse`, transport: 'sse', ssl_verify: ca, client_cert: [cert, key] },
      none: { url, ssl_verify: ca },
      wrong: { url, ssl_verify: ca, client_cert: [cert, files.path('locked.key'), 'not it'] },
    },
    { env: `KEY_PASSWORD=${PASSWORD}\n` },
  );
  for (const name of ['combined', 'pair', 'locked', 'sse'])
    t.match(await broker.call({ name: `mcp__${name}__greet`, args: {} }), { text: 'hello over TLS', is_error: false }, name);
  t.same([...new Set(server.seen)], ['client'], 'the server has seen the certificate each time');
  t.match(await broker.test('none'), { ok: false, error: /^none \(https:.*could not be connected/ });
  t.match(await broker.test('wrong'), { ok: false, error: /client certificate cannot be used/ });
});

t.test('cfg.11 ~ in its path is the home directory', async (t) => {
  // Workers of tests have the home of the test as HOME.
  const home = testHome({ 'tls/both.pem': files.read('both.pem').toString() });
  await using server = await startTlsServer(files, { clients: true });
  await using broker = await startTestBroker(
    { tls: { url: `https://127.0.0.1:${server.port}/mcp`, ssl_verify: ca, client_cert: '~/tls/both.pem' } },
    { home },
  );
  t.match(await broker.call({ name: 'mcp__tls__greet', args: {} }), { text: 'hello over TLS' });
});

t.test('cfg.11 the password of a key is masked where configuration is shown, and the path of the key is not', async (t) => {
  const servers = { tls: { url: 'https://x/', client_cert: ['a.pem', 'a.key', 'sesame'], client_key: '/etc/a.key' } };
  t.strictSame(createMasks([]).hide({ mcp_servers: servers }), {
    mcp_servers: { tls: { ...servers.tls, client_cert: ['a.pem', 'a.key', MARK] } },
  });
  using home = testHome();
  t.match(await cli(['config', 'set', 'mcp_servers.tls.client_key', '/etc/a.key'], { home }), { code: 0 });
});

t.test('cfg.11 other shapes are refused with the key; a certificate for a server without TLS is not used in silence', async (t) => {
  for (const wrong of ['[a]', '[a, b, c, d]', '5', '""']) {
    const text = `mcp_servers: { x: { url: "https://x/", client_cert: ${wrong} } }\n`;
    t.throws(() => parseConfigText(text, 'config.yaml'), { code: 'CONFIG_INVALID', message: /mcp_servers\.x\.client_cert/ }, wrong);
  }
  await using broker = await startTestBroker({ clear: { url: 'http://127.0.0.1:9/mcp', client_cert: files.path('both.pem') } });
  t.match(await broker.test('clear'), { ok: false, error: /client_cert or ssl_verify.*https:/ });
});

t.test('cfg.12 client_key is the separate key file of client_cert', async (t) => {
  await using server = await startTlsServer(files, { clients: true });
  await using broker = await startTestBroker({
    apart: {
      url: `https://127.0.0.1:${server.port}/mcp`,
      ssl_verify: ca,
      client_cert: files.path('client.pem'),
      client_key: files.path('client.key'),
    },
  });
  t.match(await broker.call({ name: 'mcp__apart__greet', args: {} }), { text: 'hello over TLS' });
});

t.test('cfg.13 ssl_verify: true checks, a path names the authorities, false checks nothing', async (t) => {
  await using server = await startTlsServer(files);
  const url = `https://127.0.0.1:${server.port}/mcp`;
  await using broker = await startTestBroker({
    plain: { url },
    checked: { url, ssl_verify: true },
    bundle: { url, ssl_verify: ca },
    stranger: { url, ssl_verify: files.path('client.pem') },
    unchecked: { url, ssl_verify: false },
  });
  const table = { plain: false, checked: false, bundle: true, stranger: false, unchecked: true };
  for (const [name, ok] of Object.entries(table)) {
    const answer = await broker.test(name);
    t.match(answer, { ok }, `${name}: ${answer.error}`);
    if (name !== 'plain' && name !== 'checked') continue;
    t.match(answer, { fix: 'name the PEM file of its authority in ssl_verify' }, name);
  }
});

t.test('err.19 a missing certificate or key file is named, with its server, when it connects', async (t) => {
  const url = 'https://127.0.0.1:9/mcp';
  const missing = files.path('nowhere.pem');
  await using broker = await startTestBroker({
    cert: { url, client_cert: missing },
    key: { url, client_cert: files.path('client.pem'), client_key: missing },
    bundle: { url, ssl_verify: missing },
  });
  const words = { cert: 'client certificate', key: 'client key', bundle: 'CA bundle' };
  for (const [name, what] of Object.entries(words)) {
    const error = `${name} (https://127.0.0.1:9) could not be connected: its ${what} ${missing} was not found`;
    t.match(await broker.test(name), { ok: false, error, fix: /config\.yaml/ });
    await t.rejects(broker.call({ server: name, tool: 'greet', args: {} }), { code: 'MCP_FAILED', message: error });
    t.match(await broker.state(name), { state: 'failed', error }, 'and is not tried again by itself');
  }
  const told = await cli(['mcp', 'test', 'cert', '--json'], { home: broker.home });
  t.match(errorOf(told), { code: String, message: String });
});
