// What is tried in turns: other parts in each run, and all of them if SIGNALBOX_EVERY_FAULT is set, as `tools/check --long` does.

/** Of this run. `tests/console` prints the line that repeats it. */
export const turn = Number(process.env.SIGNALBOX_SEED || Date.now());
export const triesAll = Number(process.env.SIGNALBOX_EVERY_FAULT || 0) > 0;

/** Returns whether it is the turn of what has its turn in each `stride`-th run. @param {number} offset shifts it */
export const hasTurn = (stride, offset = 0) => triesAll || (turn + offset) % stride === 0;

/** Returns those of a list whose turn it is: each `stride`-th. @param {number} offset shifts them, so that neighbours have other turns */
export function inTurn(list, stride, offset = 0) {
  return [...list].filter((_, index) => hasTurn(stride, index + offset));
}
