import { everyField, sh, type Blueprint } from './blueprint.ts';

export const diskSpace: Blueprint = {
  key: 'disk-space',
  title: 'Disk space watch',
  description: 'Speaks up when a disk fills; says nothing while there is room. Asks no model.',
  category: 'This machine',
  tags: ['disk', 'alarm'],
  fields: [
    { name: 'path', type: 'text', shape: 'path', label: 'Which folder is on that disk?', default: '/' },
    { name: 'percent', type: 'text', shape: 'number', label: 'Speak up from how many percent?', default: '90', min: 1, max: 100 },
    everyField('1h', ['15m', '1h', '6h', '1d']),
  ],
  job: ({ path, percent, every }) => ({
    name: `Disk space of ${path}`,
    schedule: `every ${every}`,
    script: {
      kind: 'sh',
      text: `folder=${sh(path!)}
limit=${percent}
line=$(df -P "$folder" | tail -n 1) || exit 1
used=$(printf '%s\\n' "$line" | awk '{ sub("%", "", $5); print $5 }')
free=$(printf '%s\\n' "$line" | awk '{ printf "%.1f GiB", $4 / 1048576 }')
if [ "$used" -lt "$limit" ]; then echo "[SILENT] $folder: $used % used, $free free"; exit 0; fi
echo "The disk of $folder is $used % full: $free left."
`,
    },
  }),
};
