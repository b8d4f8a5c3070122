/** What makes an installation whole again: true for a clone, a package, an image. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { installationOf, reinstallHint } from '../../bin/service/reinstall.ts';

t.test('an installation is told by where it lies, and the hint is about that one', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const place = (path: string, ...files: string[]): string => {
    const root = join(dir, path);
    mkdirSync(root, { recursive: true });
    for (const file of files) writeFileSync(join(root, file), '');
    return root;
  };
  place('project', 'package.json');
  const cases = [
    { root: place('clone', 'package-lock.json'), built: false, want: 'checkout', hint: /^cd .*clone && npm ci$/ },
    { root: place('built', 'package-lock.json'), built: true, want: 'checkout', hint: /^cd .*built && npm ci$/ },
    { root: place('lib/node_modules/agent-service'), built: true, want: 'global', hint: /^npm install -g .*\.tgz$/ },
    { root: place('project/node_modules/agent-service'), built: true, want: 'dependency', hint: /^cd .*project && npm ci$/ },
    { root: place('_npx/1/node_modules/agent-service'), built: true, want: 'npx', hint: /^npm install -g .*\.tgz$/ },
    { root: place('opt/agent-service'), built: true, inContainer: true, want: 'image', hint: /build the image again/ },
    { root: place('opt/agent-service'), built: true, want: 'folder', hint: /put the whole package into .*opt/ },
  ];
  for (const { root, built, inContainer = false, want, hint } of cases) {
    t.equal(installationOf({ root, built }, inContainer), want, root);
    t.match(reinstallHint({ root, built }, inContainer), hint, root);
  }
  t.end();
});
