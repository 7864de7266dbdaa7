/** One run: what it does and why, what can be done about it, and everything that it left. */
import { html } from '../vendor/htm-preact.js';
import { countText, moneyText, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { useKeys } from '../core/keys.js';
import { useQuery } from '../core/query.js';
import { change, hrefOf } from '../core/route.js';
import { durationText, msOf, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { ACTIONS, actionsFor, ActionButtons, confirmAction, runTarget } from '../parts/actions.js';
import { EventList } from '../parts/event_list.js';
import { Answer } from '../parts/notice.js';
import { useSelected } from '../parts/selected.js';
import { Age, CardLink, Status } from '../parts/status.js';
import { RunArtifacts } from './run_artifacts.js';
import { RunChange } from './run_change.js';
import { RunOutput } from './run_output.js';
import { RunOverview } from './run_overview.js';
import { Reasons } from './reasons.js';

const EVENTS_SHOWN = 500;
/** Each with its key, and the method without which it isn’t there. */
const ALL_TABS = /** @type {[string, string, string, string][]} */ ([
  ['overview', 'Overview', '1', 'run.get'], ['output', 'Output', '2', 'run.log'], ['change', 'Change', '3', 'run.diff'],
  ['artifacts', 'Artifacts', '4', 'run.get'], ['events', 'Events', '5', 'events.read'], ['why', 'Why', '6', 'run.why'],
]);

/** A link to the runs that have this too, where there are others. @param {Record<string, string>} filter @param {any} text */
const runsWith = (filter, text) => (has('run.list') ? html`<a href=${hrefOf('runs', filter)}>${text}</a>` : text);

/** @param {{run: any}} props */
function Figures({ run }) {
  const present = useSignal(now);
  const tookMs = (msOf(run.ended_at) ?? present) - (msOf(run.started_at) ?? present);
  const { cost_microusd: cost, tokens, turns } = run.used;
  const limit = run.budget;
  const of = (/** @type {number} */ used, /** @type {number} */ most, /** @type {(value: number) => string} */ text) =>
    `${text(used)}${most ? ` of ${text(most)}` : ''}`;
  return html`<dl class="figures">
    <div><dt>took</dt><dd>${durationText(tookMs)}</dd></div>
    <div><dt>started</dt><dd><${Age} time=${run.started_at} /> ago by ${run.actor}</dd></div>
    ${(cost > 0 || limit.cost_microusd > 0) && html`<div><dt>cost</dt><dd>${of(cost, limit.cost_microusd, moneyText)}</dd></div>`}
    ${(tokens > 0 || limit.tokens > 0) && html`<div><dt>tokens</dt><dd>${of(tokens, limit.tokens, countText)}</dd></div>`}
    ${(turns > 0 || limit.turns > 0) && html`<div><dt>turns</dt><dd>${of(turns, limit.turns, countText)}</dd></div>`}
    <div><dt>pipeline</dt><dd>${run.pipeline}</dd></div>
    ${run.project && html`<div><dt>project</dt><dd>${runsWith({ project: run.project }, run.project)}</dd></div>`}
    ${Object.entries(run.labels).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${runsWith({ label: `${name}=${value}` }, value)}</dd></div>`)}
  </dl>`;
}

/** What the log has of the run. @param {{run: any}} props */
function RunEvents({ run }) {
  const from = Math.max(run.started_position, 1);
  const answer = useQuery('events.read', { run_id: run.run_id, from, limit: EVENTS_SHOWN });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ data) => html`
    <${EventList} events=${data.events} />${data.more && html`<p class="faint">The first ${data.events.length} events${has('events.types') && html`, and <a href=${hrefOf('events', { stream: `run/${run.run_id}`, from: String(data.next_from) })}>those that follow</a>`}.</p>`}`}<//>`;
}

/** What run.get doesn't have as its own fields: what the run waits for now. @param {any} run */
function withState(run) {
  const present = run.stations.find((/** @type {any} */ station) => station.station === run.station);
  return { ...run, waiting_for: present?.waiting_for ?? run.waiting_for };
}

/** @param {{params: Record<string, string>}} props */
export function Run({ params: { id, tab = 'overview', ...params } }) {
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
    { keys: 'a', text: 'Approve', run: () => act('approve') },
    { keys: 'p', text: 'Pause', run: () => act('pause') },
    { keys: 'u', text: 'Resume', run: () => act('resume') },
    { keys: 'R', text: 'Retry', run: () => act('retry') },
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
      <button role="tab" id="tab-${name}" key=${name} tabindex=${name === tab ? 0 : -1} aria-selected=${name === tab ? 'true' : 'false'} onClick=${() => change({ tab: name, station: undefined, attempt: undefined })}>${text}</button>`)}</div>
    <div role="tabpanel" aria-label=${TABS.find(([name]) => name === tab)?.[1]}>
      ${tab === 'overview' && html`<${RunOverview} run=${run} />`}
      ${tab === 'output' && has('run.log') && html`<${RunOutput} run=${run} params=${params} />`}
      ${tab === 'change' && has('run.diff') && html`<${RunChange} run=${run} />`}
      ${tab === 'artifacts' && html`<${RunArtifacts} run=${run} />`}
      ${tab === 'events' && html`<${RunEvents} run=${run} />`}
      ${tab === 'why' && html`<${Answer} answer=${why}>${(/** @type {any} */ data) => html`<${Reasons} why=${data} />`}<//>`}
    </div>`}<//></div>`;
}
