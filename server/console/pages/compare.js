/**
 * What changed between two moments of the log: first how many runs and cards there were of each status, then
 * each thing whose events are in between. The address has both moments: `vs`, and `at` unless it is the present.
 */
import { html, useState } from '../vendor/htm-preact.js';
import { countText, plural, tailOf, wordsOf } from '../core/figures.js';
import { connection } from '../core/live.js';
import { moment } from '../core/past.js';
import { usePresentQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { clockText } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Fields, hasFields, partsOf } from '../parts/event_list.js';
import { Answer, Asking, Command, Empty, Problem } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { EventLink, Status } from '../parts/status.js';

const EVENTS_MAX = 1000;
const NAMES_MAX = 500;
const NOUNS = /** @type {[string, string][]} */ ([['run', 'Runs'], ['card', 'Cards'], ['project', 'Projects'], ['lock', 'Locks'], ['tick', 'Loops'], ['server', 'Service'], ['access', 'Access'], ['plan', 'Plans']]);
/** What happens all the time, and says nothing about what changed. */
const BEATS = ['StationHeartbeat', 'LockRenewed', 'TickHeartbeat'];

/** @typedef {{name: string, status: string, before: number, after: number}} Count */

/** @param {string} name @param {Map<string, number>[]} moments before and after @returns {Count[]} */
const countsOf = (name, [before, after]) => [...new Set([...before.keys(), ...after.keys()])]
  .map((status) => ({ name, status, before: before.get(status) ?? 0, after: after.get(status) ?? 0 }));

const ofRuns = (/** @type {any} */ data) => new Map(Object.entries(data?.totals ?? {}));
const ofCards = (/** @type {any} */ data) => new Map((data?.columns ?? []).map((/** @type {any} */ { status, total }) => [status, total]));

function Counts(/** @type {{counts: Count[]}} */ { counts }) {
  const changed = counts.filter(({ before, after }) => before !== after);
  if (changed.length === 0) return html`<p class="sentence">As many runs and cards were in each status.</p>`;
  return html`<${Rows} label="What there was" heads=${['status', 'before', 'after', 'change']} kind="measures"><tbody>${changed.map(({ name, status, before, after }) => html`<tr key=${`${name} ${status}`}>
    <th scope="row">${name} <${Status} status=${status} /></th><td class="number">${countText(before)}</td><td class="number">${countText(after)}</td>
    <td class="number strong">${after > before ? '+' : '−'}${countText(Math.abs(after - before))}</td></tr>`)}</tbody><//>`;
}

/**
 * @typedef {{stream: string, name: string, events: number, latest: any, last: number}} Changed `last`: the position
 *   of its last event
 * @param {{changed: Changed, from: number, to: number | null}} props `to`: null for the present
 */
function Thing({ changed: { stream, name, events, latest, last }, from, to }) {
  const [isOpen, setOpen] = useState(false);
  const { noun, id, hasPage } = partsOf(stream);
  const text = name || (hasPage ? tailOf(id) : id || noun);
  return html`<li><div class="changed-thing">${hasFields(stream) ? html`<button class="quiet" aria-expanded=${isOpen} aria-label="Fields of ${text}" onClick=${() => setOpen(!isOpen)}>${isOpen ? '▾' : '▸'}</button>` : html`<span></span>`}
    <a class="cut" href=${hasPage ? hrefOf(noun, { id }) : hrefOf('events', { stream })}>${text}</a> <span class="cut">${wordsOf(latest.type.replace(/(?<=[a-z])(?=[A-Z])/g, ' '))} <${EventLink} position=${latest.position} /></span> <span class="faint number">${plural(events, 'event')}</span></div>
    ${isOpen && html`<${Fields} stream=${stream} from=${from} to=${to ?? last} />`}</li>`;
}

/** Returns each thing with events in this list, which has the newest first. @param {any[]} events @param {Map<string, string>} names @returns {Changed[]} */
function changedIn(events, names) {
  const found = /** @type {Map<string, Changed>} */ (new Map());
  for (const event of events) {
    const { stream, type, data } = event;
    const known = found.get(stream) ?? { stream, name: names.get(stream) ?? '', events: 0, latest: event, last: event.position };
    if (BEATS.includes(known.latest.type)) known.latest = event;
    known.events += 1;
    if (type === 'RunStarted') known.name ||= data.goal ?? '';
    if (type === 'CardSubmitted') known.name ||= data.title ?? '';
    found.set(stream, known);
  }
  return [...found.values()];
}

/** @param {{from: number, to: number, at: string | null}} props `at`: the later moment; null for the present */
function Things({ from, to, at }) {
  // The newest first, as many as a page has.
  const answer = usePresentQuery('events.read', { from: at === null ? undefined : to, backwards: true, limit: EVENTS_MAX });
  const runs = usePresentQuery('run.list', { limit: NAMES_MAX }, at);
  const cards = usePresentQuery('card.list', { limit: NAMES_MAX }, at);
  const names = new Map([...(runs.data?.runs ?? []).map((/** @type {any} */ { run_id: id, goal }) => [`run/${id}`, goal]), ...(cards.data?.cards ?? []).map((/** @type {any} */ { card_id: id, title }) => [`card/${id}`, title])]);
  return html`<${Answer} answer=${answer}>${({ events: read, more, next_from: next }) => {
    const events = read.filter((/** @type {any} */ { position }) => position > from && position <= to);
    const changed = changedIn(events, names);
    return html`${more && next > from && html`<p class="faint">The latest ${countText(events.length)} of ${countText(to - from)} events are looked at for what follows: bring the moments closer together for the others.</p>`}
      ${NOUNS.map(([noun, title]) => [noun, title, changed.filter(({ stream }) => partsOf(stream).noun === noun)]).map(([noun, title, list]) => list.length > 0 && html`<section key=${noun} aria-label=${title}><h2>${title} <span class="faint">${list.length}</span></h2>
        <ul class="changed-things">${/** @type {Changed[]} */ (/** @type {unknown} */ (list)).map((each) => html`<${Thing} key=${each.stream} changed=${each} from=${from} to=${at === null ? null : to} />`)}</ul></section>`)}`;
  }}<//>`;
}

function When(/** @type {{position: number}} */ { position }) {
  const { data } = usePresentQuery('events.read', { from: position, limit: 1 });
  return html`<${EventLink} position=${position} />${data?.events[0] ? ` ${clockText(data.events[0].recorded_at)}` : ''}`;
}

export function Compare(/** @type {{params: Record<string, string>}} */ { params: { vs } }) {
  const at = useSignal(moment);
  const { position: newest } = useSignal(connection);
  const status = usePresentQuery('server.status');
  const present = Math.max(newest, status.data?.position ?? 0);
  const here = at === null ? present : Number(at);
  const there = Math.min(Number(vs), Math.max(present, here));
  const [from, to] = [Math.min(here, there), Math.max(here, there)];
  // The present moves on by itself; a moment is asked about as of its position.
  const later = to === here && at === null ? null : String(to);
  const isAsked = Number.isSafeInteger(Number(vs)) && Number(vs) > 0;
  // Without the present a later moment would be taken for it.
  const isKnown = present > 0 && isAsked && Number.isSafeInteger(there) && here > 0;
  const [runs, cards] = [['run.list', { totals: true }], ['board.get', {}]].map(([method, params]) => [String(from), later].map((each) =>
    usePresentQuery(isKnown ? /** @type {string} */ (method) : null, { limit: 1, .../** @type {object} */ (params) }, each)));
  const isThere = [...runs, ...cards].every(({ data }) => data);
  if (!isKnown) return html`<div class="page"><h1>What changed</h1><${Problem} error=${status.error} />${isAsked ? html`${!status.error && html`<${Asking} />`}` : html`<${Empty} text="Which moments are compared isn’t known: show one on the bar below, and press “compare” there." />`}</div>`;
  return html`<div class="page compare"><div class="head"><h1>What changed <span class="faint">${plural(to - from, 'event')}</span></h1></div>
    <p class="kinds"><span>from <${When} key=${from} position=${from} /></span><span>to ${later === null ? 'now' : html`<${When} key=${to} position=${to} />`}</span><span class="faint">Both ends are handles on the bar below.</span></p>
    <${Problem} error=${[...runs, ...cards].find(({ error }) => error)?.error} />
    ${isThere && html`<${Counts} counts=${[...countsOf('runs', [ofRuns(runs[0].data), ofRuns(runs[1].data)]), ...countsOf('cards', [ofCards(cards[0].data), ofCards(cards[1].data)])]} />`}
    ${from === to ? html`<p>The two moments are the same.</p>` : html`<${Things} from=${from} to=${to} at=${later} />`}
    <${Command} command=${`signalbox diff --from ${from}${later === null ? '' : ` --to ${to}`}`} /></div>`;
}
