/**
 * The whole log as a bar below every page: how much happened, what failed, where the service crashed.
 * A moment on it puts every page back to what was known then.
 */
import { html, useEffect, useMemo, useRef, useState } from '../vendor/htm-preact.js';
import { countText, percentText, wordsOf } from '../core/figures.js';
import { useKeys } from '../core/keys.js';
import { connection } from '../core/live.js';
import { moment, show } from '../core/past.js';
import { usePresentQuery } from '../core/query.js';
import { change, go, route } from '../core/route.js';
import { call } from '../core/rpc.js';
import { placeOfPosition, placeOfTime, positionOfPlace, zoomed } from '../core/time_range.js';
import { clockText, momentTime } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { selectedThing } from './selected.js';

const BUCKETS = 240;
const REFRESH_MS = 10_000;
const DRAG_MS_MIN = 80;
const FAR = 100;
const ZOOM = 4;
/** Where few events are those of one run, a page of the log has none of them. */
const PAGES_READ_MAX = 10;
const NEAR = 0.1;

const MARKS = /** @type {Record<string, [string, string]>} */ ({
  crash: ['✖', 'bad'], start: ['▏', 'idle'], stop: ['▏', 'idle'], clock_jump: ['↷', 'wait'], retention: ['⌫', 'idle'],
});

/** The moment's position as a number and its time; asks for them where the address has an age. */
function useMoment(/** @type {string | null} */ at) {
  useEffect(() => {
    if (at === null) {
      momentTime.value = null;
      return;
    }
    const find = async () => {
      const position = /^\d+$/.test(at) ? Number(at) : (await call('server.status', { at })).position;
      const { events } = await call('events.read', { from: position, limit: 1 });
      if (moment.peek() !== at) return;
      if (events.length) momentTime.value = Date.parse(events[0].recorded_at);
      if (String(position) !== at) show(position);
    };
    // The page's own queries say what is wrong with the moment; when it was isn't known.
    find().catch(() => {
      if (moment.peek() === at) momentTime.value = null;
    });
  }, [at]);
}

/** Goes to the next mark of a kind, after the moment on screen or from the log's begin. */
async function nextMark(/** @type {string} */ kinds) {
  const cursor = Number(moment.peek() ?? 0);
  const { marks } = await call('log.marks', { kinds, limit: 1, cursor: cursor || undefined });
  if (marks.length) show(marks[0].position);
}

/**
 * Goes to an event of the run or card on screen, or of the one that is selected in a list: the next one, or the one before.
 * @param {number} by 1 or -1 @param {number} [from] the first position that it may have; without it, the newest
 */
async function findNextOfSelected(by, from) {
  const { subject, thing } = selectedThing.peek() ?? {};
  if (!subject) return;
  const stream = `${subject}/${thing[`${subject}_id`]}`;
  for (let pages = 0, next = from; pages < PAGES_READ_MAX && (next === undefined || next >= 1); ++pages) {
    const page = await call('events.read', { stream, from: next, limit: 1, backwards: by < 0 || undefined });
    if (page.events.length) return show(page.events[0].position);
    if (!page.more) break;
    next = page.next_from;
  }
  if (by > 0) show(null);
}

/** As above; what can't be found isn't shown. @param {number} by @param {number} [from] */
const nextOfSelected = (by, from) => findNextOfSelected(by, from).catch(() => {});

function Marks(/** @type {{log: Histogram, marks: any[]}} */ { log, marks }) {
  const shown = marks.filter(({ at }) => at >= log.from && at <= log.to);
  return html`${shown.map((mark) => html`<span key=${`${mark.kind} ${mark.position}`} class="bar-mark tone-${MARKS[mark.kind]?.[1] ?? 'idle'}"
    style=${{ left: percentText(placeOfTime(log, Date.parse(mark.at))) }} title="${wordsOf(mark.kind)} ${clockText(mark.at)} ${mark.text ?? ''}" aria-hidden="true">${MARKS[mark.kind]?.[0] ?? '·'}</span>`)}`;
}

function Bars(/** @type {{log: Histogram}} */ { log }) {
  const most = Math.max(1, ...log.buckets.map(({ events }) => events));
  const width = log.bucket_ms / Math.max(1, Date.parse(log.to) - Date.parse(log.from));
  return html`${log.buckets.map(({ at, events, counts }) => {
    const left = placeOfTime(log, Date.parse(at));
    const style = { left: percentText(left), width: `max(2px, ${percentText(Math.min(width, 1 - left))})` };
    return html`<i key=${at} class="bar-events tone-busy" style=${{ ...style, height: percentText(Math.sqrt(events / most)) }}></i>
      ${counts.failed > 0 && html`<i key=${`${at} failed`} class="bar-failed tone-bad" style=${style}></i>`}`;
  })}`;
}

/**
 * A place on the bar that moves with the pointer and with keys: the moment on screen, and the other one where two are compared.
 * @param {{log: Histogram, track: {current: HTMLElement | null}, first: number, last: number, position: number, isToPresent:
 *   boolean, move: (position: number | null) => void}} props `isToPresent`: the bar ends there; `move` gets null for the present
 */
function handlersOf({ log, track, first, last, position, isToPresent, move }) {
  const step = (/** @type {number} */ by) => move(position + by >= last ? null : Math.max(first, position + by));
  const drag = (/** @type {PointerEvent} */ event) => {
    const box = track.current?.getBoundingClientRect();
    if (!box || !(event.buttons & 1) || Date.now() - draggedAt < DRAG_MS_MIN) return;
    draggedAt = Date.now();
    const place = (event.clientX - box.left) / box.width;
    if (place >= 1 && isToPresent) move(null);
    else if (log.buckets.length) move(positionOfPlace(log, Math.min(1, Math.max(0, place))));
  };
  return {
    step,
    onPointerMove: drag,
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
      draggedAt = 0;
      drag(event);
    },
    onKeyDown: (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -FAR, PageDown: FAR }[event.key];
      if (by && event.shiftKey) nextOfSelected(Math.sign(by), position + Math.sign(by));
      else if (by) step(by);
      else if (event.key === 'Home') move(first);
      else if (event.key === 'End') move(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}

let draggedAt = 0;

export function TimeBar() {
  const { page, params } = useSignal(route);
  const at = useSignal(moment);
  const time = useSignal(momentTime);
  const { position: newest } = useSignal(connection);
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const [range, setRange] = useState(/** @type {{from: number, to: number | null} | null} */ (null));
  const timeOf = (/** @type {number | null | undefined} */ ms) => (ms ? new Date(ms).toISOString() : undefined);
  const { data: asked, refresh } = usePresentQuery('events.histogram', { buckets: BUCKETS, from: timeOf(range?.from), to: timeOf(range?.to) });
  // The bar stays until its other part is there, and its ends are those of the whole log.
  const kept = useRef({ log: /** @type {any} */ (undefined), begin: 0, first: 1, last: 1 });
  if (asked) kept.current.log = asked;
  if (asked && !range) Object.assign(kept.current, { begin: Date.parse(asked.from), first: asked.buckets[0]?.first_position ?? 1, last: asked.buckets.at(-1)?.last_position ?? 1 });
  const { log } = kept.current;
  const { data: marked, refresh: refreshMarks } = usePresentQuery('log.marks', { kinds: 'crash,start,clock_jump,retention', backwards: true, limit: 200 });
  useMoment(at);
  useEffect(() => {
    const timer = setInterval(() => {
      refresh();
      refreshMarks();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh, refreshMarks]);
  // The position moves with each event, the bars only with each answer.
  const drawn = useMemo(() => log && html`<${Bars} log=${log} /><${Marks} log=${log} marks=${marked?.marks ?? []} />`, [log, marked]);
  const last = Math.max(newest, kept.current.last, log?.buckets.at(-1)?.last_position ?? 1);
  const { first } = kept.current;
  const position = at === null ? last : Number(at) || last;
  const isToPresent = !range?.to;
  const handlers = log && handlersOf({ log, track, first, last, position, isToPresent, move: show });
  const zoom = (/** @type {number} */ by) => log && setRange(zoomed({ from: Date.parse(log.from), to: Date.parse(log.to) }, by, time ?? (isToPresent ? null : Date.parse(log.to)), { from: kept.current.begin, to: Date.now() }));
  // What a retention dropped has no length here: its archive has it. It isn't next to a part of the bar that begins later.
  const isPart = log && Date.parse(log.from) > kept.current.begin;
  const archive = marked?.marks.find((/** @type {any} */ { kind }) => kind === 'retention')?.text;
  const dropped = `Before #${countText(first)}: dropped by a retention${archive ? `, archived in ${archive}` : ''}`;
  const other = page === 'compare' && Number(params.vs) > 0 ? Math.min(last, Number(params.vs)) : null;
  // From the present back to where the last tenth of the bar begins, until somebody moves that.
  const compare = () => log && go('compare', { vs: String(at === null ? positionOfPlace(log, 1 - NEAR) : position), at: undefined });
  useKeys([
    { keys: 'L', text: 'The present', run: () => show(null) },
    { keys: '[', text: 'One event back', run: () => handlers?.step(-1) },
    { keys: ']', text: 'One event on', run: () => handlers?.step(1) },
    { keys: '{', text: 'One event of the run or card back', run: () => nextOfSelected(-1, at === null ? undefined : position - 1) },
    { keys: '}', text: 'One event of the run or card on', run: () => at !== null && nextOfSelected(1, position + 1) },
    { keys: '+', text: 'The bar closer', run: () => zoom(1 / ZOOM) },
    { keys: '-', text: 'The bar wider', run: () => zoom(ZOOM) },
    { keys: '!', text: 'The next failure', run: () => nextMark('failure') },
    { keys: 'c', text: 'The next crash', run: () => nextMark('crash') },
    { keys: 'C', text: 'Compare with another moment', run: compare },
  ], [position, last, first, log, time, at]);
  if (!log || !handlers) return html`<footer class="time-bar"></footer>`;

  const text = at === null ? 'live' : `${time ? `${clockText(time)}, ` : ''}#${countText(position)}`;
  const { step, ...byHand } = handlers;
  const place = at === null ? 1 : placeOfPosition(log, position);
  const isOnBar = at === null ? isToPresent : !range || time === null || (time >= Date.parse(log.from) && time <= Date.parse(log.to));
  const otherPlace = other === null ? place : placeOfPosition(log, other);
  const { step: _, ...otherByHand } = handlersOf({ log, track, first, last, position: other ?? last, isToPresent, move: (to) => change({ vs: String(to ?? last) }) });
  return html`<footer class="time-bar ${at === null ? '' : 'past'}">
    <time>${clockText(log.from)}</time>
    ${first > 1 && html`<button class="bar-dropped ${isPart ? 'apart' : ''}" title=${dropped} aria-label=${dropped} onClick=${() => show(first - 1)}></button>`}
    <div class="bar-whole"><div class="bar-track" ref=${track} role="slider" tabindex="0" aria-label="Moment on screen" aria-valuemin=${first} aria-valuemax=${last} aria-valuenow=${position} aria-valuetext=${text} ...${byHand}>
      ${drawn}
      ${other !== null && html`<i class="bar-between" style=${{ left: percentText(Math.min(place, otherPlace)), width: percentText(Math.abs(place - otherPlace)) }}></i>`}
      ${isOnBar && html`<i class="bar-thumb" style=${{ left: percentText(place) }}></i>`}</div>
      ${other !== null && html`<div class="bar-other" role="slider" tabindex="0" aria-label="Moment to compare with" aria-valuemin=${first} aria-valuemax=${last} aria-valuenow=${other} aria-valuetext="#${countText(other)}"
        style=${{ left: percentText(otherPlace) }} ...${otherByHand}></div>`}</div>
    <span class="bar-zoom"><button class="quiet" aria-label="Zoom into the bar" title="A part of the bar: +" onClick=${() => zoom(1 / ZOOM)}>+</button><button class="quiet" aria-label="Zoom out of the bar" title="More of the bar: -" onClick=${() => zoom(ZOOM)}>−</button></span>
    ${page !== 'compare' && html`<button class="quiet compare-button" onClick=${compare} title="What changed between two moments">compare</button>`}
    <span class="bar-text">${at === null ? html`<span class="tone-good">live</span>` : html`as of ${text} <button class="small" onClick=${() => show(null)}>live</button>`}</span></footer>`;
}
