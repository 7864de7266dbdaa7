/** The recorded work under another policy: what was recorded, what its replay gives, and a forecast. */
import { html, useEffect, useMemo, useState } from '../vendor/htm-preact.js';
import { countText, plural } from '../core/figures.js';
import { moment } from '../core/past.js';
import { go } from '../core/route.js';
import { call } from '../core/rpc.js';
import { durationText, momentTime } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Command, Commands, Empty, Problem } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { Plot } from './plot.js';

/**
 * @typedef {{name: string, label: string, table: 'limits' | 'board' | 'station' | 'retry', key?: string,
 *   isNumber?: boolean, example?: string, known?: string}} Setting
 * `known` is the field of an answer that has the value in force
 */

/** @type {Setting[]} */
const SETTINGS = [
  { name: 'workers', label: 'Outside workers', table: 'limits', isNumber: true, known: 'workers' },
  { name: 'jobs_max', label: 'Local jobs', table: 'limits', isNumber: true, known: 'jobs_max' },
  { name: 'remote_jobs_max', label: 'Remote jobs', table: 'limits', isNumber: true, known: 'remote_jobs_max' },
  { name: 'max_concurrent_agents', label: 'Agents', table: 'board', isNumber: true },
  { name: 'max_attempts', label: 'Card attempts', table: 'board', isNumber: true },
  { name: 'heartbeat', label: 'Heartbeat', table: 'board', example: '2m', known: 'board.heartbeat' },
  { name: 'station', label: 'At station', table: 'station', key: 'name', example: 'build' },
  { name: 'lease', label: 'Lease of a claim', table: 'station', key: 'heartbeat_timeout', example: '30s' },
  { name: 'timeout', label: 'Timeout', table: 'station', example: '20m' },
  { name: 'stall_after', label: 'Stalled after', table: 'station', example: '5m' },
  { name: 'max_retries', label: 'Retries', table: 'retry', isNumber: true },
  { name: 'backoff', label: 'Retry after', table: 'retry', example: '5s' },
];

/** Quotes a TOML string, whose escapes are those of JSON. */
const quoted = (/** @type {string} */ text) => JSON.stringify(text).replaceAll('\x7f', '\\u007f');

/** Returns the policy as TOML: what isn't set stays as recorded. @param {Record<string, string>} params */
function policyOf(params) {
  const lines = (/** @type {string} */ table) => SETTINGS.filter((each) => each.table === table && params[each.name]?.trim()).map((each) => {
    const value = params[each.name].trim();
    return `${each.key ?? each.name} = ${each.isNumber && /^\d+$/.test(value) ? Number(value) : quoted(value)}`;
  });
  const [limits, board, station, retry] = ['limits', 'board', 'station', 'retry'].map(lines);
  return [
    ...(limits.length ? ['[limits]', ...limits] : []),
    ...(board.length ? ['[board]', ...board] : []),
    ...(station.length || retry.length ? ['[[station]]', ...station] : []),
    ...(retry.length ? [`retry = { ${retry.join(', ')} }`] : []),
  ].map((line) => `${line}\n`).join('');
}

/** @typedef {{label: string, field: string, text: (value: number) => string}} Measure `field` as `error` names it */

/** Returns a duration, with tenths where seconds alone would make two of them equal. @param {number} ms */
const exactText = (ms) => (ms >= 1000 && ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : durationText(ms));

const rate = (/** @type {number} */ value) => value.toFixed(1);
/** @type {Measure[]} */
const MEASURES = [
  ['runs', 'runs', countText], ['succeeded', 'succeeded', countText], ['failed', 'failed', countText], ['canceled', 'canceled', countText],
  ['open', 'open', countText], ['cards merged', 'cards_merged', countText], ['first arrival to last end', 'makespan_ms', exactText],
  ['succeeded an hour', 'succeeded_per_hour', rate], ['run time, median', 'run_time.p50_ms', exactText], ['run time, longest', 'run_time.max_ms', exactText],
  ['wait in a queue, median', 'queue_wait.p50_ms', exactText], ['wait in a queue, longest', 'queue_wait.max_ms', exactText],
  ['wait of a card, median', 'card_wait.p50_ms', exactText], ['wait of a card, longest', 'card_wait.max_ms', exactText],
  ['card to merge, median', 'card_time.p50_ms', exactText], ['card to merge, longest', 'card_time.max_ms', exactText],
  ['attempts', 'attempts', countText], ['at once, at most', 'at_once', countText], ['retries', 'retries', countText], ['timeouts', 'timeouts', countText],
  ['stalls', 'stalls', countText], ['leases lost', 'leases_lost', countText], ['work done twice', 'duplicates', countText],
  ['time of that', 'duplicated_ms', exactText], ['time worked', 'worked_ms', exactText],
].map(([label, field, text]) => /** @type {any} */ ({ label, field, text }));

/** Returns the measure of a history; null if nothing was measured. @param {any} history @param {string} field */
function measured(history, field) {
  const [place, part] = field.split('.');
  if (part === undefined) return history[place];
  return history[place].count > 0 ? history[place][part] : null;
}

/** Returns `+12 %`, or nothing. */
function errorText(/** @type {number | undefined} */ part) {
  if (part === undefined) return '';
  const percent = Math.round(part * 100);
  return `${percent > 0 ? '+' : ''}${countText(percent)} %`;
}

/** Returns a sentence about a number of things, or nothing without one. @param {number} count @param {string} noun @param {string} one @param {string} many */
const said = (count, noun, one, many) => (count > 0 ? `${plural(count, noun)} ${count === 1 ? one : many}` : '');

/** Returns sentences about what the forecast doesn't know. @param {any} answer @returns {string[]} */
function caveatsOf({ what_if: forecast, runs_before: before }) {
  return [
    said(forecast.attempts_drawn, 'attempt', 'wasn’t recorded: it was drawn at random from its station’s attempts.', 'weren’t recorded: each was drawn at random from its station’s attempts.'),
    said(forecast.attempts_unknown, 'attempt', 'was at a station without a recorded attempt: it took no time.', 'were at stations without a recorded attempt: they took no time.'),
    said(forecast.attempts_kept, 'attempt', 'keeps the lease that it lost. When it would have ended isn’t in the log: it ends when its worker claimed again, or takes as long as other attempts.',
      'keep the lease that they lost. When they would have ended isn’t in the log: they end when their worker claimed again, or take as long as other attempts.'),
    said(before, 'run', 'that was open at the beginning is left out.', 'that were open at the beginning are left out.'),
    forecast.unfinished ? 'Open runs wait for a worker or a decision that was never recorded.' : '',
  ].filter(Boolean);
}

const PERIODS = ['1h', '8h', '24h', '168h'];
const HISTORIES = [
  { key: 'recorded', name: 'recorded', tone: 'idle', dash: undefined, width: 1.5 },
  { key: 'simulated', name: 'replayed', tone: 'wait', dash: [5, 3], width: 1.5 },
  { key: 'what_if', name: 'forecast', tone: 'busy', dash: undefined, width: 2.5 },
];
const STROKES = HISTORIES.map(({ tone, dash, width }) => ({ colour: `--${tone}`, dash, width }));
const CHART_PX = 150;
const CHARTS = [{ field: 'waiting', name: 'Runs that wait' }, { field: 'at_work', name: 'Attempts at work' }];
const SPREADS = [{ field: 'queue_wait', name: 'Wait in a queue' }, { field: 'run_time', name: 'Time of a run' }, { field: 'card_time', name: 'Card to merge' }];
const AXES = { textX: exactText, textY: (/** @type {number} */ value) => (Number.isInteger(value) ? String(value) : '') };

const HOUR_MS = 3_600_000;

/** Returns the beginning of the work: an age counts from the moment on screen. @param {string} from @param {number | null} time */
function beginOf(from, time) {
  const hours = /^(\d{1,6})h$/.exec(from);
  return hours && time !== null ? new Date(time - Number(hours[1]) * HOUR_MS).toISOString() : from;
}

/** Returns the times and the numbers of all histories, in spans of the longest. @param {any} answer @param {string} field */
function alignedSeries(answer, field) {
  const all = HISTORIES.map(({ key }) => answer[key].over_time);
  const spanMs = Math.max(...all.map((each) => each.span_ms));
  const numbers = all.map((each) => {
    const merged = /** @type {number[]} */ ([]);
    const ratio = spanMs / each.span_ms;
    each[field].forEach((/** @type {number} */ number, /** @type {number} */ at) => {
      const span = Math.floor(at / ratio);
      merged[span] = Math.max(merged[span] ?? 0, number);
    });
    return merged;
  });
  const length = Math.max(...numbers.map((each) => each.length));
  const times = Array.from({ length }, (_, at) => at * spanMs);
  return [times, ...numbers.map((each) => times.map((_, at) => each[at] ?? null))];
}

function Chart(/** @type {{answer: any, field: string, name: string}} */ { answer, field, name }) {
  const data = useMemo(() => alignedSeries(answer, field), [answer]);
  const most = HISTORIES.map(({ name: of }, at) => `${of} ${Math.max(0, .../** @type {number[]} */ (data[at + 1]).map(Number))}`);
  return html`<figure class="chart"><figcaption><b>${name}</b> <span class="faint">at most: ${most.join(', ')}</span></figcaption>
    <${Plot} data=${data} strokes=${STROKES} heightPx=${CHART_PX} axes=${AXES} /></figure>`;
}

/** The distribution of a duration: the median is solid, nine tenths and the longest fainter. @param {{answer: any, field: string, name: string}} props */
function Spread({ answer, field, name }) {
  const spreads = HISTORIES.map((history) => ({ ...history, spread: answer[history.key][field] }));
  const whole = Math.max(1, ...spreads.map(({ spread }) => spread.max_ms));
  if (spreads.every(({ spread }) => spread.count === 0)) return null;
  return html`<figure class="chart spread"><figcaption><b>${name}</b> <span class="faint">median · nine tenths · longest</span></figcaption>${spreads.map(({ key, name: of, tone, spread }) => {
    const text = spread.count ? [spread.p50_ms, spread.p90_ms, spread.max_ms].map(exactText).join(' · ') : 'none';
    return html`<div class="fall-row" key=${key}><span>${of}</span><span class="fall-track">${[['middle', spread.p50_ms], ['', spread.p90_ms], ['', spread.max_ms]].map(([kind, ms], at) => html`
      <i key=${at} class="fall-bar tone-${tone} ${kind}" style=${{ left: '0', width: `${(100 * ms) / whole}%` }}></i>`)}</span><span class="fall-took" title=${text}>${text}</span></div>`;
  })}</figure>`;
}

function Comparison(/** @type {{answer: any}} */ { answer }) {
  const rows = MEASURES.map((measure) => ({ ...measure, values: HISTORIES.map(({ key }) => measured(answer[key], measure.field)) }))
    .filter(({ values }) => values.some((value) => value));
  return html`<${Rows} label="Measures" heads=${['measure', 'recorded', 'replayed', 'error', 'forecast']} kind="measures"><tbody>${rows.map(({ label, field, text, values }) => {
    const [was, is, forecast] = values.map((value) => (value === null ? '' : text(value)));
    return html`<tr key=${field}><th scope="row">${label}</th><td class="number">${was}</td><td class="number">${is}</td>
      <td class="number faint">${errorText(answer.error[field])}</td><td class="number ${forecast === is ? '' : 'strong'}">${forecast}</td></tr>`;
  })}</tbody><//>`;
}

function Forecast(/** @type {{answer: any}} */ { answer }) {
  if (answer.recorded.runs === 0) return html`<${Empty} text="No run arrived in this part of the log." command='signalbox run start "fix the failing test"' />`;
  return html`<p class="sentence">Played once more under the policy that was in force, the work takes <b>${exactText(answer.simulated.makespan_ms)}</b>,
      ${' '}and really took <b>${exactText(answer.recorded.makespan_ms)}</b>${answer.error.makespan_ms === undefined ? '' : ` (${errorText(answer.error.makespan_ms)})`}: as far may a forecast be off. Under this policy it takes <b>${exactText(answer.what_if.makespan_ms)}</b>.</p>
    <p class="histories" aria-hidden="true">${HISTORIES.map(({ name, tone }) => html`<span key=${name} class="tone-${tone}"><i></i> ${name}</span>`)}</p>
    <div class="charts">${CHARTS.map(({ field, name }) => html`<${Chart} key=${field} answer=${answer} field=${field} name=${name} />`)}
      ${SPREADS.map(({ field, name }) => html`<${Spread} key=${field} answer=${answer} field=${field} name=${name} />`)}</div>
    <${Comparison} answer=${answer} />
    ${caveatsOf(answer).map((text) => html`<p class="faint" key=${text}>${text}</p>`)}`;
}

/** Returns a setting in force, of an answer if there is one. @param {any} answer @param {string} field */
const inForce = (answer, field) => field.split('.').reduce((part, name) => part?.[name], answer);

function PolicyForm(/** @type {{params: Record<string, string>, known: any}} */ { params, known }) {
  const [fields, setFields] = useState(params);
  useEffect(() => setFields(params), [JSON.stringify(params)]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields({ ...fields, [name]: event.target.value });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    go('whatif', { ...Object.fromEntries(SETTINGS.map(({ name }) => [name, fields[name]?.trim()])), from: fields.from ?? '24h' });
  };
  const policy = policyOf(fields);
  return html`<form onSubmit=${submit} aria-label="Policy">
    <fieldset><legend>What would have been different</legend>${SETTINGS.map(({ name, label, isNumber, example, known: field }) => html`<label key=${name}>${label}
      <input name=${name} type=${isNumber ? 'number' : 'text'} min="0" maxlength="100" value=${fields[name] ?? ''} placeholder=${(field && inForce(known, field)) || (example ? `such as ${example}` : 'as recorded')} onInput=${set(name)} /></label>`)}
      <label>Work of the last<select name="from" value=${fields.from ?? '24h'} onChange=${set('from')}>
        ${[...new Set([...PERIODS, fields.from ?? '24h'])].map((each) => html`<option key=${each} value=${each} selected=${each === (fields.from ?? '24h')}>${each}</option>`)}</select></label>
      <button class="primary">Forecast</button></fieldset>
    ${policy && html`<details><summary>The policy as a file</summary><pre>${policy}</pre><${Command} command=${`signalbox replay --what-if policy.toml --from ${fields.from ?? '24h'}`} /></details>`}</form>`;
}

/**
 * A forecast, which is made when somebody asks for it and never by itself: it takes the service a while, and
 * neither an event nor a broken connection makes another one of it. `question` is as of when it was asked.
 * @param {string} asked what a new forecast is made of; empty: none is
 * @param {Record<string, any> | null} question params of what_if.run; null: not known yet
 * @returns {{data?: any, error?: any, question?: any, again: () => void}}
 */
function useForecast(asked, question) {
  const [turn, setTurn] = useState(0);
  const key = asked && `${turn} ${asked}`;
  const [state, setState] = useState(/** @type {{key: string, question?: any, data?: any, error?: any}} */ ({ key: '' }));
  useEffect(() => {
    if (!key || !question || key === state.key) return undefined;
    const abort = new AbortController();
    call('what_if.run', question, abort.signal).then((data) => setState({ key, question, data }), (error) => abort.signal.aborted || setState({ key, question, error }));
    return () => abort.abort();
  }, [key, question !== null]);
  const again = () => setTurn(turn + 1);
  return state.key === key ? { ...state, again } : { again };
}

export function WhatIf(/** @type {{params: Record<string, string>}} */ { params: { at: _, ...params } }) {
  const at = useSignal(moment);
  const time = useSignal(momentTime);
  const isAsked = params.from !== undefined;
  const isKnown = at === null || time !== null;
  const question = { policy: policyOf(params), from: beginOf(params.from ?? '', at === null ? null : time), ...(at === null ? {} : { to: at }) };
  const { data, error, question: answered, again } = useForecast(isAsked ? JSON.stringify(params) : '', isKnown ? question : null);
  const isOfThis = !answered || answered.to === question.to;
  return html`<div class="page what-if"><div class="head"><h1>What-if</h1>
      ${isAsked && html`<span class="actions">${(data || error) && html`<button class="quiet" onClick=${again}>Again</button>`}<button class="quiet" onClick=${() => go('whatif')}>Clear</button></span>`}</div>
    <${PolicyForm} params=${params} known=${data} />
    <${Problem} error=${error} />
    ${!isAsked && html`<div class="empty"><p>Would two more workers have helped, or a longer lease? The recorded work is played under another policy, beside what happened. Nothing is changed by it.</p>
      <${Commands} commands=${['signalbox replay --what-if policy.toml --from 24h']} /></div>`}
    ${isAsked && !data && !error && html`<p class="loading" aria-busy="true">playing the work of ${params.from} twice: that may take a minute …</p>`}
    ${data && !isOfThis && html`<p class="announcement wait" role="status">This is the work up to #${answered.to ?? data.to}, not to the moment on screen. <button class="quiet" onClick=${again}>Make it of this moment</button></p>`}
    ${data && html`<${Forecast} answer=${data} />`}</div>`;
}
