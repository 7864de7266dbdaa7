/** The stations of the run with their attempts, and the run over time. */
import { html } from '../vendor/htm-preact.js';
import { chromeTrace } from '../core/chrome_trace.js';
import { has } from '../core/identity.js';
import { hrefOf } from '../core/route.js';
import { saveFile } from '../core/save_file.js';
import { useQuery } from '../core/query.js';
import { moneyText, wordsOf } from '../core/figures.js';
import { durationText, msOf, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Answer } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { EventLink, Status } from '../parts/status.js';
import { Waterfall } from '../parts/waterfall.js';

/** @param {{run: any, station: any, attempt: any}} props */
function Attempt({ run, station, attempt }) {
  const present = useSignal(now);
  const tookMs = (msOf(attempt.ended_at) ?? present) - (msOf(attempt.started_at) ?? present);
  const cost = attempt.usage?.cost_microusd;
  return html`<tr><td class="number">${attempt.attempt}</td><td><${Status} status=${attempt.status} text=${attempt.outcome && wordsOf(attempt.outcome)} /></td>
    <td class="cut wide">${attempt.error ? html`<span class="tone-bad">${attempt.error.code}</span> ${attempt.error.message}` : attempt.summary ?? attempt.strategy}</td>
    <td class="faint cut">${attempt.worker}</td><td class="number">${cost ? moneyText(cost) : ''}</td><td class="number">${durationText(tookMs)}</td>
    <td>${attempt.job_id && has('run.log') && html`<a href=${hrefOf('run', { id: run.run_id, tab: 'output', station: station.station, attempt: String(attempt.attempt) })}>output</a>`}</td>
    <td>${attempt.token && html`<${EventLink} position=${attempt.token} />`}</td></tr>`;
}

/** @param {{run: any, station: any}} props */
function Station({ run, station }) {
  const { decided } = station;
  return html`<tbody><tr class="station"><th scope="rowgroup" colspan="8"><${Status} status=${station.waiting_for ? 'waiting' : station.status}
      text=${station.waiting_for && `waits: ${wordsOf(station.waiting_for)}`} /> ${station.station} <span class="faint">${station.executor}</span>
      ${station.waiting_note && html` <span class="faint">${station.waiting_note}</span>`}
      ${decided && html` <span class="faint">${decided.decision === 'approve' ? 'approved' : 'rejected'} by ${decided.actor}${decided.reason ? `: ${decided.reason}` : ''}</span>`}</th></tr>
    ${station.attempts.map((/** @type {any} */ attempt) => html`<${Attempt} key=${attempt.attempt} run=${run} station=${station} attempt=${attempt} />`)}</tbody>`;
}

const saveTrace = (/** @type {any} */ trace) =>
  saveFile(new Blob([JSON.stringify(chromeTrace(trace))], { type: 'application/json' }), `run-${trace.run_id}.json`);

/** @param {{run: any}} props */
export function RunOverview({ run }) {
  const trace = useQuery('run.trace', { run_id: run.run_id });
  return html`<${Rows} label="Stations and attempts" heads=${['attempt', 'status', 'result', 'worker', 'cost', 'took', 'output', 'event']} isHeadUnseen=${true} kind="stations">
      ${run.stations.map((/** @type {any} */ station) => html`<${Station} key=${station.station} run=${run} station=${station} />`)}<//>
    <div class="over-time"><${Answer} answer=${trace}>${(/** @type {any} */ data) => html`<${Waterfall} trace=${data} hasParts=${true} />
      <p class="actions"><button class="small" onClick=${() => saveTrace(data)}>Save as a trace for Perfetto</button></p>`}<//></div>
    ${has('run.list') && html`<p class="faint">Files of the run: <code>${run.run_root}</code>${run.repository ? html`, repository <code>${run.repository}</code>` : ''}${run.files_removed ? ', removed since' : ''}</p>`}`;
}
