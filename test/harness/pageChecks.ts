/** What every place of the page is held to: accessibility by axe-core, and a picture kept to be looked at. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { projectRoot } from './worker.ts';

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string }[];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious and critical faults (WCAG 2.2 A and AA) of the page as it stands, one line each; empty = none. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Through the debugger's own world: the page's policy forbids foreign scripts, as it should.
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } };
    const found = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    return found.violations;
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

/** `artefacts/<name>.png`, kept after a run. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const dir = join(projectRoot, 'artefacts');
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, `${name}.png`) });
}
