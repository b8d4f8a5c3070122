/** `agent files …`: what the place Files of the page does, by the same functions of state/files. Needs no service. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { visibleText } from '../../base/visibleText.ts';
import { loadConfig } from '../../state/config/load.ts';
import { listFolder, makeFolder } from '../../state/files/files.ts';
import { createFilePlaces, type FilePlaces } from '../../state/files/places.ts';
import { listTrash, removeEntry, restoreEntry } from '../../state/files/trash.ts';
import { openHome } from '../../state/home.ts';
import { hasFlag, jsonOption, type Argument, type Command, type Input, type Option } from '../command.ts';
import { show } from '../files/show.ts';
import { fetchFile, putFile } from '../files/transfer.ts';
import { completionNames, folderView, trashView } from '../files/view.ts';
import { withProgress } from '../progress.ts';
import { note, print, printJson } from '../terminal.ts';

const path: Argument = { name: 'path', summary: 'from the root on, or absolute', complete: 'place' };
const folder: Argument = { name: 'folder', summary: 'a folder below the root (default: the root)', optional: true, complete: 'place' };
const overwrite: Option = { flags: '--overwrite', summary: 'replace what has that name' };
const lsOptions: Option[] = [
  { flags: '-a, --all', summary: 'hidden ones too' },
  { flags: '--names', summary: 'only paths, one a line, folders with a slash' },
  jsonOption,
];

export const command: Command = {
  name: 'files',
  summary: 'List, fetch, bring and delete the files of the agent',
  details:
    'All of it lies below one root, `dashboard.files_root` of config.yaml (default: the home directory), the same for every profile and for the page. No path leads out of it, and secrets of the service are neither shown nor touched. Needs no service.',
  arguments: [{ ...folder, name: 'path' }],
  options: lsOptions,
  examples: [
    { line: 'agent files', does: 'what lies in the root' },
    { line: 'agent files put report.pdf notes', does: 'bring a file into a folder' },
    { line: 'agent files get notes/report.pdf', does: 'fetch it into this directory' },
  ],
  run: list,
  commands: [
    {
      name: 'ls',
      summary: 'List a folder, its folders first',
      arguments: [{ ...folder, name: 'path' }],
      options: lsOptions,
      examples: [
        { line: 'agent files ls notes --all', does: 'hidden ones too' },
        { line: 'agent files ls notes --json', does: 'with sizes, times and types, names as they are' },
      ],
      run: list,
    },
    {
      name: 'cat',
      summary: 'Show a text, or hand the bytes to a pipe',
      details:
        'On a terminal only text is shown, up to 5 MB, and nothing in it steers the terminal. Elsewhere the bytes go out as they are, of any size.',
      arguments: [path],
      options: [jsonOption],
      examples: [
        { line: 'agent files cat notes/todo.md', does: 'read it here' },
        { line: 'agent files cat data.csv | head', does: 'the bytes as they are' },
      ],
      run: (input) => show(placesOf(), input),
    },
    {
      name: 'get',
      summary: 'Fetch a file; it appears once all of it is there',
      arguments: [
        path,
        { name: 'target', summary: 'a file or directory of yours, or - for stdout (default: here)', optional: true, complete: 'file' },
      ],
      options: [overwrite, jsonOption],
      examples: [
        { line: 'agent files get notes/a.md', does: 'into the working directory' },
        { line: 'agent files get photo.jpg /tmp/p.jpg --overwrite', does: 'under another name, whatever was there' },
        { line: 'agent files get backup.tar - | tar t', does: 'into a pipe' },
      ],
      run: (input) => fetchFile(placesOf(), input),
    },
    {
      name: 'put',
      summary: 'Bring a file into a folder; it appears once all of it is there',
      details: 'At most 512 MB. Its folder is there already; nothing is replaced unless asked.',
      arguments: [{ name: 'file', summary: 'a file of yours, or - for stdin', complete: 'file' }, folder],
      options: [{ flags: '--name <name>', summary: 'what it is called there' }, overwrite, jsonOption],
      examples: [
        { line: 'agent files put report.pdf notes', does: 'as notes/report.pdf' },
        { line: 'date | agent files put - --name today.txt', does: 'what a command says' },
      ],
      run: (input) => putFile(placesOf(), input),
    },
    {
      name: 'mkdir',
      summary: 'Make a folder',
      arguments: [path],
      options: [jsonOption],
      examples: [{ line: 'agent files mkdir notes/2026', does: 'the one above it is there already' }],
      run: make,
    },
    {
      name: 'rm',
      summary: 'Delete a file or folder',
      details:
        'It goes into the trash of the root (.agent-trash) and stays there for 30 days. What lies in the trash already is deleted for good. A link is deleted itself, not what it leads to.',
      arguments: [path],
      options: [
        { flags: '-r, --recursive', summary: 'a folder with everything in it' },
        { flags: '--permanent', summary: 'for good, not into the trash' },
        jsonOption,
      ],
      examples: [
        { line: 'agent files rm notes/old.md', does: 'agent files restore brings it back' },
        { line: 'agent files rm cache --recursive --permanent', does: 'its space is free at once' },
      ],
      run: remove,
    },
    {
      name: 'trash',
      summary: 'Show what was deleted, the latest first',
      options: [jsonOption],
      examples: [{ line: 'agent files trash', does: 'when, and where it lay' }],
      run: trash,
    },
    {
      name: 'restore',
      summary: 'Bring back what was deleted',
      details: 'Named by the path it had, or by its name in the trash; of several the one deleted last. Nothing is replaced.',
      arguments: [
        { name: 'path', summary: 'the path it had' },
        { ...folder, summary: 'another folder than where it lay' },
      ],
      options: [jsonOption],
      examples: [{ line: 'agent files restore notes/old.md', does: 'back where it was' }],
      run: restore,
    },
  ],
};

/** The dashboard of the machine reads its root in the home's own config.yaml; so does this. */
function placesOf(): FilePlaces {
  const home = openHome();
  return createFilePlaces(home, () => loadConfig(home).config.dashboard?.files_root);
}

async function list(input: Input): Promise<number> {
  const asked = input.args[0] ?? '';
  const found = await withProgress('reading', () => listFolder(placesOf(), asked, hasFlag(input, 'all')));
  if (input.json) printJson(found);
  else if (hasFlag(input, 'names')) completionNames(asked, found.entries);
  else if (found.entries.length === 0) note(`agent: ${visibleText(found.path)} is empty — agent files put <file> brings something`);
  else print(folderView(found));
  if (found.truncated && !input.json) note('agent: the folder holds more than is listed here');
  return exitCodes.ok;
}

async function make(input: Input): Promise<number> {
  const made = await makeFolder(placesOf(), input.args[0]!);
  if (input.json) printJson({ ok: true, path: made });
  else print(`${visibleText(made)} made`);
  return exitCodes.ok;
}

async function remove(input: Input): Promise<number> {
  const asked = input.args[0]!;
  const recursive = hasFlag(input, 'recursive');
  const places = placesOf();
  const trashed = await withProgress(`deleting ${visibleText(asked)}`, () =>
    removeEntry(places, asked, { recursive, permanent: hasFlag(input, 'permanent') }),
  ).catch((thrown: unknown) => {
    if (recursive || !(thrown instanceof AgentError) || thrown.code !== 'FILE_EXISTS') throw thrown;
    throw new AgentError(thrown.code, thrown.message, { cause: thrown, fix: 'add --recursive to delete it with everything in it' });
  });
  if (input.json) printJson({ ok: true, trashed });
  else print(trashed === null ? `${visibleText(asked)} is gone` : `${visibleText(asked)} lies in the trash  ${visibleText(trashed)}`);
  return exitCodes.ok;
}

async function trash(input: Input): Promise<number> {
  const found = await listTrash(placesOf());
  if (input.json) printJson(found);
  else if (found.entries.length === 0) note('agent: the trash is empty');
  else print(trashView(found.entries));
  return exitCodes.ok;
}

async function restore(input: Input): Promise<number> {
  const path = await restoreEntry(placesOf(), input.args[0]!, input.args[1]);
  if (input.json) printJson({ ok: true, path });
  else print(`${visibleText(path)} is back`);
  return exitCodes.ok;
}
