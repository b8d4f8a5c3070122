/** The catalogue, in the order in which it is shown. */
import { backupCheck } from './backupCheck.ts';
import type { Blueprint } from './blueprint.ts';
import { diskSpace } from './diskSpace.ts';
import { feedReading } from './feedReading.ts';
import { logWatch } from './logWatch.ts';
import { morningBriefing } from './morningBriefing.ts';
import { pageChanges } from './pageChanges.ts';
import { reminder } from './reminder.ts';
import { repositoryDigest } from './repositoryDigest.ts';
import { websiteWatch } from './websiteWatch.ts';
import { weeklyReview } from './weeklyReview.ts';

export const blueprintTable: readonly Blueprint[] = [
  morningBriefing,
  reminder,
  weeklyReview,
  feedReading,
  pageChanges,
  repositoryDigest,
  diskSpace,
  logWatch,
  backupCheck,
  websiteWatch,
];
