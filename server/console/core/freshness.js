/**
 * Whether an answer is behind what the events told. Positions decide that, and not what arrives first: an
 * answer has everything up to its position. This module needs no browser.
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
