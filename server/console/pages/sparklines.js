/** The last minutes of a few of the service's metrics as lines, which are kept while the console is open. */
import { html, useEffect, useMemo } from '../vendor/htm-preact.js';
import { bytesText, countText } from '../core/figures.js';
import { call } from '../core/rpc.js';
import { useSignal } from '../core/use_signal.js';
import { signal } from '../vendor/signals-core.js';
import { Plot } from './plot.js';

const PERIOD_MS = 5000;
const KEPT = 180;

/** @typedef {{at: number, values: Map<string, number>}} Sample values by the metric's name, summed over its labels */

const samples = signal(/** @type {Sample[]} */ ([]));
let isStarted = false;

/** Reads the Prometheus text format. @param {string} text @returns {Map<string, number>} */
function readMetrics(text) {
  const values = new Map();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/.exec(line);
    if (match) values.set(match[1], (values.get(match[1]) ?? 0) + Number(match[2]));
  }
  return values;
}

async function sample() {
  if (document.hidden) return;
  const { text } = await call('server.metrics');
  samples.value = [...samples.peek(), { at: Date.now() / 1000, values: readMetrics(text) }].slice(-KEPT);
}

/** Begins to keep samples, as long as the console is open. */
function keepSamples() {
  if (isStarted) return;
  isStarted = true;
  const quietly = () => sample().catch(() => {});  // the connection's state says what is wrong
  setInterval(quietly, PERIOD_MS);
  quietly();
}

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

/** @param {Line} line @param {Sample[]} list @returns {(number | null)[][]} times and values; null: it isn't known */
function seriesOf({ metric, isRate }, list) {
  const values = list.map((each) => each.values.get(metric) ?? null);
  if (!isRate) return [list.map(({ at }) => at), values];
  const rates = values.slice(1).map((value, index) => {
    const before = values[index];
    return value === null || before === null ? null : Math.max(0, value - before) / (list[index + 1].at - list[index].at);
  });
  return [list.slice(1).map(({ at }) => at), rates];
}

function Sparkline(/** @type {{line: Line, list: Sample[]}} */ { line, list }) {
  const data = useMemo(() => seriesOf(line, list), [list]);
  const last = data[1].at(-1) ?? null;
  return html`<figure class="spark"><figcaption>${line.name} <b>${last === null ? '…' : line.text(last)}</b></figcaption>
    <${Plot} data=${data} strokes=${STROKES} heightPx=${HEIGHT_PX} /></figure>`;
}

export function Sparklines() {
  const list = useSignal(samples);
  useEffect(keepSamples, []);
  return html`<section aria-label="Figures of the last minutes" class="sparks">${LINES.map((line) => html`<${Sparkline} key=${line.metric} line=${line} list=${list} />`)}</section>`;
}
