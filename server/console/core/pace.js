/**
 * How often an answer is asked for again while events go on changing it. Soon after what changes once;
 * of what changes all the time nobody reads each answer, and every page that is open costs the service
 * its questions. This module needs no browser.
 */

export const PAUSE_MS_MIN = 250;
export const PAUSE_MS_MAX = 2000;
/** At most this part of the service's time is one question's: ten consoles may ask several each. */
const LOAD_MAX = 0.002;
/** However much an answer cost, or seemed to while the machine had much to do: a list isn't older. */
const REST_MS_MAX = 4000;
/** Sums over all runs, which nobody waits for. */
const SUMS_REST_MS_MAX = 30_000;

/**
 * Returns the pause before asking again, after a change, which the next one is counted from.
 * @param {number} pauseMs the pause before
 * @param {number} quietMs since the answer that the change came after
 */
export const nextPause = (pauseMs, quietMs) => (quietMs < pauseMs ? Math.min(2 * pauseMs, PAUSE_MS_MAX) : PAUSE_MS_MIN);

/**
 * Returns how long to wait: the pause, or longer where the answer cost much not long ago.
 * @param {number} pauseMs
 * @param {number} quietMs
 * @param {number} costMs how much longer that answer took than the quickest one of the service
 * @param {Record<string, any>} [params] of the question
 */
export const waitMs = (pauseMs, quietMs, costMs, params = {}) => Math.max(pauseMs, Math.min(costMs / LOAD_MAX, params.totals ? SUMS_REST_MS_MAX : REST_MS_MAX) - quietMs);
