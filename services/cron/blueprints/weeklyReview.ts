import { timeField, type Blueprint } from './blueprint.ts';

export const weeklyReview: Blueprint = {
  key: 'weekly-review',
  title: 'Weekly review',
  description: 'Looks back over the conversations of the week: what was done, what is still open.',
  category: 'Daily',
  tags: ['overview', 'memory'],
  fields: [
    { name: 'focus', type: 'text', label: 'What matters most?', default: 'decisions, promises and open questions', long: true },
    { name: 'weekday', type: 'weekdays', label: 'On which day?', default: 'friday' },
    timeField('16:00'),
  ],
  job: ({ focus, weekday, time }) => ({
    name: 'Weekly review',
    schedule: `every ${weekday} ${time}`,
    prompt: `Search our conversations of the last seven days (session_search) and write a review of the week: what was done, what is still open, what comes next. What matters most: ${focus}. At most twenty lines. Invent nothing: what you do not find was not there.`,
  }),
};
