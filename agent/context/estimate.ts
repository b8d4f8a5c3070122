/** Tokens of a text without a tokenizer: good to about a fifth for prose and code, and the same number every time. */

/** Letters of most languages share a token with three others; a character of CJK is about one by itself. */
const ASCII_PER_TOKEN = 4;
const OTHER_PER_TOKEN = 2;

export function textTokens(text: string): number {
  // Most texts are plain, and told apart without a look at each letter: the system prompt is measured at every turn.
  if (Buffer.byteLength(text) === text.length) return Math.ceil(text.length / ASCII_PER_TOKEN);
  let ascii = 0;
  let other = 0;
  let wide = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x80) ascii++;
    else if (code < 0x2e80) other++;
    else wide++;
  }
  return Math.ceil(ascii / ASCII_PER_TOKEN + other / OTHER_PER_TOKEN + wide);
}
