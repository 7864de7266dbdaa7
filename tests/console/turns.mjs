// What is tried in turns: other parts in each run, and all of them if SIGNALBOX_EVERY_FAULT is set, as `tools/check --long` does.

/** Of this run. `tests/console` prints the line that repeats it. */
export const turn = Number(process.env.SIGNALBOX_SEED || Date.now());
const tryAll = Number(process.env.SIGNALBOX_EVERY_FAULT || 0) > 0;

/** Returns those of a list whose turn it is: each `stride`-th. @param {number} offset shifts them, so that neighbours have other turns */
export function inTurn(list, stride, offset = 0) {
  return tryAll ? [...list] : [...list].filter((_, index) => (index + offset + turn) % stride === 0);
}
