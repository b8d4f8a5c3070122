/**
 * `ExecStopPost=` of the unit: `sweep <unit> <user|system>`. An entry of its own, since systemd waits for it
 * before it starts the next supervisor.
 */
import { sweepAfterStop } from '../systemd/sweep.ts';

const [unit = '', scope = 'system'] = process.argv.slice(2);
const ended = await sweepAfterStop(unit, scope === 'user' ? 'user' : 'system');
if (ended > 0) process.stderr.write(`agent: ended ${ended} process${ended === 1 ? '' : 'es'} that the stop had left behind\n`);
