/** Parts of a span of time, in ms since 1970, and places on a bar of the log. This module needs no browser. */

/** @typedef {{from: number, to: number}} Range */

/** Nothing is shown more closely. */
const RANGE_MS_MIN = 1000;

/** @type {Record<string, (range: Range, ms: number) => Range>} */
const STEPS = {
  closer: ({ from, to }, ms) => ({ from: from + ms / 4, to: to - ms / 4 }),
  wider: ({ from, to }, ms) => ({ from: from - ms / 2, to: to + ms / 2 }),
  earlier: ({ from, to }, ms) => ({ from: from - ms / 2, to: to - ms / 2 }),
  later: ({ from, to }, ms) => ({ from: from + ms / 2, to: to + ms / 2 }),
};
export const STEP_NAMES = Object.keys(STEPS);

/** Returns a range of the same length, or at least the shortest, that ends at `last` at the latest. @param {Range} range @param {number} last @returns {Range} */
function within({ from, to }, last) {
  const ms = Math.max(RANGE_MS_MIN, to - from);
  const end = Math.min(from + ms, last);
  return { from: Math.round(end - ms), to: Math.round(end) };
}

/** Returns the range after a step, up to the present. @param {Range} range @param {string} step @param {number} last */
export const stepped = (range, step, last) => within(STEPS[step](range, range.to - range.from), last);

/** Returns the range between two places, in any order, of another one. @param {Range} range @param {number} one 0..1 @param {number} other 0..1 @param {number} last */
export function between(range, one, other, last) {
  const at = (/** @type {number} */ place) => range.from + Math.min(1, Math.max(0, place)) * (range.to - range.from);
  return within({ from: at(Math.min(one, other)), to: at(Math.max(one, other)) }, last);
}

/**
 * Returns a part of `whole` that is so many times as long as the range, with `centre` in its middle where there is room.
 * The centre null is the present, whatever the range knows of it: an answer is older than what has happened since. Null: all of it. `to` is null where it reaches the end, which moves.
 * @param {Range} range @param {number} times @param {number | null} centre @param {Range} whole @returns {{from: number, to: number | null} | null}
 */
export function zoomed(range, times, centre, whole) {
  const ms = Math.max(RANGE_MS_MIN, (range.to - range.from) * times);
  if (ms >= whole.to - whole.from) return null;
  const from = Math.round(Math.min(Math.max(whole.from, (centre ?? whole.to) - ms / 2), whole.to - ms));
  return { from, to: from + ms >= whole.to - ms / 100 ? null : Math.round(from + ms) };
}

const MINUTE_MS = 60_000;
const TICKS_MS = [1000, 5000, 15_000, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS, 180 * MINUTE_MS, 720 * MINUTE_MS, 1440 * MINUTE_MS];

/** Returns round times of the user's clock, in ms after `first`: at most `count` and one more. @param {number} first @param {number} span @param {number} count */
export function clockTicks(first, span, count) {
  const step = TICKS_MS.find((each) => each >= span / Math.max(1, count)) ?? Math.ceil(span / Math.max(1, count));
  const local = first - new Date(first).getTimezoneOffset() * MINUTE_MS;
  const begin = Math.ceil(local / step) * step - local;
  return Array.from({ length: Math.max(0, Math.floor((span - begin) / step) + 1) }, (_, at) => begin + at * step);
}

/*
 * Buckets of a bar of the log have equal lengths, and the positions of their first and last events; within one,
 * positions are taken as evenly spread.
 */

/** Returns 0..1 for a time. @param {Histogram} log @param {number} ms */
export function placeOfTime(log, ms) {
  const begin = Date.parse(log.from);
  const whole = Math.max(1, Date.parse(log.to) - begin);
  return Math.min(1, Math.max(0, (ms - begin) / whole));
}

/** Returns 0..1 for a position. @param {Histogram} log @param {number} position */
export function placeOfPosition(log, position) {
  const bucket = log.buckets.findLast((each) => each.first_position <= position) ?? log.buckets[0];
  if (!bucket) return 1;
  const events = Math.max(1, bucket.last_position - bucket.first_position);
  const within = Math.min(1, Math.max(0, (position - bucket.first_position) / events));
  return placeOfTime(log, Date.parse(bucket.at) + within * log.bucket_ms);
}

/** Returns the last position until a place. @param {Histogram} log @param {number} place 0..1 */
export function positionOfPlace(log, place) {
  const begin = Date.parse(log.from);
  const ms = begin + place * (Date.parse(log.to) - begin);
  const bucket = log.buckets.findLast((each) => Date.parse(each.at) <= ms) ?? log.buckets[0];
  if (!bucket) return 1;
  const within = Math.min(1, Math.max(0, (ms - Date.parse(bucket.at)) / log.bucket_ms));
  return Math.round(bucket.first_position + within * (bucket.last_position - bucket.first_position));
}
