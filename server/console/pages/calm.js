/** What the first page says when nothing waits for a person: when the service goes on by itself, and what it did. */
import { html } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { msOf } from '../core/time_text.js';
import { reportSentence } from '../parts/report_sentence.js';
import { Due } from '../parts/status.js';

const LAST_NIGHT = '12h';

/** The first of these loops that is due starts the next work by itself. */
const STARTING_LOOPS = ['heartbeat', 'synthesizer'];

/** @param {any} data an answer of loop.list @returns {any} */
function nextTick({ loops }) {
  const due = loops.filter((/** @type {any} */ { loop, next_due_at: at }) => at && STARTING_LOOPS.includes(loop));
  return due.sort((/** @type {any} */ a, /** @type {any} */ b) => (msOf(a.next_due_at) ?? 0) - (msOf(b.next_due_at) ?? 0))[0];
}

export function Calm() {
  const loops = useQuery('loop.list');
  const report = useQuery(has('report.get') ? 'report.get' : null, { since: LAST_NIGHT });
  const next = loops.data && nextTick(loops.data);
  return html`<div class="calm"><p>Nothing needs you.</p>
    ${next && html`<p class="aside">The next tick of the ${next.loop} is <${Due} time=${next.next_due_at} />.</p>`}
    ${report.data && html`<p class="aside">In the last 12 hours ${reportSentence(report.data)}. ${has('timeline.get') && html`<a href=${hrefOf('night', { since: LAST_NIGHT })}>Night</a>`}</p>`}</div>`;
}
