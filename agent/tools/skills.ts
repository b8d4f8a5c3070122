/** `skills_list`, `skill_view` and `skill_manage`: written methods, read when a task needs one and kept when one was found. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import type { Skills } from '../ports.ts';
import type { SkillEditor } from '../skills/skillEdit.ts';
import { sorted } from '../skills/skillIndex.ts';
import { defineTool, type Tool } from './registry.ts';

const ListArgs = z.object({ category: z.string().optional() });
const ViewArgs = z.object({
  name: z.string().min(1),
  file: z.string().optional().describe('A file of the skill, for example references/api.md; default SKILL.md.'),
});
const ManageArgs = z.object({
  action: z.enum(['create', 'edit', 'patch', 'delete']).describe('`edit` writes a whole file, `patch` one place of it.'),
  name: z.string().min(1).describe('Small letters, digits and -.'),
  category: z.string().optional().describe('Folder of a new skill.'),
  file: z.string().optional().describe('Default SKILL.md; delete without it removes the skill.'),
  content: z.string().optional().describe('Whole text. SKILL.md begins with ---, name, description, ---.'),
  old_string: z.string().optional(),
  new_string: z.string().optional(),
});

export function skillTools(skills: Skills, editor: SkillEditor): Tool[] {
  return [listTool(skills), viewTool(skills), manageTool(editor)];
}

function listTool(skills: Skills): Tool {
  return {
    ...defineTool({
      name: 'skills_list',
      toolset: 'skills',
      description: 'Names the skills with their descriptions.',
      args: ListArgs,
      async run({ category }) {
        const all = sorted(skills.list());
        const rows = category === undefined ? all : all.filter((skill) => skill.category === category);
        if (category !== undefined && rows.length === 0 && all.length > 0)
          throw new AgentError('NOT_FOUND', `there is no category ${category}`, {
            fix: `use one of ${[...new Set(all.map((skill) => skill.category))].join(', ')}`,
          });
        return {
          text: rows.length
            ? rows.map(({ name, description, category: group }) => `${name} (${group}): ${description}`).join('\n')
            : 'There are no skills.',
          data: { skills: rows.map(({ name, description, category: group }) => ({ name, description, category: group })) },
          isError: false,
        };
      },
    }),
    readsOnly: true,
  };
}

function viewTool(skills: Skills): Tool {
  return {
    ...defineTool({
      name: 'skill_view',
      toolset: 'skills',
      description: 'Reads a skill, or one of its files.',
      args: ViewArgs,
      async run({ name, file }, { signal }) {
        const { text, files, notes = [] } = await skills.view(name, file, signal);
        const more = file === undefined && files.length > 0 ? [`[files, read with skill_view: ${files.join(', ')}]`] : [];
        return {
          text: [text.trimEnd(), ...more, ...notes.map((note) => `[${note}]`)].join('\n\n'),
          data: { name, file: file ?? 'SKILL.md', files },
          isError: false,
        };
      },
    }),
    readsOnly: true,
  };
}

function manageTool(editor: SkillEditor): Tool {
  return defineTool({
    name: 'skill_manage',
    toolset: 'skills',
    description: 'Makes, changes or removes a skill.',
    args: ManageArgs,
    async run(request) {
      const { write, staged } = editor.change(request);
      const what = `${write.name}${write.file && write.file !== 'SKILL.md' ? `/${write.file}` : ''}`;
      if (staged)
        return {
          text: `The change of ${what} waits for the user's review (${staged}); it is not in force yet.`,
          data: { staged },
          isError: false,
        };
      const done = write.after === null ? 'Removed' : write.before === null ? 'Created' : 'Changed';
      return {
        text: `${done}: ${what}. The index of the prompt follows with the next conversation.`,
        data: { name: write.name, file: write.file },
        isError: false,
      };
    },
  });
}
