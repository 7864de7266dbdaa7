/** Why something waits: each reason with the event that caused it and what ends it. */
import { html } from '../vendor/htm-preact.js';
import { wordsOf } from '../core/figures.js';
import { Commands } from '../parts/notice.js';
import { Facts } from '../parts/rows.js';
import { Age, Due, EventLink, RunLink } from '../parts/status.js';

/** @param {{why: any}} props the result of run.why or card.why */
export function Reasons({ why }) {
  return html`<ol class="reasons">${why.reasons.map((/** @type {any} */ reason) => html`<li key=${`${reason.reason} ${reason.cause_position}`}>
    <p><b class="tone-${why.moving ? 'busy' : 'wait'}">${wordsOf(reason.reason)}</b> ${reason.text}</p>
    <${Facts} of=${[
      ['since', reason.since && html`<${Age} time=${reason.since} />`], ['ends', reason.until && html`<${Due} time=${reason.until} />`],
      ['caused by', reason.cause_event && html`<${EventLink} position=${reason.cause_position} text=${reason.cause_event} />`], ['holder', reason.holder],
      ['held by', reason.holders?.map((/** @type {any} */ holder) => html`<${RunLink} id=${holder.run_id} /> `)], ['ends with', reason.unblocked_by],
    ]} /><${Commands} commands=${reason.next_commands} /></li>`)}</ol>`;
}
