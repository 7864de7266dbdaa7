/** The last minutes of a few metrics as lines. */
import { html, useEffect, useMemo } from '../vendor/htm-preact.js';
import { keepSamples, samples } from '../core/metrics.js';
import { bytesText, countText } from '../core/figures.js';
import { useSignal } from '../core/use_signal.js';
import { Plot } from './plot.js';

/** @typedef {{name: string, metric: string, isRate: boolean, text: (value: number) => string}} Line */

/** @type {Line[]} */
const LINES = [
  { name: 'events per second', metric: 'signalbox_events_total', isRate: true, text: (value) => value.toFixed(1) },
  { name: 'stations that wait', metric: 'signalbox_ready_stations', isRate: false, text: countText },
  { name: 'attempts at work', metric: 'signalbox_running_attempts', isRate: false, text: countText },
  { name: 'memory', metric: 'process_resident_memory_bytes', isRate: false, text: bytesText },
  { name: 'processors', metric: 'process_cpu_seconds_total', isRate: true, text: (value) => value.toFixed(2) },
];
const HEIGHT_PX = 44;
const STROKES = [{ colour: '--busy' }];

/** @param {Line} line @param {import('../core/metrics.js').Sample[]} list @returns {number[][]} times and values */
function seriesOf({ metric, isRate }, list) {
  const values = list.map((each) => each.values.get(metric) ?? 0);
  if (!isRate) return [list.map(({ at }) => at), values];
  const rates = values.slice(1).map((value, index) => Math.max(0, value - values[index]) / (list[index + 1].at - list[index].at));
  return [list.slice(1).map(({ at }) => at), rates];
}

/** @param {{line: Line, list: import('../core/metrics.js').Sample[]}} props */
function Sparkline({ line, list }) {
  const data = useMemo(() => seriesOf(line, list), [list]);
  const last = data[1].at(-1);
  return html`<figure class="spark"><figcaption>${line.name} <b>${last === undefined ? '…' : line.text(last)}</b></figcaption>
    <${Plot} data=${data} strokes=${STROKES} heightPx=${HEIGHT_PX} /></figure>`;
}

export function Sparklines() {
  const list = useSignal(samples);
  useEffect(keepSamples, []);
  return html`<section aria-label="Figures of the last minutes" class="sparks">${LINES.map((line) => html`<${Sparkline} key=${line.metric} line=${line} list=${list} />`)}</section>`;
}
