import { daysField, timeField, type Blueprint } from './blueprint.ts';

export const morningBriefing: Blueprint = {
  key: 'morning-briefing',
  title: 'Morning briefing',
  description: 'A short overview at the start of the day.',
  category: 'Daily',
  tags: ['news', 'overview'],
  fields: [
    { name: 'topics', type: 'text', label: 'About what?', default: 'the weather, my open tasks and the news', long: true },
    { name: 'lines', type: 'text', shape: 'number', label: 'At most how many lines?', default: '10', min: 3, max: 40 },
    timeField('07:00'),
    daysField,
  ],
  job: ({ topics, lines, time, days }) => ({
    name: 'Morning briefing',
    schedule: `every ${days} ${time}`,
    prompt: `Give me a short briefing for today about: ${topics}. At most ${lines} lines, the most important first. Leave out what you cannot find.`,
  }),
};
