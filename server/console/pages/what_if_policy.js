/** A policy to try on recorded work, as the address has it, and what its forecast compares. */
import { countText, plural } from '../core/figures.js';
import { durationText } from '../core/time_text.js';

/**
 * @typedef {{name: string, label: string, table: 'limits' | 'board' | 'station' | 'retry', key?: string,
 *   isNumber?: boolean, example?: string, known?: string}} Setting
 * `known` is the field of an answer that has the value in force
 */

/** @type {Setting[]} */
export const SETTINGS = [
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
export function policyOf(params) {
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
export const exactText = (ms) => (ms >= 1000 && ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : durationText(ms));

const rate = (/** @type {number} */ value) => value.toFixed(1);
/** @type {Measure[]} */
export const MEASURES = [
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
export function measured(history, field) {
  const [place, part] = field.split('.');
  if (part === undefined) return history[place];
  return history[place].count > 0 ? history[place][part] : null;
}

/** Returns `+12 %`, or nothing. */
export function errorText(/** @type {number | undefined} */ part) {
  if (part === undefined) return '';
  const percent = Math.round(part * 100);
  return `${percent > 0 ? '+' : ''}${countText(percent)} %`;
}

/** Returns sentences about what the forecast doesn't know. @param {any} answer @returns {string[]} */
export function caveatsOf({ what_if: forecast, runs_before: before }) {
  return [
    forecast.attempts_drawn > 0 && `${plural(forecast.attempts_drawn, 'attempt')} weren’t recorded: each was drawn at random from its station’s attempts.`,
    forecast.attempts_unknown > 0 && `${plural(forecast.attempts_unknown, 'attempt')} were at stations without a recorded attempt: they took no time.`,
    forecast.attempts_kept > 0 && `${plural(forecast.attempts_kept, 'attempt')} keep the lease that they lost. When they would have ended isn’t in the log: they end when their worker claimed again, or take as long as other attempts.`,
    before > 0 && `${plural(before, 'run')} that were open at the beginning are left out.`,
    forecast.unfinished && 'Open runs wait for a worker or a decision that was never recorded.',
  ].filter((text) => typeof text === 'string');
}
