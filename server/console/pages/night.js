/** What happened over some hours: figures, what failed, how much waited and worked, and the runs, or who held which lock, as bars over time. */
import { html, useMemo, useRef } from '../vendor/htm-preact.js';
import { countText, moneyText, percentText, plural, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { lastVisit } from '../core/last_visit.js';
import { useQuery } from '../core/query.js';
import { change, hrefOf } from '../core/route.js';
import { between, clockTicks, STEP_NAMES, stepped } from '../core/time_range.js';
import { clockText, durationText, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Brush } from '../parts/brush.js';
import { Choice } from '../parts/filter_field.js';
import { linesOf, MarkWords, useMarks } from '../parts/marks.js';
import { Answer, Empty } from '../parts/notice.js';
import { reportSentence } from '../parts/report_sentence.js';
import { Rows } from '../parts/rows.js';
import { EventLink, RunLink } from '../parts/status.js';
import { VirtualList } from '../parts/virtual_list.js';
import { Plot } from './plot.js';

const ROW_PX = 24;
const ROWS_SHOWN = 500;
const TONES = /** @type {Record<string, string>} */ ({ succeeded: 'good', failed: 'bad', running: 'busy', paused: 'wait', queued: 'idle', canceled: 'idle', held: 'busy', released: 'good', expired: 'bad' });

/** Shows a part of the time; the address has it. @param {import('../core/time_range.js').Range} range */
const choose = ({ from, to }) => change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });

/** Says how many runs or holds there are. @param {{runs?: number, holds?: number}} of */
const countOf = ({ runs, holds }) => (holds === undefined ? plural(runs ?? 0, 'run') : plural(holds, 'hold'));

/** @typedef {{style: string, title: string, kind: string, href?: string}} Drawn */
/**
 * What is drawn of the bars of a row, of one answer: a scroll shows rows again and again, and texts and
 * places are made of a row when it is first seen.
 * @type {WeakMap<any[], Drawn[]>}
 */
const drawn = new WeakMap();

/** @param {any} row @param {number} from @param {number} whole @returns {Drawn[]} */
function drawnOf({ name, bars }, from, whole) {
  const known = drawn.get(bars);
  if (known) return known;
  const made = bars.map((/** @type {any} */ bar) => {
    const [began, ended] = [Date.parse(bar.from), Date.parse(bar.to)];
    // What reaches beyond the time on screen is cut.
    const begin = Math.max(0, (began - from) / whole);
    const width = Math.min(1, (ended - from) / whole) - begin;
    return {
      style: `left: ${percentText(begin)}; width: max(2px, ${percentText(width)})`,
      title: `${bar.owner ? `${bar.owner}: ` : ''}${(bar.runs ?? bar.holds) > 1 ? countOf(bar) : wordsOf(bar.status)} ${clockText(bar.from)}, ${durationText(ended - began)}${bar.token ? `, token #${bar.token}` : ''}`,
      kind: `fall-bar tone-${TONES[bar.status] ?? 'idle'}`,
      href: bar.holds ? hrefOf('events', { stream: `lock/${name}`, from: bar.token }) : bar.run_id && hrefOf('run', { id: bar.run_id }),
    };
  });
  drawn.set(bars, made);
  return made;
}

/** The bars of one row. A link's title is its name too. @param {{row: any, from: number, whole: number}} props */
function Bars({ row, from, whole }) {
  return html`<span class="fall-track" role="cell">${drawnOf(row, from, whole).map(({ style, title, kind, href }) =>
    (href ? html`<a class=${kind} style=${style} title=${title} draggable=${false} href=${href}></a>` : html`<i class=${kind} style=${style} title=${title}></i>`))}</span>`;
}

/** @param {{from: string, to?: string, group: string}} props */
function Timeline({ from: asked, to: until, group }) {
  const answer = useQuery('timeline.get', { from: asked, ...(until ? { to: until } : {}), group, max_rows: ROWS_SHOWN });
  // What was there stays until the next part is: who goes on by keys keeps the focus.
  const kept = useRef(/** @type {any} */ (undefined));
  if (answer.data) kept.current = answer.data;
  const marks = useMarks(kept.current?.from, kept.current?.to);
  return html`<${Answer} answer=${{ error: answer.error, data: kept.current }}>${(/** @type {any} */ data) => {
    const range = { from: Date.parse(data.from), to: Date.parse(data.to) };
    const wanted = { from: Date.parse(asked), to: Date.parse(until ?? '') };
    const next = (/** @type {string} */ step) => stepped(Number.isFinite(wanted.to - wanted.from) ? wanted : range, step, now.peek());
    const isOfLocks = data.holds_total !== undefined;
    const rows = data.rows.map((/** @type {any} */ row) => ({ key: row.name, ...row }));
    return html`<p class="kinds" aria-busy=${answer.data || answer.error ? null : 'true'}><span>${countOf({ runs: data.runs_total, holds: data.holds_total })}</span><span>${clockText(data.from)} to ${clockText(data.to)}</span> <${MarkWords} marks=${marks} />
        ${data.rows_total > data.rows.length && html`<span>the latest ${countText(data.rows.length)} of ${countText(data.rows_total)} rows</span>`}</p>
      <div class="filters"><span class="choice" role="group" aria-label="time on screen">${STEP_NAMES.map((step) => html`<button class="chip" key=${step} onClick=${() => choose(next(step))}>${step}</button>`)}
          ${until && html`<button class="chip" onClick=${() => change({ from: undefined, to: undefined })}>all of it</button>`}</span></div>
      ${rows.length === 0 ? html`<${Empty} text=${`No ${isOfLocks ? 'lock was held' : 'run was there'} in this time.`} command=${isOfLocks ? 'signalbox lock list' : 'signalbox run list'} />`
    : html`<${Brush} class="timeline" style=${{ '--marks': linesOf(marks, (ms) => (ms - range.from) / Math.max(1, range.to - range.from)) }} onChoose=${(/** @type {number} */ one, /** @type {number} */ other) => choose(between(range, one, other, now.peek()))}><${VirtualList} rows=${rows} rowPx=${ROW_PX} isReused=${true} label=${isOfLocks ? 'Locks over time' : 'Runs over time'} row=${(/** @type {any} */ row) => html`
        <span class="timeline-name cut" role="cell" title=${row.goal ?? row.name}>${row.goal ?? row.name}</span><${Bars} row=${row} from=${range.from} whole=${Math.max(1, range.to - range.from)} />`} /><//>`}`;
  }}<//>`;
}

const PERIODS = ['1h', '8h', '12h', '24h', '168h'];
/** A span is some pixels of the charts. */
const SPANS = 240;
const GROUPS = ['run', 'project', 'pipeline', 'worker', 'lock'];

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
 * Returns the times of a series, and its numbers by field. The last one is that at the period's end: a span has the
 * greatest of it.
 * @param {any} report @returns {{times: number[], of: (field: string) => number[]}}
 */
function seriesOf({ since, until, over_time: series }) {
  const [begin, end] = [Date.parse(since), Date.parse(until)];
  const times = series.waiting.map((/** @type {number} */ _, /** @type {number} */ span) => begin + span * series.span_ms);
  return { times: [...times, Math.max(end, times.at(-1) + 1)], of: (field) => [...series[field], series[`${field}_now`] ?? series[field].at(-1)].map(Number) };
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
