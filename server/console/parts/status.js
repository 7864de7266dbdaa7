/** A status, the stations of a run, and times, as every page shows them. */
import { html } from '../vendor/htm-preact.js';
import { ageText, clockText, durationText, msOf, now } from '../core/time_text.js';
import { tailOf, wordsOf } from '../core/figures.js';
import { hrefOf } from '../core/route.js';
import { useSignal } from '../core/use_signal.js';

/** What each status means for the eye: a shape beside the colour, so that neither is needed. */
const MARKS = /** @type {Record<string, [string, string]>} */ ({
  queued: ['○', 'idle'], backlog: ['○', 'idle'], pending: ['○', 'idle'], ready: ['○', 'idle'],
  running: ['▶', 'busy'], verifying: ['▶', 'busy'], claimed: ['▶', 'busy'], held: ['▶', 'busy'],
  paused: ['‖', 'wait'], waiting: ['‖', 'wait'], blocked: ['‖', 'wait'], halted: ['‖', 'wait'],
  succeeded: ['✔', 'good'], verified: ['✔', 'good'], merged: ['✔', 'good'],
  failed: ['✖', 'bad'], timed_out: ['✖', 'bad'],
  canceled: ['⊘', 'idle'], skipped: ['⊘', 'idle'],
});

export function Status(/** @type {{status: string, text?: string}} */ { status, text }) {
  const [mark, tone] = MARKS[status] ?? ['•', 'idle'];
  return html`<span class="status tone-${tone}"><span aria-hidden="true">${mark}</span> ${text ?? wordsOf(status)}</span>`;
}

const toneOf = (/** @type {string} */ status) => (MARKS[status] ?? ['', 'idle'])[1];

/** The stations of a run as boxes, from a row of run.list: those before the present one are done. @param {{run: any}} props */
export function StationBoxes({ run }) {
  const { station_index: present, stations_total: total, status } = run;
  if (!total) return null;
  const boxes = Array.from({ length: total }, (_, index) => {
    if (status === 'succeeded' || index < present) return 'good';
    if (index > present) return 'none';
    if (status === 'failed' || status === 'canceled') return status === 'failed' ? 'bad' : 'idle';
    return run.waiting_for || status === 'paused' ? 'wait' : toneOf(run.station_status);
  });
  const done = status === 'succeeded' ? total : present;
  return html`<span class="boxes" role="img" aria-label="${done} of ${total} stations done">
    ${boxes.map((tone) => html`<i class="tone-${tone}"></i>`)}</span>`;
}

/** What a run does or waits for, in words. @param {{run: any}} props */
export function RunState({ run }) {
  if (run.error) return html`<span class="tone-bad">${wordsOf(run.error.code)}</span> <span class="faint">${run.station}</span>`;
  if (run.waiting_for) return html`<span class="tone-wait">waits: ${wordsOf(run.waiting_for)}</span> <span class="faint">${run.station}</span>`;
  return html`<span class="faint">${run.station}</span>`;
}

/** How long ago, with the time itself as title. @param {{time?: string | null}} props */
export function Age({ time }) {
  const present = useSignal(now);
  const ms = msOf(time);
  if (ms === null) return null;
  return html`<time datetime=${time} title=${clockText(time)}>${ageText(present - ms)}</time>`;
}

/** @param {{time?: string | null}} props a time to come */
export function Due({ time }) {
  const present = useSignal(now);
  if (!time) return null;
  const leftMs = (msOf(time) ?? present) - present;
  return html`<time datetime=${time} title=${time}>${leftMs > 0 ? `in ${durationText(leftMs)}` : 'due'}</time>`;
}

/** Returns a link to a page about one thing. @param {string} page @returns {(props: {id: string, text?: any}) => any} */
const linkTo = (page) => ({ id, text }) => html`<a class=${text ? '' : 'id'} href=${hrefOf(page, { id })}>${text ?? tailOf(id)}</a>`;
export const RunLink = linkTo('run');
export const CardLink = linkTo('card');

/** A link to the event at a position. @param {{position: number, text?: string}} props */
export const EventLink = ({ position, text }) => html`<a class="id" href=${hrefOf('events', { from: String(position) })}>${text ?? ''} #${position}</a>`;
