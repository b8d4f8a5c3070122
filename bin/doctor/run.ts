import type { Input } from '../command.ts';
export async function runDoctor(_input: Input, _group?: string): Promise<number> {
  return 0;
}
