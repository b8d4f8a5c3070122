/**
 * Bounds of a YAML text that are checked on its tokens, before it is parsed: the parser compares every key of a map
 * with every other and every anchor with those before it, so a document within the size limit could take minutes.
 */
import { Lexer } from 'yaml';
import { limits } from '../../base/limits.ts';

const { configMaxBytes, configTokensMax, configKeysMax, configItemsMax, configAnchorsMax, configDepthMax } = limits.state;

export interface OutOfBounds {
  /** Line of the text where the bound was passed, from 1. */
  line: number;
  message: string;
  fix: string;
}

/** Undefined: it may be parsed. Takes linear time and stops at the first bound that is passed. */
export function outOfBounds(text: string): OutOfBounds | undefined {
  if (text.length > configMaxBytes || Buffer.byteLength(text) > configMaxBytes)
    return { line: 1, message: `the text has more than ${configMaxBytes} bytes`, fix: 'remove what was pasted twice' };
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const control = text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/);
  if (control >= 0)
    return { line: lineAt(text, control), message: 'the text holds a control character', fix: 'remove it; a quoted value may say "\\0"' };
  return tooMany(text);
}

const SCALAR_FOLLOWS = '\u001f';

function tooMany(text: string): OutOfBounds | undefined {
  const count = { tokens: 0, keys: 0, items: 0, anchors: 0 };
  let offset = 0;
  let open = 0;
  let compact = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    count.tokens++;
    const first = isScalar ? '' : token[0];
    isScalar = token === SCALAR_FOLLOWS;
    if (first === '\n' || first === '\r') compact = 0;
    else if (first === '{' || first === '[') open++;
    else if (first === '}' || first === ']') open = Math.max(0, open - 1);
    else if (first === '&' || first === '*') count.anchors++;
    else if (first === ',') count.items++;
    else if (token === ':') count.keys++;
    else if (token === '?' || token === '-') {
      compact++;
      count[token === '?' ? 'keys' : 'items']++;
    }
    const passed = passedBound(count, open + compact);
    if (passed) return { line: lineAt(text, offset), ...passed };
    if (!isScalar) offset += token.length;
  }
  return undefined;
}

function passedBound(
  { tokens, keys, items, anchors }: { tokens: number; keys: number; items: number; anchors: number },
  depth: number,
): Omit<OutOfBounds, 'line'> | undefined {
  if (tokens > configTokensMax) return { message: 'the text has too many lines and values', fix: 'remove what is not used' };
  if (keys > configKeysMax) return { message: `the text has more than ${configKeysMax} keys`, fix: 'remove what is not used' };
  if (items > configItemsMax) return { message: `the text has more than ${configItemsMax} list entries`, fix: 'shorten the lists' };
  if (anchors > configAnchorsMax)
    return { message: `the text has more than ${configAnchorsMax} anchors and aliases (&name, *name)`, fix: 'write the values out' };
  if (depth > configDepthMax)
    return { message: `the text goes deeper than ${configDepthMax} levels`, fix: 'look for brackets that are never closed' };
  return undefined;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
