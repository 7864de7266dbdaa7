/** One run: what it does and why, what can be done about it, and everything that it left. */
import { html } from '../vendor/htm-preact.js';
import { countText, moneyText, tailOf, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { useKeys } from '../core/keys.js';
import { useQuery } from '../core/query.js';
import { change, hrefOf } from '../core/route.js';
import { durationText, now, tookMs } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { ActionButtons, actionKeys, ACTIONS, actionsFor, confirmAction, runTarget } from '../parts/actions.js';
import { EventList } from '../parts/event_list.js';
import { Answer, Command } from '../parts/notice.js';
import { Facts, Rows } from '../parts/rows.js';
import { useSelected } from '../parts/selected.js';
import { Age, CardLink, EventLink, Status } from '../parts/status.js';
import { Waterfall } from '../parts/waterfall.js';
import { Reasons } from './reasons.js';
import { RunArtifacts, saveFile } from './run_artifacts.js';
import { RunChange } from './run_change.js';
import { RunOutput } from './run_output.js';

function Attempt(/** @type {{run: any, station: any, attempt: any}} */ { run, station, attempt }) {
  const present = useSignal(now);
  const cost = attempt.usage?.cost_microusd;
  return html`<tr><td class="number">${attempt.attempt}</td><td><${Status} status=${attempt.status} text=${attempt.outcome && wordsOf(attempt.outcome)} /></td>
    <td class="cut wide">${attempt.error ? html`<span class="tone-bad">${attempt.error.code}</span> ${attempt.error.message}` : attempt.summary ?? attempt.strategy}</td>
    <td class="faint cut">${attempt.worker}</td><td class="number">${cost ? moneyText(cost) : ''}</td><td class="number">${durationText(tookMs(attempt, present))}</td>
    <td>${attempt.job_id && has('run.log') && html`<a href=${hrefOf('run', { id: run.run_id, tab: 'output', station: station.station, attempt: String(attempt.attempt) })}>output</a>`}</td>
    <td>${attempt.token && html`<${EventLink} position=${attempt.token} />`}</td></tr>`;
}

function Station(/** @type {{run: any, station: any}} */ { run, station }) {
  const { decided } = station;
  return html`<tbody><tr class="station"><th scope="rowgroup" colspan="8"><${Status} status=${station.waiting_for ? 'waiting' : station.status}
      text=${station.waiting_for && `waits: ${wordsOf(station.waiting_for)}`} /> ${station.station} <span class="faint">${station.executor}</span>
      ${station.waiting_note && html` <span class="faint">${station.waiting_note}</span>`}
      ${decided && html` <span class="faint">${decided.decision === 'approve' ? 'approved' : 'rejected'} by ${decided.actor}${decided.reason ? `: ${decided.reason}` : ''}</span>`}</th></tr>
    ${station.attempts.map((/** @type {any} */ attempt) => html`<${Attempt} key=${attempt.attempt} run=${run} station=${station} attempt=${attempt} />`)}</tbody>`;
}

const MS_US = 1000;

/**
 * Returns the trace of a run in Chrome's format, which Perfetto opens as well: each span a slice, each event of it an instant. Steps
 * and attempts have rows of their own, for they may overlap.
 * @param {any} trace the result of run.trace
 */
function chromeTrace({ run_id: id, as_of: asOf, spans }) {
  const timeOf = (/** @type {string} */ time) => Date.parse(time) * MS_US;
  const rows = ['run', 'attempt', 'step'];
  const events = [{ ph: 'M', pid: 1, name: 'process_name', args: { name: `run ${id}` } },
    ...rows.map((name, row) => ({ ph: 'M', pid: 1, tid: row + 1, name: 'thread_name', args: { name } }))];
  for (const span of spans) {
    const begin = timeOf(span.started_at);
    const place = { pid: 1, tid: rows.indexOf(span.kind === 'usage' ? 'attempt' : span.kind) + 1 };
    events.push(/** @type {any} */ ({
      ph: 'X', ...place, name: span.name, cat: span.kind, ts: begin, dur: timeOf(span.ended_at ?? asOf) - begin,
      args: { status: span.status, ...(span.message ? { message: span.message } : {}), ...span.attributes },
    }));
    for (const event of span.events) {
      events.push(/** @type {any} */ ({ ph: 'i', s: 't', ...place, name: event.name, ts: timeOf(event.at), args: event.attributes }));
    }
  }
  return { displayTimeUnit: 'ms', traceEvents: events };
}

const saveTrace = (/** @type {any} */ trace) =>
  saveFile(new Blob([JSON.stringify(chromeTrace(trace))], { type: 'application/json' }), `run-${trace.run_id}.json`);

function RunOverview(/** @type {{run: any}} */ { run }) {
  const trace = useQuery('run.trace', { run_id: run.run_id });
  return html`<${Rows} label="Stations and attempts" heads=${['attempt', 'status', 'result', 'worker', 'cost', 'took', 'output', 'event']} isHeadUnseen=${true} kind="stations">
      ${run.stations.map((/** @type {any} */ station) => html`<${Station} key=${station.station} run=${run} station=${station} />`)}<//>
    <div class="over-time"><${Answer} answer=${trace}>${(data) => html`<${Waterfall} trace=${data} hasParts=${true} />
      <p class="actions"><button class="small" onClick=${() => saveTrace(data)}>Save as a trace for Perfetto</button></p>`}<//></div>
    ${has('run.list') && html`<p class="faint">As a capsule, one file that proves itself, with the key of the log, beside the service: <${Command} command=${`signalbox run export ${run.run_id} --artifacts --signing-key audit.key -o run-${tailOf(run.run_id)}.capsule`} /></p>
      <p class="faint">Files of the run: <code>${run.run_root}</code>${run.repository ? html`, repository <code>${run.repository}</code>` : ''}${run.files_removed ? ', removed since' : ''}</p>`}`;
}

const EVENTS_SHOWN = 500;
/** Each with its key, and the method without which it isn’t there. */
const ALL_TABS = /** @type {[string, string, string, string][]} */ ([
  ['overview', 'Overview', '1', 'run.get'], ['output', 'Output', '2', 'run.log'], ['change', 'Change', '3', 'run.diff'],
  ['artifacts', 'Artifacts', '4', 'run.get'], ['events', 'Events', '5', 'events.read'], ['why', 'Why', '6', 'run.why'],
]);

/** A link to the runs that have this too, where there are others. @param {Record<string, string>} filter @param {any} text */
const runsWith = (filter, text) => (has('run.list') ? html`<a href=${hrefOf('runs', filter)}>${text}</a>` : text);

function Figures(/** @type {{run: any}} */ { run }) {
  const present = useSignal(now);
  const { cost_microusd: cost, tokens, turns } = run.used;
  const limit = run.budget;
  const of = (/** @type {number} */ used, /** @type {number} */ most, /** @type {(value: number) => string} */ text) =>
    (used > 0 || most > 0) && `${text(used)}${most ? ` of ${text(most)}` : ''}`;
  return html`<${Facts} of=${[
    ['took', durationText(tookMs(run, present))], ['started', html`<${Age} time=${run.started_at} /> ago by ${run.actor}`],
    ['cost', of(cost, limit.cost_microusd, moneyText)], ['tokens', of(tokens, limit.tokens, countText)], ['turns', of(turns, limit.turns, countText)],
    ['pipeline', run.pipeline], ['project', run.project && runsWith({ project: run.project }, run.project)],
    ...Object.entries(run.labels).map(([name, value]) => [name, runsWith({ label: `${name}=${value}` }, value)]),
  ]} />`;
}

/** What the log has of the run. @param {{run: any}} props */
function RunEvents({ run }) {
  const from = Math.max(run.started_position, 1);
  const answer = useQuery('events.read', { run_id: run.run_id, from, limit: EVENTS_SHOWN });
  return html`<${Answer} answer=${answer}>${(data) => html`
    <${EventList} events=${data.events} />${data.more && html`<p class="faint">The first ${data.events.length} events${has('events.types') && html`, and <a href=${hrefOf('events', { stream: `run/${run.run_id}`, from: String(data.next_from) })}>those that follow</a>`}.</p>`}`}<//>`;
}

/** What run.get doesn't have as its own fields: what the run waits for now. @param {any} run */
function withState(run) {
  const present = run.stations.find((/** @type {any} */ station) => station.station === run.station);
  return { ...run, waiting_for: present?.waiting_for ?? run.waiting_for };
}

export function Run(/** @type {{params: Record<string, string>}} */ { params: { id, tab = 'overview', ...params } }) {
  const TABS = ALL_TABS.filter(([, , , needs]) => has(needs));
  const answer = useQuery('run.get', { run_id: id });
  const why = useQuery(has('run.why') ? 'run.why' : null, { run_id: id });
  const run = answer.data && withState(answer.data.run);
  const target = run && runTarget(run);
  useSelected('run', run, answer.data);
  const act = (/** @type {string} */ name) => run && has('run.list') && ACTIONS[name].allows(run) && confirmAction(ACTIONS[name], [target]);
  useKeys([
    ...TABS.map(([name, text, key]) => ({ keys: key, text, run: () => change({ tab: name }) })),
    ...(has('run.why') ? [{ keys: 'w', text: 'Why', run: () => change({ tab: 'why' }) }] : []),
    ...actionKeys(act),
  ], [answer.data]);
  // As in every list of tabs: one of them is a stop, and the arrows go through all.
  const onTabKey = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = TABS.map(([name]) => name);
    const next = names[(names.indexOf(tab) + step + names.length) % names.length];
    change({ tab: next, station: undefined, attempt: undefined });
    document.getElementById(`tab-${next}`)?.focus();
    event.preventDefault();
  };
  return html`<div class="page run"><${Answer} answer=${answer}>${() => html`
    <div class="head"><div class="run-title"><span class="faint">${has('run.list') && html`<a href=${hrefOf('runs')}>Runs</a> / `}<span class="id">${id}</span></span>
      <h1>${run.goal}</h1></div>
      ${has('run.list') && html`<${ActionButtons} actions=${actionsFor('run', run)} targets=${[target]} />`}</div>
    <p class="sentence" aria-busy=${why.data || why.error || !has('run.why') ? null : 'true'}><${Status} status=${run.status} /> ${why.data?.reasons[0]?.text ?? (has('run.why') ? wordsOf(run.status) : '')}
      ${why.data?.card && html` · works on <${CardLink} id=${why.data.card.card_id} text=${why.data.card.title} />`}</p>
    <${Figures} run=${run} />
    <div class="tabs" role="tablist" aria-label="About the run" onKeyDown=${onTabKey}>${TABS.map(([name, text]) => html`
      <button role="tab" id="tab-${name}" key=${name} tabindex=${name === tab ? 0 : -1} aria-selected=${name === tab} onClick=${() => change({ tab: name, station: undefined, attempt: undefined })}>${text}</button>`)}</div>
    <div role="tabpanel" aria-label=${TABS.find(([name]) => name === tab)?.[1]}>
      ${tab === 'overview' && html`<${RunOverview} run=${run} />`}
      ${tab === 'output' && has('run.log') && html`<${RunOutput} run=${run} params=${params} />`}
      ${tab === 'change' && has('run.diff') && html`<${RunChange} run=${run} />`}
      ${tab === 'artifacts' && html`<${RunArtifacts} run=${run} />`}
      ${tab === 'events' && html`<${RunEvents} run=${run} />`}
      ${tab === 'why' && html`<${Answer} answer=${why}>${(data) => html`<${Reasons} why=${data} />`}<//>`}
    </div>`}<//></div>`;
}
