import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { LineReader } from '../../services/mcp/lineReader.ts';
import { readServers } from '../../services/mcp/settings.ts';
import { nameTools } from '../../services/mcp/toolNames.ts';
import { boundResult } from '../../services/mcp/toolResult.ts';
import type { McpServerConfig } from '../../state/config/schema.ts';
import type { Secrets } from '../../state/env.ts';

const names = (tools: [server: string, tool: string][]) =>
  Object.fromEntries(
    [...nameTools(tools.map(([server, tool]) => ({ server, tool })))].map(([name, of]) => [`${of.server}/${of.tool}`, name]),
  );

t.test('tool names: sanitised, unique, the same whatever the order', async (t) => {
  t.same(
    names([
      ['git', 'status'],
      ['my-server', 'read.file'],
    ]),
    { 'git/status': 'mcp__git__status', 'my-server/read.file': 'mcp__my_server__read_file' },
  );
  const clash = names([
    ['s', 'a-b'],
    ['s', 'a_b'],
    ['s', 'a.b'],
  ]);
  t.equal(clash['s/a_b'], 'mcp__s__a_b', 'the one that needed no change keeps its name');
  t.match([clash['s/a-b'], clash['s/a.b']], [/^mcp__s__a_b_[0-9a-f]{8}$/, /^mcp__s__a_b_[0-9a-f]{8}$/]);
  t.equal(
    new Set(
      Object.values(
        names([
          ['a__b', 'c'],
          ['a', 'b__c'],
        ]),
      ),
    ).size,
    2,
    'also over the border of two servers',
  );
});

t.test('tool names: any tools whatever get different names that a model API takes', async (t) => {
  const origin = fc.record({ server: fc.string({ minLength: 1, maxLength: 40 }), tool: fc.string({ minLength: 1, maxLength: 80 }) });
  const holds = fc.property(fc.uniqueArray(origin, { selector: ({ server, tool }) => `${server}\0${tool}`, maxLength: 20 }), (tools) => {
    const named = nameTools(tools);
    return (
      named.size === tools.length &&
      [...named.keys()].every((name) => /^[A-Za-z0-9_]+$/.test(name) && name.length <= limits.mcp.toolNameMaxChars) &&
      [...nameTools(tools.toReversed())].every(([name, tool]) => named.get(name) === tool)
    );
  });
  t.doesNotThrow(() => fc.assert(holds));
});

t.test('results: text first, other blocks described, everything under the bound', async (t) => {
  const blocks = [
    { type: 'text', text: 'a' },
    { type: 'image', data: 'QUJD', mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'file:///x', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///y', blob: 'QUJD', mimeType: 'application/zip' } },
    { type: 'resource_link', uri: 'file:///z', name: 'z' },
    null,
  ];
  t.equal(
    boundResult({ content: blocks, isError: false }).text,
    ['a', '[image image/png, 1 KiB]', 'inside', '[resource file:///y, application/zip]', '[resource z: file:///z]', 'null'].join('\n'),
  );
  t.equal(boundResult({ content: [], structured: { n: 1 }, isError: false }).text, '{"n":1}', 'structured alone is text too');
  const bound = boundResult(
    { content: [{ type: 'text', text: '\u0001'.repeat(5_000) }], structured: 'x'.repeat(5_000), isError: true },
    1_000,
  );
  t.ok(Buffer.byteLength(JSON.stringify(bound)) < 3_000, 'measured as it will travel');
  t.match(bound, { is_error: true, structured: undefined });
});

t.test('lines: cut anywhere, never longer than the limit', async (t) => {
  const bytes = Buffer.from('one\r\ntwö\n\nthree');
  const cuts = Array.from({ length: bytes.length + 1 }, (_, cut) => {
    const reader = new LineReader(100);
    return [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut)), ...reader.push(Buffer.from('\n'))].join('|');
  });
  t.same(new Set(cuts), new Set(['one|twö||three']));
  t.throws(() => new LineReader(5).push(Buffer.from('123456')), { code: 'FRAME_TOO_LARGE' });
  const cutting = new LineReader(5, { cut: true });
  t.same(
    [...cutting.push(Buffer.from('1234')), ...cutting.push(Buffer.from('5678')), ...cutting.push(Buffer.from('90\nab\n'))],
    ['12345', 'ab'],
  );
});

t.test('settings: transport, secrets and the key by which servers are shared', async (t) => {
  const secrets: Secrets = { get: (name) => (name === 'KEY' ? 'v' : undefined), names: () => [], values: () => [] };
  const read = (entry: McpServerConfig) => readServers({ mcp_servers: { s: entry } }, secrets, '/cwd')[0]!;
  t.match(read({ command: 'x', env: { A: '${KEY}', B: '${NOPE}' } }), {
    settings: { transport: 'stdio', cwd: '/cwd', env: { A: 'v', B: '${NOPE}' } },
    unset: ['NOPE'],
  });
  t.match(read({ url: 'http://h/${KEY}', headers: { H: '${env:KEY}' }, timeout: 1.5 }).settings, {
    transport: 'http',
    url: 'http://h/v',
    headers: { H: 'v' },
    callMs: 1_500,
  });
  t.match(read({ url: 'http://h', transport: 'sse' }).settings, { transport: 'sse' });
  t.match(read({ url: 'http://h', command: 'x', transport: 'stdio' }), { settings: undefined, problem: String });
  t.match(
    [read({}), read({ transport: 'http', command: 'x' })],
    [{ settings: undefined, problem: /needs "command"/ }, { settings: undefined }],
  );
  t.equal(read({ command: 'x' }).key, read({ command: 'x', enabled: true }).key);
  t.not(read({ command: 'x' }).key, read({ command: 'x', env: { A: '${KEY}' } }).key);
});
