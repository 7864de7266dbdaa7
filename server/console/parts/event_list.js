/** Events of the log, each with its data when it is opened. */
import { html } from '../vendor/htm-preact.js';
import { clockText } from '../core/time_text.js';
import { hrefOf } from '../core/route.js';
import { EventLink } from './status.js';

/** The stream's page where it has one. @param {{stream: string}} props */
function Stream({ stream }) {
  const [kind, ...rest] = stream.split('/');
  const id = rest.join('/');
  if (kind === 'run' || kind === 'card') return html`<a class="cut" href=${hrefOf(kind, { id })}>${kind} <span class="id">${id.slice(-8)}</span></a>`;
  return html`<span class="cut">${stream}</span>`;
}

/** @param {{event: any}} props */
function EventItem({ event }) {
  return html`<li><details><summary>
    <span class="id">#${event.position}</span> <time>${clockText(event.recorded_at)}</time> <b class="cut">${event.type}</b>
    <${Stream} stream=${event.stream} /> <span class="faint cut">${event.actor}</span>
    ${event.cause ? html`<span class="faint">after <${EventLink} position=${event.cause} /></span>` : html`<span></span>`}</summary>
    <pre tabindex="0" aria-label="Data of event ${event.position}">${JSON.stringify(event.data, null, 2)}</pre></details></li>`;
}

/** @param {{events: any[]}} props */
export function EventList({ events }) {
  return html`<ol class="events">${events.map((event) => html`<${EventItem} key=${event.position} event=${event} />`)}</ol>`;
}
