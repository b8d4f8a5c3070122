/** The picker of `agent model`: for what, which provider, which model, how much reasoning. Leaves everything as it is when it is left. */
import { createInterface, type Interface } from 'node:readline/promises';
import { painter } from '../base/paint.ts';
import type { ResultOf } from '../ipc/method.ts';
import type { modelOptions, ModelRow, ProviderRow } from '../ipc/contracts/rpcSettings.ts';
import { err, note, table } from './terminal.ts';

type Options = ResultOf<typeof modelOptions>;

export interface Choice {
  /** Undefined = the main model. */
  task: string | undefined;
  provider: string;
  model: string;
  /** Undefined = as it was. */
  reasoning: string | undefined;
}

interface Row {
  label: string;
  /** What Enter alone takes; the first row where none is. */
  preset?: boolean;
  /** Columns beside it. */
  beside?: string[];
}

/** Rows shown at once; the rest is found by typing a part of its name. */
const SHOWN_MAX = 20;

export async function pickModel({
  options,
  tasks,
}: {
  options(): Promise<Options>;
  tasks: readonly string[];
}): Promise<Choice | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  lines.once('close', () => left.abort());
  lines.once('SIGINT', () => lines.close());
  const ask = async <T extends Row>(title: string, rows: readonly T[]) => chosen(lines, left.signal, { title, rows });
  try {
    const purpose = await ask('For what?', [{ label: 'the main model', task: undefined }, ...tasks.map((task) => ({ label: task, task }))]);
    const { providers, current } = await options();
    const usable = providers.filter((provider) => provider.usable && provider.models.length > 0);
    for (const { name, problem } of providers) if (problem) note(painter(err)('dim', `${name}: ${problem}`));
    if (usable.length === 0) {
      note('No provider is usable yet: `agent model list --all` shows what each of them needs.');
      return undefined;
    }
    const { provider } = await ask(
      'Which provider?',
      usable.map((row) => providerRow(row, row.name === current.provider)),
    );
    const { model } = await ask(
      'Which model?',
      provider.models.map((row) => modelRow(row, row.id === current.model && provider.name === current.provider)),
    );
    const level = model.reasoning.length > 0 ? await ask('How much reasoning?', levelRows(model)) : undefined;
    return { task: purpose.task, provider: provider.name, model: model.id, reasoning: level?.level };
  } catch (thrown) {
    if (left.signal.aborted) return undefined;
    throw thrown;
  } finally {
    lines.close();
  }
}

const providerRow = (provider: ProviderRow, current: boolean) => ({
  label: provider.name,
  preset: current,
  beside: [
    `${provider.models.length} ${provider.models.length === 1 ? 'model' : 'models'}`,
    provider.detected ? 'found on this machine' : '',
    current ? 'in use' : '',
  ],
  provider,
});

const modelRow = (model: ModelRow, current: boolean) => ({
  label: model.id,
  preset: current,
  beside: [
    model.context_window === null ? '' : `${Math.round(model.context_window / 1_000)}k`,
    model.price === null ? '' : `$${model.price.input} / $${model.price.output}`,
    current ? 'in use' : '',
  ],
  model,
});

const levelRows = ({ reasoning }: ModelRow) => [
  { label: 'as it is', level: undefined },
  ...reasoning.map((level) => ({ label: level, level: level as string | undefined })),
];

/** A number picks; anything else narrows the list; Enter alone takes what is in use, else the first. */
async function chosen<T extends Row>(
  lines: Interface,
  signal: AbortSignal,
  { title, rows }: { title: string; rows: readonly T[] },
): Promise<T> {
  const paint = painter(err);
  let shown = rows;
  for (;;) {
    const page = shown.slice(0, SHOWN_MAX);
    note(`\n${paint('bold', title)}`);
    note(
      table(
        page.map(({ label, beside = [] }, index) => [
          paint('dim', String(index + 1).padStart(3)),
          label,
          ...beside.map((text) => paint('dim', text)),
        ]),
      ),
    );
    if (shown.length > page.length) note(paint('dim', `    and ${shown.length - page.length} more: type a part of the name`));
    const preset = shown.find((row) => row.preset) ?? page[0];
    const answer = (await lines.question(`Number, part of a name, or Enter for ${preset?.label ?? 'none'}: `, { signal })).trim();
    const number = /^\d+$/.test(answer) ? Number(answer) : undefined;
    const picked = answer === '' ? preset : number === undefined ? rows.find(({ label }) => label === answer) : page[number - 1];
    if (picked) return picked;
    const narrowed = rows.filter(({ label }) => label.toLowerCase().includes(answer.toLowerCase()));
    if (narrowed.length === 1) return narrowed[0]!;
    if (narrowed.length === 0) note(`Nothing is called "${answer}".`);
    shown = narrowed.length > 0 ? narrowed : rows;
  }
}
