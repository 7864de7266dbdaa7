/**
 * A run as bars over time: stations, their attempts and the steps of those. Times in which nothing
 * happens are folded and say what was waited for, so that a night of waiting doesn't squeeze the minutes of
 * work together. Lines are where the service crashed or started.
 */
import { html, useState } from '../vendor/htm-preact.js';
import { percentText, wordsOf } from '../core/figures.js';
import { hrefOf } from '../core/route.js';
import { STEP_NAMES, stepped } from '../core/time_range.js';
import { clockText, durationText, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Brush } from './brush.js';
import { linesOf, MarkWords, useMarks } from './marks.js';

/** A gap longer than this part of the whole is folded to FOLDED of the width. */
const FOLD_MIN = 0.05;
const FOLDED = 0.07;

/** @typedef {{from: number, to: number}} Span */

/**
 * Returns a function from a time to 0..1 across the picture, the one back, and the gaps that it folds.
 * @param {Span[]} busy spans in which something happens @param {number} begin @param {number} end
 */
function foldedScale(busy, begin, end) {
  const whole = Math.max(1, end - begin);
  const gaps = /** @type {Span[]} */ ([]);
  let reached = begin;
  for (const { from, to } of busy.toSorted((a, b) => a.from - b.from)) {
    if (from - reached > FOLD_MIN * whole) gaps.push({ from: reached, to: from });
    reached = Math.max(reached, to);
  }
  if (end - reached > FOLD_MIN * whole) gaps.push({ from: reached, to: end });
  const foldedMs = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const shown = whole - foldedMs;
  const gapWidth = shown > 0 ? FOLDED : 1 / Math.max(1, gaps.length);
  const perMs = shown > 0 ? (1 - FOLDED * gaps.length) / shown : 0;
  const at = (/** @type {number} */ ms) => {
    let width = (Math.min(Math.max(ms, begin), end) - begin) * perMs;
    for (const { from, to } of gaps) {
      if (ms <= from) break;
      const passed = Math.min(ms, to) - from;
      width += (passed / (to - from)) * gapWidth - passed * perMs;
    }
    return Math.min(1, Math.max(0, width));
  };
  const timeOf = (/** @type {number} */ place) => {
    let [from, to] = [begin, end];
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      if (at(middle) < place) from = middle;
      else to = middle;
    }
    return place <= 0 ? begin : to;
  };
  return { at, timeOf, gaps };
}

const textOf = (/** @type {number} */ ms) => new Date(ms).toISOString();

const TONES = /** @type {Record<string, string>} */ ({ ok: 'good', error: 'bad', unset: 'busy' });

/** Returns what a run waited for, as the first event of that time that says so has it. @param {any[]} events @param {Span} time */
function waitIn(events, { from, to }) {
  const { attributes } = events.find(({ at, attributes: has }) => Date.parse(at) >= from && Date.parse(at) < to && (has['signalbox.waiting_for'] || has['signalbox.next_strategy'])) ?? {};
  return attributes ? wordsOf(attributes['signalbox.waiting_for'] ?? 'a retry') : '';
}

/** @param {{gaps: Gap[], at: (ms: number) => number, isNamed?: boolean}} props @typedef {Span & {wait: string}} Gap */
function Gaps({ gaps, at, isNamed }) {
  return html`${gaps.map(({ from, to, wait }) => html`<i class="fall-gap" key=${from} title="${wait ? `waited for ${wait}` : 'nothing'} for ${durationText(to - from)}"
    style=${{ left: percentText(at(from)), width: percentText(at(to) - at(from)) }}>${isNamed && html`<span>⟨${wait && `${wait} `}${durationText(to - from)}⟩</span>`}</i>`)}`;
}

/** @param {{span: any, asOf: number, shown: Span, at: (ms: number) => number, gaps: Gap[], depth: number}} props `shown`: the part of the time on screen */
function Bar({ span, asOf, shown, at, gaps, depth }) {
  const from = Date.parse(span.started_at);
  const to = span.ended_at ? Date.parse(span.ended_at) : asOf;
  const { 'signalbox.attempt': attempt, 'signalbox.strategy': strategy } = span.attributes;
  const name = span.kind === 'attempt' && attempt > 1 ? `${span.name} · ${attempt}` : span.name;
  const title = [span.name, strategy, `${clockText(span.started_at)}, ${durationText(to - from)}`, span.message].filter(Boolean).join('\n');
  return html`<div class="fall-row" title=${title}>
    <span class="fall-name cut" style=${{ paddingLeft: `${depth * 12}px` }}>${name}</span>
    <span class="fall-track"><${Gaps} gaps=${gaps} at=${at} />
      ${from <= shown.to && to >= shown.from && html`<i class="fall-bar tone-${TONES[span.status]} ${span.ended_at ? '' : 'open'}" style=${{ left: percentText(at(from)), width: percentText(Math.max(0.002, at(to) - at(from))) }}></i>`}
      ${span.events.filter((/** @type {any} */ event) => Date.parse(event.at) >= shown.from && Date.parse(event.at) <= shown.to).map((/** @type {any} */ event) => html`<a class="fall-event" draggable=${false} style=${{ left: percentText(at(Date.parse(event.at))) }}
        title="${event.name} ${clockText(event.at)}" aria-label="${event.name} of ${span.name}"
        href=${hrefOf('events', { from: String(event.attributes['signalbox.position']) })}></a>`)}
    </span>
    <span class="fall-took">${durationText(to - from)}</span></div>`;
}

/** @param {{trace: any, label?: string, hasParts?: boolean}} props `trace`: the result of run.trace; `hasParts`: with buttons for a part of the time */
export function Waterfall({ trace, label = 'Attempts over time', hasParts = false }) {
  const present = useSignal(now);
  const [part, setPart] = useState(/** @type {Span | null} */ (null));
  /** @type {any[]} */
  const spans = trace.spans;
  const isOpen = spans.some((span) => !span.ended_at);
  const asOf = isOpen ? Math.max(present, Date.parse(trace.as_of)) : Date.parse(trace.as_of);
  const endOf = (/** @type {any} */ span) => (span.ended_at ? Date.parse(span.ended_at) : asOf);
  const whole = { from: Math.min(...spans.map((span) => Date.parse(span.started_at))), to: Math.max(...spans.map(endOf)) };
  const shown = part ?? whole;
  const all = spans.filter((span) => span.kind !== 'run').map((span) => ({ from: Date.parse(span.started_at), to: endOf(span) }));
  const work = all.map(({ from, to }) => ({ from: Math.max(shown.from, from), to: Math.min(shown.to, to) })).filter(({ from, to }) => from <= to);
  const { at, timeOf, gaps: folded } = foldedScale(work, shown.from, shown.to);
  const events = spans.flatMap((span) => span.events);
  // Of a gap that begins with the part on screen, the reason may be older.
  const gaps = folded.map(({ from, to }) => ({ from, to, wait: waitIn(events, { from: Math.max(whole.from, ...all.map((span) => span.to).filter((end) => end <= from)), to }) }));
  const { marks, isCut } = useMarks(textOf(whole.from), isOpen ? undefined : textOf(whole.to));
  const inRange = { marks: marks.filter((mark) => Date.parse(mark.at) >= shown.from && Date.parse(mark.at) <= shown.to), isCut };
  const depthOf = (/** @type {any} */ span) => ({ run: 0, attempt: 1, step: 2, usage: 2 })[/** @type {'run'} */ (span.kind)] ?? 0;
  const choose = (/** @type {Span} */ { from, to }) => setPart(from <= whole.from && to >= whole.to ? null : { from: Math.max(from, whole.from), to });
  const onChoose = (/** @type {number} */ one, /** @type {number} */ other) => {
    const from = timeOf(Math.min(one, other));
    choose({ from, to: Math.max(timeOf(Math.max(one, other)), from + 1) });
  };
  return html`<div class="fall-box">${(hasParts || part) && html`<div class="filters"><span class="choice" role="group" aria-label="time on screen">${STEP_NAMES.map((step) => html`<button class="chip" key=${step} onClick=${() => choose(stepped(shown, step, whole.to))}>${step}</button>`)}</span>
      ${part && html`<button class="chip" onClick=${() => setPart(null)}>all of it</button>`}</div>`}
    <p class="kinds"><${MarkWords} marks=${inRange} /></p>
    <${Brush} class="fall" style=${{ '--marks': linesOf(inRange, at) }} role="group" aria-label=${label} onChoose=${onChoose}>
    ${spans.map((span) => html`<${Bar} key=${span.span_id} span=${span} asOf=${asOf} shown=${shown} at=${at} gaps=${gaps} depth=${depthOf(span)} />`)}
    <div class="fall-row fall-axis"><span></span><span class="fall-track">
      <${Gaps} gaps=${gaps} at=${at} isNamed=${true} />
      <time class="fall-begin">${clockText(shown.from)}</time></span>
      <time class="fall-took">${clockText(shown.to)}</time></div>
  <//></div>`;
}
