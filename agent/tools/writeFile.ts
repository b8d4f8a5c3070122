/** `write_file`: a whole text file, atomically; folders are made, the mode is kept, links are followed. */
import { z } from 'zod';
import { limits } from '../../base/limits.ts';
import { openForChange, replaceFile, type FileHost } from './fileAccess.ts';
import { pathDanger } from './pathDanger.ts';
import { defineTool, type Tool } from './registry.ts';
import { shownDiff } from './textDiff.ts';

const Args = z.object({ path: z.string().min(1), content: z.string().max(limits.tools.writeMaxChars) });

export function writeFileTool(host: FileHost): Tool {
  return defineTool({
    name: 'write_file',
    toolset: 'file',
    description: 'Writes a whole text file, replacing what is there; answers a diff. To change a part, use patch.',
    args: Args,
    danger: ({ path }) => pathDanger('write', [path], host),
    async run({ path: name, content }) {
      const before = openForChange(name, host);
      const { path, text } = before;
      const bytes = Buffer.byteLength(content);
      if (text === content) return { text: `${path} has this content already.`, data: { path, bytes, created: false }, isError: false };
      const diff = text === null ? null : await shownDiff(text, content);
      replaceFile(before, content, host);
      const data = { path, bytes, created: text === null, added: diff?.added ?? 0, removed: diff?.removed ?? 0, diff: diff?.text ?? '' };
      const said = text === null ? `Created ${path} (${bytes} bytes).` : `Wrote ${path} (${bytes} bytes).\n${diff!.text}`;
      return { text: said, data, isError: false };
    },
  });
}
