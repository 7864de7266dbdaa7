/** The last minutes of a few metrics as lines. The library for them is loaded only here. */
import { html, useEffect, useRef } from '../vendor/htm-preact.js';
import { keepSamples, samples } from '../core/metrics.js';
import { bytesText, countText } from '../core/figures.js';
import { theme } from '../core/theme.js';
import { useSignal } from '../core/use_signal.js';

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

/** @param {Line} line @param {import('../core/metrics.js').Sample[]} list @returns {number[][]} times and values */
function seriesOf({ metric, isRate }, list) {
  const values = list.map((each) => each.values.get(metric) ?? 0);
  if (!isRate) return [list.map(({ at }) => at), values];
  const rates = values.slice(1).map((value, index) => Math.max(0, value - values[index]) / (list[index + 1].at - list[index].at));
  return [list.slice(1).map(({ at }) => at), rates];
}

/** @param {{line: Line, list: import('../core/metrics.js').Sample[]}} props */
function Sparkline({ line, list }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const chosen = useSignal(theme);
  const data = seriesOf(line, list);
  useEffect(() => {
    let isGone = false;
    import('../vendor/uplot.js').then(({ default: Plot }) => {
      if (isGone || !place.current) return;
      const colour = getComputedStyle(place.current).getPropertyValue('--busy');
      const hidden = { show: false };
      plot.current = new Plot({
        width: place.current.clientWidth, height: HEIGHT_PX, padding: [4, 0, 4, 0], legend: hidden, cursor: hidden,
        scales: { y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, most || 1] } },
        axes: [hidden, hidden], series: [{}, { stroke: colour, width: 1.5, points: hidden }],
      }, data, place.current);
    });
    return () => {
      isGone = true;
      plot.current?.destroy();
    };
  }, [chosen]);
  useEffect(() => plot.current?.setData(data), [list]);
  const last = data[1].at(-1);
  return html`<figure class="spark"><figcaption>${line.name} <b>${last === undefined ? '…' : line.text(last)}</b></figcaption>
    <div ref=${place} class="spark-plot" aria-hidden="true"></div></figure>`;
}

export function Sparklines() {
  const list = useSignal(samples);
  useEffect(keepSamples, []);
  return html`<section aria-label="Figures of the last minutes" class="sparks">${LINES.map((line) => html`<${Sparkline} key=${line.metric} line=${line} list=${list} />`)}</section>`;
}
