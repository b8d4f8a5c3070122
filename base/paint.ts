/** Colour for people: on a terminal only, never with NO_COLOR. */

const codes = { bold: 1, dim: 2, italic: 3, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
export type Style = keyof typeof codes;
export type Paint = (style: Style, text: string) => string;

/** Escape sequences that switch a style on and off; empty where there is no colour. */
export function styleCodes(style: Style): { on: string; off: string } {
  const code = codes[style];
  const off = style === 'bold' || style === 'dim' ? 22 : style === 'italic' ? 23 : 39;
  return { on: `\u001b[${code}m`, off: `\u001b[${off}m` };
}

export function hasColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

export function painter(stream: { isTTY?: boolean }): Paint {
  if (!hasColour(stream)) return (_style, text) => text;
  return (style, text) => {
    const { on, off } = styleCodes(style);
    return `${on}${text}${off}`;
  };
}
