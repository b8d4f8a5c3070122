/** `{field.path}` in a prompt becomes the payload's value, `{headers.name}` a header of the delivery; an unknown path stays as it is written (reference, Webhooks). */
import { limits } from '../../../base/limits.ts';

/** `raw` is the body as received, for `{__raw__}`; names of `headers` are lower case. */
export function fillTemplate(template: string, payload: unknown, raw: string, headers: Record<string, string> = {}): string {
  return template.replace(/\{([\w$-]+(?:\.[\w$-]+)*)\}/g, (literal, path: string) => {
    if (path === '__raw__') return cut(raw, limits.gateway.webhookRawMaxChars);
    const value = headers[/^headers\.(.+)$/.exec(path.toLowerCase())?.[1] ?? ''] ?? valueAt(payload, path.split('.'));
    if (value === undefined) return literal;
    return cut(typeof value === 'string' ? value : JSON.stringify(value), limits.gateway.webhookFieldMaxChars);
  });
}

function valueAt(value: unknown, path: string[]): unknown {
  let at = value;
  for (const key of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more characters)`;
