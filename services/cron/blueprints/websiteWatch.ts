import { everyField, js, type Blueprint } from './blueprint.ts';

export const websiteWatch: Blueprint = {
  key: 'website-watch',
  title: 'Website watch',
  description: 'Speaks up when an address does not answer as it should, and when it does again. Asks no model.',
  category: 'This machine',
  tags: ['network', 'alarm'],
  fields: [
    { name: 'url', type: 'text', shape: 'url', label: 'Which address?', default: 'https://example.org/' },
    {
      name: 'expects',
      type: 'text',
      label: 'Which words must be on it?',
      optional: true,
      help: 'empty: an answer without an error is enough',
    },
    everyField('10m', ['5m', '10m', '30m', '1h', '6h']),
  ],
  job: ({ url, expects, every }) => ({
    name: `Website watch: ${new URL(url!).host}`,
    schedule: `every ${every}`,
    script: {
      kind: 'mjs',
      text: `import { existsSync, rmSync, writeFileSync } from 'node:fs';

const url = ${js(url!)};
const expects = ${js(expects!)};
/** There while the address is known to fail: a failure is told once. */
const mark = new URL(import.meta.url.replace(/\\.mjs$/, '.mark'));

async function problem() {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    if (!answer.ok) return \`it answers \${answer.status}\`;
    if (expects !== '' && !(await answer.text()).includes(expects)) return \`"\${expects}" is not on it\`;
    return undefined;
  } catch (thrown) {
    return \`it cannot be reached (\${thrown.cause?.code ?? thrown.name})\`;
  }
}

const found = await problem();
const known = existsSync(mark);
if (found !== undefined && !known) writeFileSync(mark, found);
if (found === undefined && known) rmSync(mark);
if (found !== undefined) console.log(\`\${known ? '[SILENT] ' : ''}\${url}: \${found}.\`);
else console.log(known ? \`\${url} answers again.\` : \`[SILENT] \${url} is fine.\`);
`,
    },
  }),
};
