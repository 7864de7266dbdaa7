/** What the log has of a run. */
import { html } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { Answer } from '../parts/notice.js';
import { EventList } from '../parts/event_list.js';

const EVENTS_SHOWN = 500;

/** @param {{run: any}} props */
export function RunEvents({ run }) {
  const from = Math.max(run.started_position, 1);
  const answer = useQuery('events.read', { run_id: run.run_id, from, limit: EVENTS_SHOWN });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ data) => html`
    <${EventList} events=${data.events} />${data.more && html`<p class="faint">The first ${data.events.length} events${has('events.types') && html`, and <a href=${hrefOf('events', { stream: `run/${run.run_id}`, from: String(data.next_from) })}>those that follow</a>`}.</p>`}`}<//>`;
}
