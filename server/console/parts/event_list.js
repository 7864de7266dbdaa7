/** Events of the log, each with its data when it is opened. */
import { html, useState } from '../vendor/htm-preact.js';
import { clockText } from '../core/time_text.js';
import { hrefOf } from '../core/route.js';
import { Later } from './later.js';
import { EventLink } from './status.js';

/** The stream's page where it has one. @param {{stream: string}} props */
function Stream({ stream }) {
  const [kind, ...rest] = stream.split('/');
  const id = rest.join('/');
  if (kind === 'run' || kind === 'card') return html`<a class="cut" href=${hrefOf(kind, { id })}>${kind} <span class="id">${id.slice(-8)}</span></a>`;
  return html`<a class="cut" href=${hrefOf('events', { stream })}>${stream}</a>`;
}

/** @param {{event: any}} props */
function EventItem({ event }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li><div class="event">
      <button class="quiet id" aria-expanded=${isOpen ? 'true' : 'false'} onClick=${() => setOpen(!isOpen)}>#${event.position}</button>
      <time>${clockText(event.recorded_at)}</time> <b class="cut">${event.type}</b>
      <${Stream} stream=${event.stream} /> <a class="faint cut" href=${hrefOf('events', { actor: event.actor })}>${event.actor}</a>
      <span class="faint">${event.cause ? html`after <${EventLink} position=${event.cause} />` : ''}</span></div>
    ${isOpen && html`<${Later} load=${() => import('../proof/event_proof.js').then(({ EventProof }) => EventProof)} event=${event} /><pre tabindex="0" aria-label="Data of event ${event.position}">${JSON.stringify(event.data, null, 2)}</pre>`}</li>`;
}

/** @param {{events: any[]}} props */
export function EventList({ events }) {
  return html`<ol class="events">${events.map((event) => html`<${EventItem} key=${event.position} event=${event} />`)}</ol>`;
}
