/** Events of the log, each with its data and what it changed when it is opened. */
import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { tailOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { moment } from '../core/past.js';
import { usePresentQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { wholeEvent } from '../core/rpc.js';
import { clockText } from '../core/time_text.js';
import { Later } from './later.js';
import { Answer, Asking, Problem } from './notice.js';
import { Rows } from './rows.js';
import { EventLink } from './status.js';

const ROW_PX = 26;
const AT_FIRST_MIN = 60;

/** As many as fill a window; the others are made when somebody scrolls down to them. */
const atFirst = () => Math.max(AT_FIRST_MIN, Math.ceil(innerHeight / ROW_PX));

/** Returns what a stream is about. @param {string} stream */
export function partsOf(stream) {
  const [noun, ...rest] = stream.split('/');
  return { noun, id: rest.join('/'), hasPage: noun === 'run' || noun === 'card' };
}

/** The stream's page where it has one. @param {{stream: string}} props */
function Stream({ stream }) {
  const { noun: kind, id, hasPage } = partsOf(stream);
  if (hasPage) return html`<a class="cut" href=${hrefOf(kind, { id })}>${kind} <span class="id">${tailOf(id)}</span></a>`;
  return html`<a class="cut" href=${hrefOf('events', { stream })}>${stream}</a>`;
}

function EventData(/** @type {{event: any}} */ { event }) {
  const [data, setData] = useState(event.data);
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => { wholeEvent(event).then((whole) => setData(whole.data), setError); }, [event.position]);
  if (error || data === undefined) return error ? html`<${Problem} error=${error} />` : html`<${Asking} />`;
  return html`<pre tabindex="0" aria-label="Data of event ${event.position}">${JSON.stringify(data, null, 2)}</pre>`;
}

/** Returns whether the service compares what a stream is about: a plan is part of its run. @param {string} stream */
export const hasFields = (stream) => has('state.diff') && !stream.startsWith('plan/');

/** What changed of one thing between two moments: its fields, before and after. */
export function Fields(/** @type {{stream: string, from: number, to: number}} */ { stream, from, to }) {
  const answer = usePresentQuery('state.diff', { stream, from: String(from), to: String(to) });
  return html`<${Answer} answer=${answer}>${({ change, fields }) => (change === null ? html`<p class="faint">Nothing that is remembered of it.</p>`
    : html`<${Rows} label="Fields of ${stream}, from #${from} to #${to}" heads=${['field', 'before', 'after']}><tbody>${fields.map((/** @type {any} */ each) => html`<tr key=${each.field}>
        <th scope="row">${each.field}</th><td class="changed">${each.from ?? ''}</td><td class="changed">${each.to ?? ''}</td></tr>`)}</tbody><//>`)}<//>`;
}

function EventItem(/** @type {{event: any}} */ { event }) {
  const [isOpen, setOpen] = useState(false);
  return html`<li><div class="event">
      <button class="quiet id" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>#${event.position}</button>
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
