/**
 * Whether an answer is behind what the events told, and how soon it is asked for again. Positions decide the first,
 * and not what arrives first: an answer has everything up to its position. This module needs no browser.
 */
export class Freshness {
  constructor() {
    /** The answer has everything that happened up to here. */
    this.coveredTo = 0;
    /** The newest thing that may change the answer. */
    this.changedAt = 0;
    /** Both as they were when the question was asked that is under way. */
    this.asked = { known: 0, changedAt: 0 };
  }

  /** Notes that what happened at a position, or up to it without being told, may change the answer. @param {number} position */
  change(position) {
    this.changedAt = Math.max(this.changedAt, position);
  }

  /** Notes that the question is asked. @param {number} known the newest position that the service is known to have */
  ask(known) {
    this.asked = { known, changedAt: this.changedAt };
  }

  /**
   * Notes the answer. What was told before the question is in it, whatever position it names: a log that is another
   * one now isn't asked for ever. A refusal has nothing of what happened since: it is of position 0.
   * @param {number} [position] of the answer, if it is of one
   */
  answer(position) {
    this.coveredTo = Math.max(this.asked.changedAt, position ?? this.asked.known);
  }

  get isOld() {
    return this.changedAt > this.coveredTo;
  }
}

/*
 * Soon after what changes once; of what changes all the time nobody reads each answer, and every page that is open
 * costs the service its questions.
 */

export const PAUSE_MS_MIN = 250;
export const PAUSE_MS_MAX = 2000;
/** Between two tries of a question that the service refuses for the moment. */
export const RETRY_MS_MAX = 4000;
/** At most this part of the service's time is one question's: ten consoles may ask several each. */
const LOAD_MAX = 0.002;
/** However much an answer cost, or seemed to while the machine had much to do: a list isn't older. */
const REST_MS_MAX = 4000;
/** Sums over all runs, which nobody waits for. */
const SUMS_REST_MS_MAX = 30_000;

/**
 * Returns the pause before asking again, after a change, which the next one is counted from.
 * @param {number} pauseMs the pause before @param {number} quietMs since the answer that the change came after
 */
export const nextPause = (pauseMs, quietMs) => (quietMs < pauseMs ? Math.min(2 * pauseMs, PAUSE_MS_MAX) : PAUSE_MS_MIN);

/**
 * Returns how long to wait: the pause, or longer where the answer cost much not long ago.
 * @param {number} pauseMs @param {number} quietMs @param {number} costMs how much longer that answer took than the quickest one of the service
 * @param {Record<string, any>} [params] of the question
 */
export const waitMs = (pauseMs, quietMs, costMs, params = {}) => Math.max(pauseMs, Math.min(costMs / LOAD_MAX, params.totals ? SUMS_REST_MS_MAX : REST_MS_MAX) - quietMs);
