/** The log itself: its end as it grows, or a page from a position on; of some types, a stream or an actor. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { concernsOf } from '../core/concerns.js';
import { useKeys } from '../core/keys.js';
import { connection, onEvents } from '../core/live.js';
import { LiveAnswer, useQuery } from '../core/query.js';
import { change } from '../core/route.js';
import { call } from '../core/rpc.js';
import { EventList } from '../parts/event_list.js';
import { FilterField } from '../parts/filter_field.js';
import { Answer, Asking, Empty, Problem } from '../parts/notice.js';

const PAGE_EVENTS = 100;
const KEPT_EVENTS = 500;
/** Where few events match, a page of the log has few of them, or none. */
const PAGES_READ_MAX = 10;

/** @typedef {{types?: string[], stream?: string, actor?: string}} Filter */

/** @param {Record<string, string>} params @returns {Filter} */
function filterOf({ types = '', stream, actor }) {
  const list = types.split(/[\s,]+/).filter(Boolean);
  return { types: list.length ? list : undefined, stream: stream || undefined, actor: actor || undefined };
}

/** Twelve times a minute the watchdog ticks: nobody looks for that. */
const isNoise = (/** @type {any} */ event) => event.stream === 'tick/watchdog';

/**
 * Gives `add` the newest events that match, page by page.
 * @param {Filter} filter @param {(events: any[], isFirst: boolean) => number} add returns how many it has
 */
async function readNewest(filter, add) {
  let from = {};
  for (let pages = 0; pages < PAGES_READ_MAX; ++pages) {
    const page = await call('events.read', { ...filter, ...from, backwards: true, limit: KEPT_EVENTS });
    if (add(page.events, pages === 0) >= KEPT_EVENTS || !page.more) break;
    from = { from: page.next_from };
  }
  return {};
}

/** The newest events first, as they come. @param {{filter: Filter, hasNoise: boolean}} props */
function Tail({ filter, hasNoise }) {
  const [events, setEvents] = useState(/** @type {any[] | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const matches = concernsOf('events.read', filter);
    const known = /** @type {Map<number, any>} */ (new Map());
    const add = (/** @type {any[]} */ list) => {
      for (const event of list) if ((hasNoise || !isNoise(event)) && matches(event)) known.set(event.position, event);
      const newest = [...known.values()].sort((a, b) => b.position - a.position);
      for (const { position } of newest.splice(KEPT_EVENTS)) known.delete(position);
      setEvents(newest);
      return known.size;
    };
    /** After a page of the newest there are no gaps before it. @param {any[]} list @param {boolean} isFirst */
    const addPage = (list, isFirst) => {
      if (isFirst) for (const position of known.keys()) if (position < list[0]?.position) known.delete(position);
      return add(list);
    };
    const stop = onEvents(add);
    // It is read again, but not at once each time, when events were missed.
    const read = new LiveAnswer(() => readNewest(filter, addPage), () => false, ({ error: failed }) => setError(failed ?? null));
    return () => {
      stop();
      read.stop();
    };
  }, []);
  return html`<${Problem} error=${error} />${!events && !error && html`<${Asking} />`}${events && (events.length ? html`<${EventList} events=${events} />` : html`<${Empty} text="No event matches yet." />`)}`;
}

/** The newest events that match as of a moment of the past. @param {{filter: Filter}} props */
function LastPage({ filter }) {
  const answer = useQuery('events.read', { ...filter, backwards: true, limit: PAGE_EVENTS });
  return html`<${Answer} answer=${answer}>${(data) => html`<${EventList} events=${data.events} />`}<//>`;
}

function PageOfLog(/** @type {{from: number, filter: Filter, at?: string}} */ { from, filter, at }) {
  const [error, setError] = useState(/** @type {any} */ (null));
  const answer = useQuery('events.read', { ...filter, from, limit: PAGE_EVENTS });
  const goEarlier = () => call('events.read', { ...filter, at, from: from - 1, backwards: true, limit: PAGE_EVENTS }).then(
    ({ events, more, next_from: next }) => change({ from: String(events.at(-1)?.position ?? (more ? next : 1)) }), setError);
  return html`<${Problem} error=${error} /><${Answer} answer=${answer}>${(data) => html`<${EventList} events=${data.events} />
    <p class="actions"><button class="small" disabled=${from <= 1} onClick=${goEarlier}>earlier</button>
      <button class="small" disabled=${!data.more} onClick=${() => change({ from: String(data.next_from) })}>later</button></p>`}<//>`;
}

export function Events(/** @type {{params: Record<string, string>}} */ { params }) {
  const { from, types, stream, actor, all, at } = params;
  const position = Number(from);
  const filter = filterOf(params);
  const key = `${JSON.stringify(filter)} ${all} ${from}`;
  useKeys([
    { keys: 'L', text: 'The end of the log', run: () => change({ from: undefined }) },
    { keys: 'ArrowLeft', text: 'Earlier', run: () => change({ from: String(Math.max(1, (position || Number(at) || connection.peek().position) - PAGE_EVENTS)) }) },
    { keys: 'ArrowRight', text: 'Later', run: () => position && change({ from: String(position + PAGE_EVENTS) }) },
  ], [from, at]);
  return html`<div class="page events-page"><div class="head"><h1>Events ${from && html`<span class="faint">from #${from}</span>`}</h1>
      <span class="actions">${from && html`<button class="small" onClick=${() => change({ from: undefined })}>${at ? 'the newest of that moment' : 'the end, live'}</button>`}
        ${!from && !at && html`<label class="check faint"><input type="checkbox" checked=${Boolean(all)} onChange=${() => change({ all: all ? undefined : '1' })} /> with the watchdog’s ticks</label>`}</span></div>
    <div class="filters"><${FilterField} name="types" label="Types" hint="types: RunStarted, RunFailed" value=${types} isWide=${true} />
      <${FilterField} name="stream" label="Stream" hint="stream" value=${stream} /><${FilterField} name="actor" label="Actor" hint="actor" value=${actor} />
      <${FilterField} name="from" label="From position" hint="from position" value=${from} isNumber=${true} /></div>
    ${from && html`<${PageOfLog} key=${key} from=${position} filter=${filter} at=${at} />`}
    ${!from && at && html`<${LastPage} key=${key} filter=${filter} />`}
    ${!from && !at && html`<${Tail} key=${key} filter=${filter} hasNoise=${Boolean(all)} />`}</div>`;
}
