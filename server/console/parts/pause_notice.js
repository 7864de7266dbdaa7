/** Says on every page that the service is paused. */
import { html } from '../vendor/htm-preact.js';
import { has, whyNot } from '../core/identity.js';
import { plural } from '../core/figures.js';
import { useSettledMoment } from '../core/past.js';
import { usePresentQuery } from '../core/query.js';
import { ACTIONS, ActionButtons, serviceTarget } from './actions.js';
import { Age } from './status.js';

/**
 * Who paused it, why, since when, and what is in progress all the same; and the way on, or why not for this user.
 * The age changes each second: it isn't in what screen readers say whenever it changes.
 * @param {{isShownOnly?: boolean}} props `isShownOnly`: nothing is offered
 */
export function PauseNotice({ isShownOnly = false }) {
  const at = useSettledMoment();
  const { data } = usePresentQuery(has('server.in_flight') ? 'server.in_flight' : null, { limit: 1 }, at);
  const paused = data?.paused;
  if (!paused) return null;
  const whyNotResumed = whyNot(ACTIONS.resumeAll.method);
  return html`<p class="announcement paused"><span role="status"><b class="tone-wait">‖ The service is paused</b> by ${paused.by}${paused.reason ? `: ${paused.reason}` : ''}. Nothing new begins.</span>
    <span class="faint">since <${Age} time=${paused.since} /></span> <span>${data.total ? `${plural(data.total, 'attempt')} still in progress.` : 'Nothing is in progress.'}</span>${!isShownOnly && html`
    ${' '}<${ActionButtons} actions=${[ACTIONS.resumeAll]} targets=${[serviceTarget(paused)]} small=${true} />${whyNotResumed && html` <span class="faint">You can’t resume it: ${whyNotResumed}.</span>`}`}</p>`;
}
