/**
 * The supervisor's entry. Before anything is loaded it keeps V8's young generation from growing: each start of a
 * program copies the page tables of this process, and the garbage of loading would stay in them (measured: 45 MB
 * of private memory or 28, and the start of a program 1 ms dearer for each 28 MB).
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1');
const { superviseAlone } = await import('./supervise.ts');
await superviseAlone();
