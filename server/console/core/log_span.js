/**
 * Where moments lie on a bar of the log. Its buckets have equal lengths and the positions of their
 * first and last events; within one, positions are taken as evenly spread.
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
