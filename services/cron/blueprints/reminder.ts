import { daysField, sh, timeField, type Blueprint } from './blueprint.ts';

export const reminder: Blueprint = {
  key: 'reminder',
  title: 'Reminder',
  description: 'Says what you wrote, word for word, at a time of day. Asks no model.',
  category: 'Daily',
  tags: ['note'],
  fields: [{ name: 'what', type: 'text', label: 'What should it say?', long: true }, timeField('09:00'), daysField],
  job: ({ what, time, days }) => ({
    name: `Reminder: ${what!.split('\n')[0]!}`,
    schedule: `every ${days} ${time}`,
    script: { kind: 'sh', text: `printf '%s\\n' ${sh(what!)}\n` },
  }),
};
