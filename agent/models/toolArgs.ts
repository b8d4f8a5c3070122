/** Arguments of a tool call as the model wrote them: an object, or the raw text when that is no JSON. */

/**
 * Slight damage (quotes, commas, a fence around it) is mended. What merely broke off is not: half a command that
 * looks whole would run. Never throws.
 */
export async function readArguments(text: string, brokeOff: boolean): Promise<unknown> {
  if (text.trim() === '') return {};
  const exact = parsed(text);
  if (exact !== undefined) return exact;
  const bare = /^\s*```(?:json)?\s*(.*?)\s*```\s*$/s.exec(text)?.[1] ?? text.trim();
  if (brokeOff || !bare.startsWith('{') || !bare.endsWith('}')) return text;
  const { jsonrepair } = await import('jsonrepair');
  try {
    const mended = parsed(jsonrepair(bare));
    return typeof mended === 'object' && mended !== null && !Array.isArray(mended) ? mended : text;
  } catch {
    return text;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
