/** Why something waits: each reason with the event that caused it and what ends it. */
import { html } from '../vendor/htm-preact.js';
import { wordsOf } from '../core/figures.js';
import { Commands } from '../parts/notice.js';
import { Age, Due, EventLink, RunLink } from '../parts/status.js';

/** @param {{why: any}} props the result of run.why or card.why */
export function Reasons({ why }) {
  return html`<ol class="reasons">${why.reasons.map((/** @type {any} */ reason) => html`<li key=${`${reason.reason} ${reason.cause_position}`}>
    <p><b class="tone-${why.moving ? 'busy' : 'wait'}">${wordsOf(reason.reason)}</b> ${reason.text}</p>
    <dl class="figures">
      ${reason.since && html`<div><dt>since</dt><dd><${Age} time=${reason.since} /></dd></div>`}
      ${reason.until && html`<div><dt>ends</dt><dd><${Due} time=${reason.until} /></dd></div>`}
      ${reason.cause_event && html`<div><dt>caused by</dt><dd><${EventLink} position=${reason.cause_position} text=${reason.cause_event} /></dd></div>`}
      ${reason.holder && html`<div><dt>holder</dt><dd>${reason.holder}</dd></div>`}
      ${reason.holders && html`<div><dt>held by</dt><dd>${reason.holders.map((/** @type {any} */ holder) => html`<${RunLink} id=${holder.run_id} /> `)}</dd></div>`}
      ${reason.unblocked_by && html`<div><dt>ends with</dt><dd>${reason.unblocked_by}</dd></div>`}
    </dl><${Commands} commands=${reason.next_commands} /></li>`)}</ol>`;
}
