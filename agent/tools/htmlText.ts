/** HTML of a stranger as Markdown. Slow for large pages, so it runs in a thread (heavyTask.ts). */
import { limits } from '../../base/limits.ts';

export interface PageText {
  title: string | null;
  markdown: string;
}

/** Nothing in these is text of the page. */
const DROPPED = ['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'form', 'nav', 'footer'] as const;

export async function htmlText(html: string, url: string): Promise<PageText> {
  const { default: Turndown } = await import('turndown');
  const service = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', linkStyle: 'inlined' });
  service.remove(DROPPED as unknown as Parameters<typeof service.remove>[0]);
  service.addRule('links', {
    filter: 'a',
    replacement: (content, node) =>
      link(content, (node as unknown as { getAttribute(name: string): string | null }).getAttribute('href'), url),
  });
  service.addRule('pictures', {
    filter: 'img',
    replacement: (_content, node) => {
      const alt = (node as unknown as { getAttribute(name: string): string | null }).getAttribute('alt')?.trim();
      return alt ? `[image: ${alt}]` : '';
    },
  });
  const source = html.slice(0, limits.tools.webHtmlMaxChars);
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(source)?.[1]?.trim().replace(/\s+/g, ' ') || null;
  const body = /<body[^>]*>([\s\S]*)/i.exec(source)?.[1] ?? source;
  const markdown = service
    .turndown(body)
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return { title, markdown };
}

function link(content: string, href: string | null, base: string): string {
  const text = content.trim().replace(/\s+/g, ' ');
  if (!text) return '';
  if (!href || href.startsWith('#') || /^(?:javascript|data):/i.test(href)) return text;
  return `[${text}](${URL.parse(href, base)?.href ?? href})`;
}
