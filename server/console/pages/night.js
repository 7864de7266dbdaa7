/** What happened over some hours: figures, what failed, how much waited and worked, and the runs as bars over time. */
import { html, useMemo } from '../vendor/htm-preact.js';
import { countText, moneyText, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { lastVisit } from '../core/last_visit.js';
import { useQuery } from '../core/query.js';
import { change } from '../core/route.js';
import { clockTicks } from '../core/time_range.js';
import { clockText } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Choice } from '../parts/filter_field.js';
import { Answer } from '../parts/notice.js';
import { reportSentence } from '../parts/report_sentence.js';
import { Rows } from '../parts/rows.js';
import { EventLink, RunLink } from '../parts/status.js';
import { Timeline } from './night_timeline.js';
import { Plot } from './plot.js';

const PERIODS = ['1h', '8h', '12h', '24h', '168h'];
/** A span is some pixels of the charts. */
const SPANS = 240;
const GROUPS = ['run', 'project', 'pipeline', 'worker'];

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

/** How many runs waited, how many attempts were at work and what was spent. @param {{report: any}} props an answer of report.get with spans */
function NightCharts({ report }) {
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

/** @param {{since: string}} props */
function Report({ since }) {
  const answer = useQuery('report.get', { since, spans: SPANS });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ report) => html`<p class="sentence">${reportSentence(report)}</p>
    ${report.failures.length > 0 && html`<${Rows} label="Failures" heads=${['code', 'runs', 'attempts', 'latest']} kind="failures"><tbody>${report.failures.map((/** @type {any} */ failure) => html`<tr key=${failure.code}>
      <td class="tone-bad">${wordsOf(failure.code)}</td><td class="number">${failure.runs}</td><td class="number">${failure.attempts}</td>
      <td class="wide cut">${failure.latest && html`<${RunLink} id=${failure.latest.run_id} text=${failure.latest.goal} /> <span class="faint">${failure.latest.station}</span> <${EventLink} position=${failure.latest.position} />`}</td></tr>`)}</tbody><//>`}
    <${NightCharts} report=${report} />`}<//>`;
}

/** @param {{params: Record<string, string>}} props */
export function Night({ params: { since = '12h', group = 'run', from = '', to = '' } }) {
  const before = useSignal(lastVisit);
  return html`<div class="page night filled"><div class="head"><h1>Night</h1></div>
    <div class="filters"><${Choice} name="since" values=${PERIODS} chosen=${since} others=${{ from: undefined, to: undefined }} />${before && html`<button class="chip" aria-pressed=${since === before ? 'true' : 'false'} title=${clockText(before)}
        onClick=${() => change({ from: undefined, to: undefined, since: before })}>since you were here last</button>`}<${Choice} name="group" values=${GROUPS} chosen=${group} /></div>
    ${has('report.get') && html`<${Report} since=${since} />`}<${Timeline} from=${from && to ? from : since} to=${from && to ? to : undefined} group=${group} /></div>`;
}
