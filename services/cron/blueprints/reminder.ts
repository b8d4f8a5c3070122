import { sh, timeField, type Blueprint } from './blueprint.ts';

export const reminder: Blueprint = {
  key: 'reminder',
  title: 'Reminder',
  description: 'Says what you wrote, word for word, at a time of day. Asks no model.',
  category: 'Daily',
  tags: ['note'],
  fields: [
    { name: 'what', type: 'text', label: 'What should it say?', long: true },
    timeField('09:00'),
    {
      name: 'days',
      type: 'choice',
      label: 'On which days?',
      default: 'day',
      options: [
        { value: 'day', label: 'every day' },
        { value: 'weekday', label: 'Monday to Friday' },
        { value: 'week', label: 'once a week, on the day below' },
      ],
    },
    { name: 'weekday', type: 'weekday', label: 'Once a week on', default: 'monday', help: 'counts only when it is once a week' },
  ],
  job: ({ what, time, days, weekday }) => ({
    name: `Reminder: ${what!.split('\n')[0]!}`,
    schedule: `every ${days === 'week' ? weekday : days} ${time}`,
    script: { kind: 'sh', text: `printf '%s\\n' ${sh(what!)}\n` },
  }),
};
