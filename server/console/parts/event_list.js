/** Events of the log, each with its data and what it changed when it is opened. */
import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { clockText } from '../core/time_text.js';
import { moment } from '../core/past.js';
import { hrefOf } from '../core/route.js';
import { wholeEvent } from '../core/rpc.js';
import { Fields, hasFields } from './fields.js';
import { Later } from './later.js';
import { Asking, Problem } from './notice.js';
import { EventLink } from './status.js';

const ROW_PX = 26;
const AT_FIRST_MIN = 60;

/** As many as fill a window; the others are made when somebody scrolls down to them. */
const atFirst = () => Math.max(AT_FIRST_MIN, Math.ceil(innerHeight / ROW_PX));

/** The stream's page where it has one. @param {{stream: string}} props */
function Stream({ stream }) {
  const [kind, ...rest] = stream.split('/');
  const id = rest.join('/');
  if (kind === 'run' || kind === 'card') return html`<a class="cut" href=${hrefOf(kind, { id })}>${kind} <span class="id">${id.slice(-8)}</span></a>`;
  return html`<a class="cut" href=${hrefOf('events', { stream })}>${stream}</a>`;
}

function EventData(/** @type {{event: any}} */ { event }) {
  const [data, setData] = useState(event.data);
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    wholeEvent(event).then((whole) => setData(whole.data), setError);
  }, [event.position]);
  if (error || data === undefined) return error ? html`<${Problem} error=${error} />` : html`<${Asking} />`;
  return html`<pre tabindex="0" aria-label="Data of event ${event.position}">${JSON.stringify(data, null, 2)}</pre>`;
}

function EventItem(/** @type {{event: any}} */ { event }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li><div class="event">
      <button class="quiet id" aria-expanded=${isOpen ? 'true' : 'false'} onClick=${() => setOpen(!isOpen)}>#${event.position}</button>
      <time>${clockText(event.recorded_at)}</time> <b class="cut">${event.type}</b>
      <${Stream} stream=${event.stream} /> <a class="faint cut" href=${hrefOf('events', { actor: event.actor })}>${event.actor}</a>
      <span class="faint">${event.cause ? html`after <${EventLink} position=${event.cause} />` : ''}</span></div>
    ${isOpen && html`<${Later} load=${() => import('../proof/event_proof.js').then(({ EventProof }) => EventProof)} event=${event} /><${EventData} event=${event} />
      ${event.position > 1 && hasFields(event.stream) && html`<section class="event-fields" aria-label="What #${event.position} changed"><h2>What it changed</h2>
        <${Fields} stream=${event.stream} from=${event.position - 1} to=${event.position} /></section>`}`}</li>`;
}

/** What was made of an event, for it never changes: of a list that grows, only what is new is rendered. @type {WeakMap<any, any>} */
let items = new WeakMap();
/** The day and the moment on screen, which the times and the links in the items depend on. */
let itemsOf = '';

export function EventList(/** @type {{events: any[]}} */ { events }) {
  const present = `${new Date().toDateString()} ${moment.peek()}`;
  if (present !== itemsOf) items = new WeakMap();
  itemsOf = present;
  const itemOf = (/** @type {any} */ event) => {
    if (!items.has(event)) items.set(event, html`<${EventItem} key=${event.position} event=${event} />`);
    return items.get(event);
  };
  const [isWhole, setWhole] = useState(false);
  const rest = useRef(/** @type {HTMLElement | null} */ (null));
  const most = isWhole ? events.length : atFirst();
  const isCut = events.length > most;
  useEffect(() => {
    if (!rest.current) return undefined;
    const observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && setWhole(true));
    observer.observe(rest.current);
    return () => observer.disconnect();
  }, [isCut]);
  return html`<ol class="events">${events.slice(0, most).map(itemOf)}</ol>
    ${isCut && html`<p ref=${rest} class="faint">${events.length - most} more</p>`}`;
}
