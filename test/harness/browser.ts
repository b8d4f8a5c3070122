/** A real Chromium for tests: fresh profile, no traffic of its own, gone with everything it made at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { buildPage, pageIsFresh } from '../../scripts/buildPage.ts';
import { requirePackage } from './debianPackage.ts';
import { codeFor } from './loginCode.ts';
import { projectRoot } from './worker.ts';

const args = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface TestBrowser extends AsyncDisposable {
  context: BrowserContext;
  /** A tab whose errors are collected. `proved` (default true): the browser shows a login code of this dashboard first. */
  open(address: string, options?: { proved?: boolean }): Promise<TestTab>;
}

export interface TestTab {
  page: Page;
  /** Uncaught exceptions and console errors so far. */
  errors: string[];
}

export interface BrowserLook {
  width?: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  /** Touch and a small screen. */
  phone?: boolean;
  /** Host names that are this machine; their certificates are taken as they are. */
  names?: string[];
}

export async function startBrowser({
  width = 1280,
  height = 800,
  colorScheme = 'light',
  phone = false,
  names = [],
}: BrowserLook = {}): Promise<TestBrowser> {
  const executablePath = await requirePackage('chromium', '/usr/bin/chromium');
  const profile = mkdtempSync(join(tmpdir(), 'agent-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [...args, ...(names.length ? [`--host-resolver-rules=${names.map((name) => `MAP ${name} 127.0.0.1`).join(',')}`] : [])],
    ignoreHTTPSErrors: names.length > 0,
    viewport: { width, height },
    colorScheme,
    hasTouch: phone,
    isMobile: phone,
    reducedMotion: 'reduce',
    chromiumSandbox: false,
  });
  context.setDefaultTimeout(15_000);
  return {
    context,
    async open(address, { proved = true } = {}) {
      if (proved) await prove(context, new URL(address));
      const page = await context.newPage();
      const errors: string[] = [];
      page.on('pageerror', (thrown) => errors.push(thrown.message));
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      await page.goto(address);
      return { page, errors };
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Builds the page unless it is newer than its sources. */
export async function ensurePage(): Promise<void> {
  if (!pageIsFresh(projectRoot)) await buildPage(projectRoot);
}

/** Gives the context the cookie that a browser gets for a login code. */
async function prove(context: BrowserContext, { origin, port }: URL): Promise<void> {
  const code = await codeFor(Number(port));
  if (code !== null) await context.request.post(`${origin}/auth/code`, { data: { code } });
}
