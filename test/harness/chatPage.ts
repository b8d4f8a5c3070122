/** The chat of the page as a person uses it. Only rows near the screen exist, so answers are found by what they answer, never counted. */
import type { Locator, Page } from 'playwright-core';
import { until } from './until.ts';

export const composer = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });
export const answers = (page: Page): Locator => page.locator('[data-role=assistant]');
export const prompts = (page: Page): Locator => page.locator('[data-role=user]');

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  // A list of suggestions would take the Enter.
  if (/^\/|@\S*$/.test(text)) await page.keyboard.press('Escape');
  await composer(page).press('Enter');
}

/** Says it and waits for the whole answer, which is the last one. */
export async function ask(page: Page, text: string): Promise<Locator> {
  await say(page, text);
  await answered(page, text);
  return answers(page).last();
}

/** Waits until the last prompt is this one and nothing is under way behind it. */
export async function answered(page: Page, text: string): Promise<void> {
  const script = `(() => {
    const rows = [...document.querySelectorAll('[data-role]')];
    const last = rows.findLastIndex((row) => row.dataset.role === 'user');
    const said = rows[last]?.querySelector('p')?.textContent;
    const whole = rows.slice(last + 1).some((row) => row.dataset.role === 'assistant') && !document.querySelector('[data-testid=working]');
    return { said, whole };
  })()`;
  const wanted = text.trim();
  await until(`"${wanted.slice(0, 40)}" is answered`, async () => {
    const { said, whole } = await page.evaluate<{ said?: string; whole: boolean }>(script);
    return said === wanted && whole;
  });
}
