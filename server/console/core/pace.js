/**
 * How often an answer is asked for again while events go on changing it. Soon after what changes once;
 * of what changes all the time nobody reads each answer, and every page that is open costs the service
 * its questions. This module needs no browser.
 */

export const PAUSE_MS_MIN = 250;
export const PAUSE_MS_MAX = 2000;
/** At most this part of the time goes by with asking. */
const LOAD_MAX = 0.05;

/**
 * Returns how long to wait before asking again, after a change.
 * @param {number} pauseMs what it was before
 * @param {number} quietMs since the answer that the change came after
 * @param {number} tookMs how long that answer took
 */
export function nextPause(pauseMs, quietMs, tookMs) {
  const pause = quietMs < pauseMs ? Math.min(2 * pauseMs, PAUSE_MS_MAX) : PAUSE_MS_MIN;
  return Math.max(pause, Math.min(tookMs / LOAD_MAX, 4 * PAUSE_MS_MAX));
}
