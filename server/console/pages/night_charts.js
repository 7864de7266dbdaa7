/** How many runs waited, how many attempts were at work and what was spent, over the time of a report. */
import { html, useMemo } from '../vendor/htm-preact.js';
import { countText, moneyText } from '../core/figures.js';
import { clockTicks } from '../core/time_range.js';
import { clockText } from '../core/time_text.js';
import { Plot } from './plot.js';

const CHART_PX = 110;
const LINES = [{ field: 'waiting', name: 'runs that wait', tone: 'wait' }, { field: 'at_work', name: 'attempts at work', tone: 'busy' }];
const STROKES = LINES.map(({ tone }) => ({ colour: `--${tone}`, width: 2 }));
const MONEY = [{ colour: '--idle', width: 2 }];
/** Of a shorter period the seconds matter. */
const MINUTES_MS_MIN = 600_000;

/** Returns a time of day, without the day. @param {number} ms @param {number} length of its text */
const hourText = (ms, length) => clockText(new Date(ms).toISOString()).split(' ').at(-1)?.slice(0, length) ?? '';
/** Returns a round amount in as few digits as it has. */
const roundMoney = (/** @type {number} */ microusd) => `$${microusd / 1e6}`;

/**
 * Returns the times of a series, and its numbers by field. The last number holds until the period's end.
 * @param {any} report @returns {{times: number[], of: (field: string) => number[]}}
 */
function seriesOf({ since, until, over_time: series }) {
  const [begin, end] = [Date.parse(since), Date.parse(until)];
  const times = series.waiting.map((/** @type {number} */ _, /** @type {number} */ span) => begin + span * series.span_ms);
  return { times: [...times, Math.max(end, times.at(-1) + 1)], of: (field) => [...series[field], series[field].at(-1)].map(Number) };
}

/** @param {{report: any}} props an answer of report.get with spans */
export function NightCharts({ report }) {
  const { times, of } = useMemo(() => seriesOf(report), [report]);
  const axes = useMemo(() => ({ textX: (/** @type {number} */ ms) => hourText(times[0] + ms, times[times.length - 1] - times[0] < MINUTES_MS_MIN ? 'hh:mm:ss'.length : 'hh:mm'.length), ticksX: clockTicks,
    textY: (/** @type {number} */ value) => (Number.isInteger(value) ? countText(value) : '') }), [times]);
  const work = useMemo(() => [times, ...LINES.map(({ field }) => of(field))], [times]);
  const money = useMemo(() => [times, of('cost_microusd')], [times]);
  const spent = money[1].at(-1) ?? 0;
  return html`<div class="charts night-charts">
    <figure class="chart"><figcaption>${LINES.map(({ field, name, tone }, at) => html`<span key=${field} class="histories"><span class="tone-${tone}"><i></i></span> <span>${name} <span class="faint">at most ${countText(Math.max(...work[at + 1]))}, now ${countText(work[at + 1].at(-1) ?? 0)}</span></span></span>`)}</figcaption>
      <${Plot} data=${work} strokes=${STROKES} heightPx=${CHART_PX} axes=${axes} /></figure>
    ${spent > 0 && html`<figure class="chart"><figcaption>spent <span class="faint">${moneyText(spent)}</span></figcaption>
      <${Plot} data=${money} strokes=${MONEY} heightPx=${CHART_PX} axes=${{ ...axes, textY: roundMoney }} /></figure>`}</div>`;
}
