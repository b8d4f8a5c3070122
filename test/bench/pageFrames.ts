/** Frames of a scripted scroll, counted in a trace of Chromium: what was really put on the screen, not what was asked for. */
import type { Page } from 'playwright-core';
import { round } from './measure.ts';

export interface Frames {
  perSecond: number;
  /** Between one frame and the next. */
  p95Ms: number;
  longest: number;
  /** `drawn`: frames that the screen got; `turns`: those that the page was given, where the trace has none. */
  counted: 'drawn' | 'turns';
}

/** A figure of a bench of the page. */
export interface Line {
  what: string;
  value: string;
  limit: string;
}

export const frameLine = (what: string, { perSecond, p95Ms, longest, counted }: Frames): Line => ({
  what: `${what}, ${counted === 'drawn' ? 'frames' : 'turns of the page'} a second (p95 ms, longest ms)`,
  value: `${round(perSecond)} (${round(p95Ms)}, ${round(longest)})`,
  limit: '≥ 50',
});

interface TraceEvent {
  name: string;
  /** Microseconds. */
  ts: number;
}

/** Scrolls the element that `box` evaluates to by `perFrame` pixels with each frame the page is given. */
export async function scrolled(page: Page, box: string, { pixels, perFrame }: { pixels: number; perFrame: number }): Promise<Frames> {
  const cdp = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  cdp.on('Tracing.dataCollected', ({ value }) => void events.push(...(value as unknown as TraceEvent[])));
  const collected = new Promise<void>((resolve) => void cdp.once('Tracing.tracingComplete', () => resolve()));
  const categories = ['disabled-by-default-devtools.timeline.frame', 'devtools.timeline.frame', 'devtools.timeline'];
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: categories } });
  const asked = await page.evaluate<number[]>(`new Promise((done) => {
    const turns = [];
    const box = ${box};
    const step = Math.sign(${pixels}) * ${perFrame};
    let left = Math.ceil(Math.abs(${pixels}) / ${perFrame});
    const next = (at) => {
      turns.push(at);
      box.scrollTop += step;
      left -= 1;
      if (left > 0) requestAnimationFrame(next);
      else requestAnimationFrame(() => done(turns));
    };
    requestAnimationFrame(next);
  })`);
  await cdp.send('Tracing.end');
  await collected;
  await cdp.detach();
  const drawn = events.filter(({ name }) => name === 'DrawFrame').map(({ ts }) => ts / 1_000);
  // A long scroll fills the buffer of the trace before its first frame: then the page's own turns are counted.
  return drawn.length < 2
    ? framesOf(asked, 'turns')
    : framesOf(
        drawn.toSorted((a, b) => a - b),
        'drawn',
      );
}

function framesOf(drawnMs: readonly number[], counted: Frames['counted']): Frames {
  const between = drawnMs.slice(1).map((at, index) => at - drawnMs[index]!);
  if (between.length === 0) throw new Error('nothing was scrolled');
  const sorted = between.toSorted((a, b) => a - b);
  const seconds = (drawnMs.at(-1)! - drawnMs[0]!) / 1_000;
  return { perSecond: between.length / seconds, p95Ms: sorted[Math.floor(sorted.length * 0.95)]!, longest: sorted.at(-1)!, counted };
}
