/** Who holds which lock, when which loop ticks, and what a crash left. */
import { html, useState } from '../vendor/htm-preact.js';
import { wordsOf } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { clockText, durationText, msOf, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { ACTIONS, actionsFor, ActionButtons, commandLine, TickButton, tickTarget } from '../parts/actions.js';
import { Answer, Command, Commands, Empty, Problem } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { Age, Due, EventLink, RunLink, Status } from '../parts/status.js';

/** What is left of a lease, as a bar that shrinks. @param {{expires?: string, leaseMs: number}} props */
function Lease({ expires, leaseMs }) {
  const present = useSignal(now);
  const leftMs = Math.max(0, (msOf(expires) ?? present) - present);
  const text = expires ? (leftMs ? `${durationText(leftMs)} left` : 'over') : 'not held';
  return html`<span class="lease" role="img" aria-label=${text} title=${text}><i class="tone-${leftMs < leaseMs / 5 ? 'wait' : 'busy'}" style=${{ width: `${Math.min(100, (100 * leftMs) / leaseMs)}%` }}></i></span> <span class="faint">${text}</span>`;
}

function Locks() {
  const answer = useQuery('lock.list', { limit: 200 });
  return html`<section aria-label="Locks"><h2>Locks</h2><${Answer} answer=${answer}>${(data) => data.locks.length === 0
    ? html`<${Empty} text="No lock is held." command="signalbox lock exec KEY -- COMMAND" />`
    : html`<${Rows} label="Locks held" heads=${['lock', 'status', 'owner', 'reason', 'lease', 'waiting']}>
      <tbody>${data.locks.map((/** @type {any} */ lock) => html`<tr key=${lock.key}><td class="cut mono">${lock.key}</td><td><${Status} status=${lock.status} /></td>
        <td class="cut">${lock.owner} ${lock.runs.map((/** @type {any} */ run) => html`<${RunLink} id=${run.run_id ?? run} /> `)}</td><td class="cut wide faint">${lock.reason}</td>
        <td><${Lease} expires=${lock.expires_at} leaseMs=${lock.lease_ms} /></td><td class="number">${lock.waiting || ''}</td></tr>`)}</tbody><//>`}<//></section>`;
}

const TONES = /** @type {Record<string, string>} */ ({ succeeded: 'good', failed: 'bad', timed_out: 'bad', incomplete: 'bad', missed: 'wait', skipped: 'idle', recovered: 'wait' });

/** The ticks of a loop as a strip, the oldest first. @param {{rows: any[]}} props */
function Strip({ rows }) {
  const ticks = rows.filter(({ kind }) => kind !== 'start').reverse();
  return html`<span class="strip" role="img" aria-label="the latest ${ticks.length} ticks, ${ticks.filter(({ outcome }) => outcome === 'failed').length} failed">
    ${ticks.map((tick) => html`<i key=${tick.position} class="tone-${TONES[tick.outcome ?? tick.kind] ?? 'idle'}" title="${clockText(tick.ts)} ${tick.outcome ?? wordsOf(tick.kind)}${tick.error ? `: ${tick.error.message}` : ''}"></i>`)}</span>`;
}

/** The strip of one loop. @param {{name: string}} props */
function Ticks({ name }) {
  const { data, error } = useQuery('tick.list', { loop: name, limit: 100 });
  return data ? html`<${Strip} rows=${data.rows} />` : html`<span aria-busy=${error ? null : 'true'}></span>`;
}

/** Loops that remove nothing; a retention is triggered on the command line, after its plan was read. */
const TRIGGERED_HERE = ['heartbeat', 'synthesizer', 'prune'];

function OwnLoops() {
  const [error, setError] = useState(/** @type {any} */ (null));
  const answer = useQuery('loop.list');
  return html`<section aria-label="Loops of the service"><h2>Loops of the service</h2><${Problem} error=${error} /><${Answer} answer=${answer}>${(data) => (data.loops.length === 0 ? html`<p class="faint">No loop had ticked at that moment; the schedules aren’t in the log.</p>` : html`
    <${Rows} label="Schedules" heads=${['loop', 'schedule', 'next', 'last', 'ticks', 'action']}><tbody>${data.loops.map((/** @type {any} */ loop) => html`<tr key=${loop.loop}>
      <td>${loop.loop}</td><td class="mono">${loop.schedule} <span class="faint">${loop.time_zone}</span></td><td><${Due} time=${loop.next_due_at} /></td><td><${Age} time=${loop.last_due_at} /></td>
      <td class="wide"><${Ticks} name=${loop.loop} /></td>
      <td>${TRIGGERED_HERE.includes(loop.loop) && html`<${TickButton} loop=${loop.loop} onEnd=${setError} />`}</td></tr>`)}</tbody><//>`)}<//></section>`;
}

function OpenTicks() {
  const answer = useQuery('tick.list', { limit: 1 });
  return html`<${Answer} answer=${answer}>${(data) => data.open.length > 0 && html`<section aria-label="Ticks under way"><h2>Ticks under way</h2>
    <${Rows} label="Open ticks" heads=${['loop', 'status', 'stage', 'reason', 'lease', 'event']}><tbody>${data.open.map((/** @type {any} */ tick) => html`<tr key=${tick.loop}>
      <td>${tick.loop}</td><td><${Status} status=${tick.status} /></td><td class="faint">${tick.stage}</td><td class="cut wide faint">${tick.reason}</td>
      <td><${Lease} expires=${tick.expires_at} leaseMs=${tick.lease_ms} /></td><td>${tick.token && html`<${EventLink} position=${tick.token} />`}</td></tr>
      ${tick.status === 'halted' && html`<tr><td colspan="6"><${ActionButtons} actions=${actionsFor('loop', tick)} targets=${[tickTarget(tick)]} small=${true} /> <${Command} command=${commandLine(ACTIONS.recover, tickTarget(tick))} /></td></tr>`}`)}</tbody><//></section>`}<//>`;
}

function CrashReport() {
  const { data, error } = useQuery('server.crash_report');
  if (error?.code === 'ARTIFACT_NOT_FOUND' || data?.report === null) return html`<section aria-label="Latest crash"><h2>Latest crash</h2><p class="faint">The log knows of no crash.</p></section>`;
  return html`<section aria-label="Latest crash"><h2>Latest crash</h2><${Answer} answer=${{ data, error }}>${({ report, recovered_at: position }) => html`
    <p class="faint">${clockText(report.created_at)}, <${EventLink} position=${position} />, ${report.items_total} in flight, ${report.torn_bytes} torn bytes</p>
    <${Rows} label="Verdicts" heads=${['verdict', 'what', 'name', 'evidence']}><tbody>${report.items.map((/** @type {any} */ item) => html`<tr key=${`${item.kind} ${item.token} ${item.name}`}>
      <td class="tone-${item.verdict === 'needs_operator' ? 'bad' : 'idle'}">${wordsOf(item.verdict)}</td><td>${wordsOf(item.kind)}</td><td class="cut mono">${item.name}</td>
      <td class="wide">${item.evidence}<${Commands} commands=${item.next_commands} /></td></tr>`)}</tbody><//>`}<//></section>`;
}

export const Loops = () => html`<div class="page loops"><h1>Locks · Loops</h1><${Locks} /><${OpenTicks} /><${OwnLoops} /><${CrashReport} /></div>`;
