/** `agent completion bash|zsh`: prints a static script made from the declarations of all commands. */
import { commandTable } from '../commandTable.ts';
import { jsonErrorsOption, type Command } from '../command.ts';
import { bashScript } from '../completion/bash.ts';
import { places } from '../completion/words.ts';
import { zshScript } from '../completion/zsh.ts';
import { unknownName } from '../suggest.ts';
import { print } from '../terminal.ts';

const shells: Record<string, typeof bashScript> = { bash: bashScript, zsh: zshScript };

export const command: Command = {
  name: 'completion',
  summary: 'Print the completion script of a shell',
  arguments: [{ name: 'shell', summary: 'bash or zsh', complete: 'shell' }],
  options: [jsonErrorsOption],
  examples: [
    { line: 'source <(agent completion bash)', does: 'in ~/.bashrc' },
    { line: 'source <(agent completion zsh)', does: 'in ~/.zshrc, after compinit' },
  ],
  async run({ args: [shell] }) {
    const script = shells[shell!];
    if (!script) throw unknownName('shell', shell!, Object.keys(shells));
    const modules = await Promise.all(commandTable.map(({ load }) => load()));
    print(script(places(modules.map((module) => module.command))));
    return 0;
  },
};
