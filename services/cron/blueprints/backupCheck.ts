import { sh, timeField, type Blueprint } from './blueprint.ts';

export const backupCheck: Blueprint = {
  key: 'backup-check',
  title: 'Backup reminder',
  description: 'Speaks up when the newest file of a backup folder is too old. Asks no model.',
  category: 'This machine',
  tags: ['backup', 'alarm'],
  fields: [
    { name: 'folder', type: 'text', shape: 'path', label: 'Where do the backups go?' },
    { name: 'max_days', type: 'text', shape: 'number', label: 'How many days old may the newest be?', default: '2', min: 1, max: 365 },
    timeField('10:00'),
  ],
  job: ({ folder, max_days, time }) => ({
    name: `Backup check of ${folder}`,
    schedule: `every day ${time}`,
    script: {
      kind: 'sh',
      text: `folder=${sh(folder!)}
days=${max_days}
if [ ! -d "$folder" ]; then echo "The backup folder $folder is not there (is its disk connected?)."; exit 0; fi
fresh=$(find "$folder" -type f -mtime "-$days" 2>/dev/null | head -n 1)
if [ -n "$fresh" ]; then echo "[SILENT] $folder has a backup of the last $days days: $fresh"; exit 0; fi
echo "No backup of the last $days days in $folder."
`,
    },
  }),
};
