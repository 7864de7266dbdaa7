/** Where the service crashed or started, and where its clock was set: lines through what is drawn over time. */
import { html, useRef } from '../vendor/htm-preact.js';
import { percentText, plural } from '../core/figures.js';
import { has } from '../core/identity.js';
import { useQuery } from '../core/query.js';

/** @typedef {{marks: any[], isCut: boolean}} Marks `isCut`: there may be more than these */

/** So many are drawn, the latest. */
const MARKS_MAX = 100;
/** Those that come first are drawn above the others: after a crash is a start. */
const MARK_TONES = /** @type {Record<string, string>} */ ({ crash: 'bad', clock_jump: 'wait', start: 'line' });

/**
 * Returns the marks of a time; none while it isn't known. Those of the time before stay until these are there.
 * @param {string | undefined} from @param {string | undefined} to the present, if there is none @returns {Marks}
 */
export function useMarks(from, to) {
  const { data } = useQuery(from && has('log.marks') ? 'log.marks' : null, { from, to, kinds: Object.keys(MARK_TONES).join(), backwards: true, limit: MARKS_MAX });
  const kept = useRef(/** @type {Marks} */ ({ marks: [], isCut: false }));
  if (data) kept.current = { marks: data.marks, isCut: data.next_cursor !== null };
  return kept.current;
}

/** Returns the marks as a background, which costs a row nothing. @param {Marks} marks @param {(ms: number) => number} placeOf returns 0..1 for a time */
export const linesOf = ({ marks }, placeOf) => Object.keys(MARK_TONES).flatMap((kind) => marks.filter((mark) => mark.kind === kind)).map(({ kind, at }) =>
  `linear-gradient(var(--${MARK_TONES[kind]}) 0 0) ${percentText(placeOf(Date.parse(at)))} 0 / 2px 100% no-repeat`).join(', ') || 'none';

/** What the lines are, in words. @param {{marks: Marks}} props */
export function MarkWords({ marks: { marks, isCut } }) {
  const countOf = (/** @type {string} */ kind) => marks.filter((mark) => mark.kind === kind).length;
  const atLeast = isCut ? 'at least ' : '';
  return html`${countOf('crash') > 0 && html`<span class="tone-bad">✖ ${atLeast}${plural(countOf('crash'), 'crash')}</span>`}
    ${countOf('clock_jump') > 0 && html`<span class="tone-wait">↷ the clock was set${countOf('clock_jump') > 1 ? ` ${atLeast}${countOf('clock_jump')} times` : ''}</span>`}`;
}
