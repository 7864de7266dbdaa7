/** The log itself: its end as it grows, or a page from a position on. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { useKeys } from '../core/keys.js';
import { connection, onEvents } from '../core/live.js';
import { useQuery } from '../core/query.js';
import { change } from '../core/route.js';
import { call } from '../core/rpc.js';
import { EventList } from '../parts/event_list.js';
import { Answer, Problem } from '../parts/notice.js';

const PAGE_EVENTS = 100;
const KEPT_EVENTS = 500;

/** @param {string} text @returns {string[] | undefined} */
const typesOf = (text = '') => (text ? text.split(/[\s,]+/).filter(Boolean) : undefined);

/** Twelve times a minute the watchdog ticks: nobody looks for that. */
const isNoise = (/** @type {any} */ event) => event.stream === 'tick/watchdog';

/** The newest events first, as they come. @param {{types?: string[], hasNoise: boolean}} props */
function Tail({ types, hasNoise }) {
  const [events, setEvents] = useState(/** @type {any[]} */ ([]));
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const add = (/** @type {any[]} */ list) => setEvents((old) => {
      const known = new Set(old.map(({ position }) => position));
      const fresh = list.filter((event) => !known.has(event.position) && (hasNoise || !isNoise(event)) && (!types || types.includes(event.type)));
      return fresh.length ? [...old, ...fresh].sort((a, b) => b.position - a.position).slice(0, KEPT_EVENTS) : old;
    });
    const stop = onEvents(add);
    call('server.status')
      .then(({ position }) => call('events.read', { from: Math.max(1, position - KEPT_EVENTS + 1), limit: KEPT_EVENTS, ...(types ? { types } : {}) }))
      .then((page) => add(page.events), setError);
    return stop;
  }, []);
  return html`<${Problem} error=${error} /><${EventList} events=${events} />`;
}

/** @param {{from: number, types?: string[]}} props */
function PageOfLog({ from, types }) {
  const answer = useQuery('events.read', { from, limit: PAGE_EVENTS, ...(types ? { types } : {}) }, () => false);
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ data) => html`<${EventList} events=${data.events} />
    <p class="actions"><button class="small" onClick=${() => change({ from: String(Math.max(1, from - PAGE_EVENTS)) })}>earlier</button>
      <button class="small" disabled=${!data.more} onClick=${() => change({ from: String(data.next_from) })}>later</button></p>`}<//>`;
}

/** @param {{params: Record<string, string>}} props */
export function Events({ params: { from: asked, types, all, at } }) {
  // Of a moment of the past there is no end that grows: its last page.
  const from = asked ?? (at ? String(Math.max(1, Number(at) - PAGE_EVENTS + 1)) : undefined);
  const position = Number(from);
  useKeys([
    { keys: 'L', text: 'The end of the log', run: () => change({ from: undefined }) },
    { keys: 'ArrowLeft', text: 'Earlier', run: () => change({ from: String(Math.max(1, (position || connection.peek().position) - PAGE_EVENTS)) }) },
    { keys: 'ArrowRight', text: 'Later', run: () => position && change({ from: String(position + PAGE_EVENTS) }) },
  ], [from]);
  return html`<div class="page events-page"><div class="head"><h1>Events ${from && html`<span class="faint">from #${from}</span>`}</h1>
      <span class="actions">${from ? html`<button class="small" onClick=${() => change({ from: undefined })}>the end, live</button>` : html`<label class="check faint"><input type="checkbox" checked=${Boolean(all)} onChange=${() => change({ all: all ? undefined : '1' })} /> with the watchdog’s ticks</label>`}</span></div>
    <div class="filters"><input type="search" class="filter wide" aria-label="Types" placeholder="types: RunStarted, RunFailed" value=${types ?? ''} onChange=${(/** @type {any} */ event) => change({ types: event.target.value })} />
      <input type="search" class="filter" aria-label="From position" inputmode="numeric" placeholder="from position" value=${from ?? ''} onChange=${(/** @type {any} */ event) => change({ from: event.target.value.replace(/\D/g, '') })} /></div>
    ${from ? html`<${PageOfLog} key=${`${from} ${types}`} from=${position} types=${typesOf(types)} />` : html`<${Tail} key=${`${types} ${all}`} types=${typesOf(types)} hasNoise=${Boolean(all)} />`}</div>`;
}
