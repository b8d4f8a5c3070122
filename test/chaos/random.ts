/** Chance that can be had again: the same seed gives the same numbers (mulberry32). */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [from, to). */
  between(from: number, to: number): number;
  pick<T>(list: readonly T[]): T;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from)),
    pick: (list) => list[Math.floor(next() * list.length)]!,
  };
}
