/** All runs: filters in the address, a virtual list, and actions on many of them. */
import { html, useRef, useState } from '../vendor/htm-preact.js';
import { countText, plural, tailOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { movingKeys, useKeys } from '../core/keys.js';
import { moment, useSettledMoment } from '../core/past.js';
import { useQuery } from '../core/query.js';
import { change, go, hrefOf } from '../core/route.js';
import { useRunPages } from '../core/run_pages.js';
import { durationText, now, tookMs } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { ACTIONS, ActionButtons, actionKeys, confirmAction, MethodButton, runTarget } from '../parts/actions.js';
import { openDialog } from '../parts/dialog.js';
import { Choice, FilterField } from '../parts/filter_field.js';
import { Asking, Empty, Problem } from '../parts/notice.js';
import { useHeldRow, useSelected } from '../parts/selected.js';
import { Age, RunState, StationBoxes, Status } from '../parts/status.js';
import { VirtualList } from '../parts/virtual_list.js';
import { StartRun } from './new_work.js';

const STATUSES = ['queued', 'running', 'paused', 'succeeded', 'failed', 'canceled'];
/** Ages, which count from the moment on screen. */
const PERIODS = /** @type {Record<string, string>} */ ({ '1 h': '1h', '12 h': '12h', '7 d': '168h' });
const WAITS = ['approval', 'budget', 'backoff', 'deferred', 'stalled', 'quota'];
const CHOSEN_MAX = 500;
/** No goal in the list is longer. */
const TEXT_LENGTH_MAX = 256;
/** May be the end of an id, or a word. */
const ID_TAIL = /^[0-9a-f-]{4,36}$/i;

/** @param {Record<string, string>} params of the address @returns {Record<string, string>} of run.list */
function filterOf({ since, text, ...params }) {
  const filter = /** @type {Record<string, string>} */ ({});
  for (const name of ['status', 'project', 'label', 'waiting_for', 'station', 'code']) if (params[name]) filter[name] = params[name];
  if (text) filter.text = text.slice(0, TEXT_LENGTH_MAX);
  if (Object.hasOwn(PERIODS, since)) filter.since = PERIODS[since];
  return filter;
}

/** How long a run took, or takes so far. @param {{run: any}} props */
function Took({ run }) {
  return html`${durationText(tookMs(run, useSignal(now)))}`;
}

/**
 * How many runs there are of each status, of all that match where the service counts them: it looks at so many and
 * no more. That takes longer than the first rows, which are asked for before.
 * @param {{rows: any[], isWhole: boolean, isOld: boolean, filter: Record<string, string>}} props `isOld`: other rows
 *   are about to come
 */
function Counts({ rows, isWhole, isOld, filter: { status: wanted, ...filter } }) {
  const question = isWhole ? '' : JSON.stringify(filter);
  const isSettled = useSettledMoment() === useSignal(moment);
  const answer = useQuery(isWhole || isOld || !isSettled ? null : 'run.list', { ...filter, totals: true, limit: 1 });
  const kept = useRef({ question, data: /** @type {any} */ (undefined) });
  if (answer.data || kept.current.question !== question) kept.current = { question, data: answer.data };
  const { data } = kept.current;
  const counts = new Map(STATUSES.map((status) => [status, wanted && status !== wanted ? 0 : data?.totals[status] ?? 0]));
  if (!data) for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  return html`<p class="kinds">${[...counts].filter(([, count]) => count > 0).map(([status, count]) =>
    html`<span><${Status} status=${status} text=${`${countText(count)}${isWhole || data ? '' : '+'} ${status}`} /></span>`)}</p>`;
}

/** The run whose id ends with the text, which may be any of the newest. @param {{tail: string}} props */
function RunOfId({ tail }) {
  const { data, error } = useQuery('run.find', { id: tail });
  if (error?.code === 'AMBIGUOUS_ID') return html`<p class="faint">Several ids of runs end with ${tail}: more of its digits name one.</p>`;
  if (!data || error) return null;
  return html`<p>The id of <a class="id" href=${hrefOf('run', { id: data.run_id })}>run ${tailOf(data.run_id)}</a> ends with ${tail}.</p>`;
}

export function Runs(/** @type {{params: Record<string, string>}} */ { params }) {
  const filter = filterOf(params);
  const { rows, isWhole, isOld, error, more } = useRunPages(filter);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const shown = (rows ?? []).map((run) => ({ key: run.run_id, ...run }));
  const [at, setAt, moves] = useHeldRow(shown.map(({ key }) => key));
  const run = shown[at];
  useSelected('run', rows?.[at]);
  const chosenRuns = shown.filter(({ run_id: id }) => chosen.has(id));
  const subjects = chosenRuns.length ? chosenRuns : run ? [run] : [];
  const toggle = (/** @type {string} */ id) => {
    const next = new Set(chosen);
    if (!next.delete(id) && next.size < CHOSEN_MAX) next.add(id);
    setChosen(next);
  };
  // These and no others: what begins to match later isn't among them.
  const chooseAll = () => setChosen(new Set(shown.slice(0, CHOSEN_MAX).map(({ run_id: id }) => id)));
  const act = (/** @type {string} */ name) =>
    confirmAction(ACTIONS[name], subjects.filter(ACTIONS[name].allows).map(runTarget));
  useKeys([
    ...movingKeys(shown.length, at, setAt), ...actionKeys(act),
    { keys: 'Enter', text: 'Open', run: () => run && go('run', { id: run.run_id }) },
    { keys: 'x', text: 'Select', run: () => run && toggle(run.run_id) },
    { keys: 'w', text: 'Why', run: () => run && go('run', { id: run.run_id, tab: 'why' }) },
  ], [at, shown.length, chosen, rows]);
  const offered = Object.values(ACTIONS).filter((action) => action.subject === 'run' && chosenRuns.some(action.allows));
  const field = (/** @type {string} */ name, hint = name) => html`<${FilterField} name=${name} hint=${hint} value=${params[name]} lengthMax=${TEXT_LENGTH_MAX} />`;
  return html`<div class="page runs filled">
    <div class="head"><h1>Runs ${rows && html`<span class="faint">${countText(shown.length)}${isWhole ? '' : '+'}</span>`}</h1>
      <${MethodButton} class="primary small" method="run.start" run=${() => openDialog(StartRun)}>Start a run<//></div>
    <div class="filters"><${Choice} name="status" values=${STATUSES} chosen=${params.status} isOptional=${true} /><${Choice} name="since" values=${Object.keys(PERIODS)} chosen=${params.since} isOptional=${true} />
      ${field('project')}${field('label', 'label=value')}${field('station')}${field('code', 'error code')}
      <select class="filter" aria-label="waiting for" value=${params.waiting_for ?? ''} onChange=${(event) => change({ waiting_for: event.target.value || undefined })}>
        <option value="">waiting for …</option>${WAITS.map((each) => html`<option key=${each} value=${each} selected=${each === params.waiting_for}>${each}</option>`)}</select>
      ${field('text', 'text in the goal, or end of the id')}</div>
    ${ID_TAIL.test(params.text ?? '') && has('run.find') && html`<${RunOfId} tail=${params.text} />`}
    <${Problem} error=${error} />
    ${!rows && !error && html`<${Asking} />`}
    ${chosenRuns.length > 0 ? html`<div class="bulk"><b>${plural(chosenRuns.length, 'run')} selected</b>
        ${offered.map((action) => html`<${ActionButtons} key=${action.name} actions=${[action]} targets=${chosenRuns.filter(action.allows).map(runTarget)} small=${true} />`)}
        <button class="quiet" onClick=${() => setChosen(new Set())}>none</button></div>`
      : rows && html`<div class="head"><${Counts} rows=${shown} isWhole=${isWhole} isOld=${isOld} filter=${filter} />
        ${shown.length > 0 && html`<button class="quiet" onClick=${chooseAll}>select ${isWhole && shown.length <= CHOSEN_MAX ? 'all' : `the first ${Math.min(CHOSEN_MAX, shown.length)}`}</button>`}</div>`}
    ${rows && shown.length === 0 && !isWhole && html`<p class="faint">None of the newest runs matches; not all runs were looked at. <button class="quiet" onClick=${more}>look at older ones</button></p>`}
    ${rows && shown.length === 0 && isWhole && html`<${Empty} text="No run matches." command=${'signalbox run start "fix the failing test" --watch'} />`}
    ${shown.length > 0 && html`<div class="runs-head" aria-hidden="true"><span class="c-check"></span><span class="c-id">run</span><span class="c-status">status</span><span class="c-goal">goal</span>
      <span class="c-project">project</span><span class="c-stations">stations</span><span class="c-state">state</span><span class="c-age number">age</span><span class="c-took number">took</span></div>`}
    <${VirtualList} rows=${shown} label="Runs" isBusy=${isOld && !error} onEnd=${more} selected=${at} moves=${moves} row=${(each) => html`
      <span class="c-check" role="cell"><input type="checkbox" checked=${chosen.has(each.run_id)} aria-label="Select ${tailOf(each.run_id)}" onChange=${() => toggle(each.run_id)} /></span>
      <span class="c-id" role="cell"><a class="id" href=${hrefOf('run', { id: each.run_id })}>${tailOf(each.run_id)}</a></span>
      <span class="c-status" role="cell"><${Status} status=${each.status} /></span>
      <span class="c-goal cut" role="cell"><a href=${hrefOf('run', { id: each.run_id })} title=${each.goal}>${each.goal}</a></span>
      <span class="c-project faint cut" role="cell" title=${each.project}>${each.project}</span>
      <span class="c-stations" role="cell"><${StationBoxes} run=${each} /></span>
      <span class="c-state cut" role="cell"><${RunState} run=${each} /></span>
      <span class="c-age number faint" role="cell"><${Age} time=${each.started_at} /></span>
      <span class="c-took number" role="cell"><${Took} run=${each} /></span>`} />
  </div>`;
}

