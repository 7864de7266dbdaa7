/** What happened over some hours: figures, what failed, and the runs as bars over time. */
import { html } from '../vendor/htm-preact.js';
import { countText, plural, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { useQuery } from '../core/query.js';
import { change, hrefOf } from '../core/route.js';
import { clockText, durationText } from '../core/time_text.js';
import { Answer, Empty } from '../parts/notice.js';
import { reportSentence } from '../parts/report_sentence.js';
import { Rows } from '../parts/rows.js';
import { EventLink, RunLink } from '../parts/status.js';
import { VirtualList } from '../parts/virtual_list.js';

const PERIODS = ['1h', '8h', '12h', '24h', '168h'];
const GROUPS = ['run', 'project', 'pipeline', 'worker'];
const ROW_PX = 24;
const ROWS_SHOWN = 500;
const TONES = /** @type {Record<string, string>} */ ({ succeeded: 'good', failed: 'bad', running: 'busy', paused: 'wait', queued: 'idle', canceled: 'idle' });

const percent = (/** @type {number} */ part) => `${(100 * part).toFixed(3)}%`;

/** @param {{since: string}} props */
function Report({ since }) {
  const answer = useQuery('report.get', { since });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ report) => html`<p class="sentence">${reportSentence(report)}</p>
    ${report.failures.length > 0 && html`<${Rows} label="Failures" heads=${['code', 'runs', 'attempts', 'latest']}><tbody>${report.failures.map((/** @type {any} */ failure) => html`<tr key=${failure.code}>
      <td class="tone-bad">${wordsOf(failure.code)}</td><td class="number">${failure.runs}</td><td class="number">${failure.attempts}</td>
      <td class="wide cut">${failure.latest && html`<${RunLink} id=${failure.latest.run_id} text=${failure.latest.goal} /> <span class="faint">${failure.latest.station}</span> <${EventLink} position=${failure.latest.position} />`}</td></tr>`)}</tbody><//>`}`}<//>`;
}

/** The bars of one row. @param {{row: any, from: number, whole: number}} props */
function Bars({ row, from, whole }) {
  return html`<span class="fall-track" role="cell">${row.bars.map((/** @type {any} */ bar) => {
    const begin = (Date.parse(bar.from) - from) / whole;
    const width = (Date.parse(bar.to) - Date.parse(bar.from)) / whole;
    const style = { left: percent(begin), width: `max(2px, ${percent(width)})` };
    const title = `${bar.runs > 1 ? plural(bar.runs, 'run') : wordsOf(bar.status)} ${clockText(bar.from)}, ${durationText(Date.parse(bar.to) - Date.parse(bar.from))}`;
    const kind = `fall-bar tone-${TONES[bar.status] ?? 'idle'}`;
    return bar.run_id ? html`<a class=${kind} style=${style} title=${title} aria-label=${title} href=${hrefOf('run', { id: bar.run_id })}></a>` : html`<i class=${kind} style=${style} title=${title}></i>`;
  })}</span>`;
}

/** @param {{since: string, group: string}} props */
function Timeline({ since, group }) {
  const answer = useQuery('timeline.get', { from: since, group, max_rows: ROWS_SHOWN });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ data) => {
    const from = Date.parse(data.from);
    const whole = Math.max(1, Date.parse(data.to) - from);
    if (data.rows.length === 0) return html`<${Empty} text="No run was there in this time." command="signalbox run list" />`;
    const rows = data.rows.map((/** @type {any} */ row) => ({ key: row.name, ...row }));
    return html`<p class="kinds"><span>${plural(data.runs_total, 'run')}</span><span>${clockText(data.from)} to ${clockText(data.to)}</span>
        ${data.rows_total > data.rows.length && html`<span>the latest ${countText(data.rows.length)} of ${countText(data.rows_total)} rows</span>`}</p>
      <div class="timeline"><${VirtualList} rows=${rows} rowPx=${ROW_PX} label="Runs over time" row=${(/** @type {any} */ row) => html`
        <span class="timeline-name cut" role="cell" title=${row.goal ?? row.name}>${row.goal ?? row.name}</span><${Bars} row=${row} from=${from} whole=${whole} />`} /></div>`;
  }}<//>`;
}

/** @param {{name: string, values: string[], chosen: string}} props */
function Choice({ name, values, chosen }) {
  return html`<span class="choice" role="group" aria-label=${name}>${values.map((value) => html`<button class="chip" key=${value} aria-pressed=${value === chosen ? 'true' : 'false'}
    onClick=${() => change({ [name]: value })}>${value}</button>`)}</span>`;
}

/** @param {{params: Record<string, string>}} props */
export function Night({ params: { since = '12h', group = 'run' } }) {
  return html`<div class="page night filled"><div class="head"><h1>Night</h1></div>
    <div class="filters"><${Choice} name="since" values=${PERIODS} chosen=${since} /><${Choice} name="group" values=${GROUPS} chosen=${group} /></div>
    ${has('report.get') && html`<${Report} since=${since} />`}<${Timeline} since=${since} group=${group} /></div>`;
}
