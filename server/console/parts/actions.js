/**
 * What can be done to runs, cards and the service. An action is about a list of ids that is frozen when its
 * dialog opens: what a filter shows later never widens it. Each command has an id of its own, so
 * that a request that is repeated after a broken connection isn't carried out twice.
 */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { whyNot } from '../core/identity.js';
import { plural, tailOf } from '../core/figures.js';
import { call, commandId } from '../core/rpc.js';
import { closeDialog, openDialog } from './dialog.js';
import { say } from './focus.js';
import { Command, Problem } from './notice.js';

/**
 * @typedef {{id: string, text: string, params?: Record<string, any>, findings?: string[]}} Target what a command is
 *   about: `params` are those of this one alone, such as the question that a decision answers, or the
 *   number that the dialog begins with; `findings` are what has to be known of its work before a
 *   decision, and are missing where nobody has asked for them
 * @typedef {{label: string, param: string, unit: number}} Figure a number that the user gives, in a
 *   unit of `unit` of the param's
 * @typedef {{name: string, method: string, subject: 'run' | 'card' | 'loop' | 'service', tone?: string, reason: 'optional' | 'required',
 *   params?: Record<string, any>, budget?: Figure[], number?: {label: string, param: string, max: number}, says: string, command: (id: string) => string,
 *   allows: (thing: any) => boolean}} Action `budget` are figures of a new budget, of which one has to be given;
 *   `number` is a whole number that has to be given, from `-max` to `max`
 */

const ID_PARAMS = { run: 'run_id', card: 'card_id', loop: 'loop' };

const isOpen = (/** @type {any} */ run) => ['queued', 'running', 'paused'].includes(run.status);
const asksApproval = (/** @type {any} */ run) => run.waiting_for === 'approval' && run.status !== 'paused';

/** Errors after which the command may have been carried out, or may still be. */
const OUTCOME_UNKNOWN = ['UNREACHABLE', 'UNKNOWN_OUTCOME'];

/** What a run may use. @type {Figure[]} */
export const BUDGET = [
  { label: 'Cost in all, in dollars', param: 'cost_microusd', unit: 1e6 },
  { label: 'Tokens in all', param: 'tokens', unit: 1 },
  { label: 'Turns in all', param: 'turns', unit: 1 },
];

/** @type {Record<string, Action>} */
export const ACTIONS = {
  approve: {
    name: 'Approve', method: 'run.resume', subject: 'run', tone: 'good', reason: 'optional', params: { decision: 'approve' },
    says: 'The station counts as succeeded and the run goes on.',
    command: (id) => `signalbox run approve ${id}`, allows: asksApproval,
  },
  reject: {
    name: 'Reject', method: 'run.resume', subject: 'run', tone: 'bad', reason: 'required', params: { decision: 'reject' },
    says: 'The run fails with REJECTED.',
    command: (id) => `signalbox run resume ${id} --decision reject`, allows: asksApproval,
  },
  pause: {
    name: 'Pause', method: 'run.pause', subject: 'run', reason: 'optional',
    says: 'Nothing more is started until somebody resumes it.',
    command: (id) => `signalbox run pause ${id}`, allows: (run) => isOpen(run) && run.status !== 'paused',
  },
  resume: {
    name: 'Resume', method: 'run.resume', subject: 'run', reason: 'optional',
    says: 'The run goes on where it was.',
    command: (id) => `signalbox run resume ${id}`, allows: (run) => run.status === 'paused',
  },
  extend: {
    name: 'More budget', method: 'run.resume', subject: 'run', reason: 'optional',
    budget: BUDGET,
    says: 'The run goes on until it has used these totals. A figure that isn’t given stays.',
    command: (id) => `signalbox run resume ${id} --max-cost-usd DOLLARS`, allows: (run) => run.waiting_for === 'budget' && run.status !== 'paused',
  },
  retry: {
    name: 'Retry', method: 'run.retry', subject: 'run', reason: 'optional',
    says: 'The station that failed is tried again, with all its retries. What succeeded stays.',
    command: (id) => `signalbox run retry ${id}`, allows: (run) => run.status === 'failed',
  },
  cancel: {
    name: 'Cancel', method: 'run.cancel', subject: 'run', tone: 'bad', reason: 'optional',
    says: 'Its job is ended and the run never goes on. This can’t be undone.',
    command: (id) => `signalbox run cancel ${id}`, allows: isOpen,
  },
  block: {
    name: 'Block', method: 'card.block', subject: 'card', reason: 'required',
    says: 'The board leaves the card alone until somebody unblocks it. If its work is done and couldn’t be proposed, another run begins then, and is told the reason.',
    command: (id) => `signalbox card block ${id} --reason REASON`, allows: (card) => ['backlog', 'running', 'verifying', 'verified'].includes(card.status) || (['blocked', 'failed'].includes(card.status) && ['PUSH_FAILED', 'NOT_PROPOSED'].includes(card.code)),
  },
  unblock: {
    name: 'Unblock', method: 'card.unblock', subject: 'card', tone: 'good', reason: 'optional',
    says: 'The card goes back to the backlog and is tried again. If its merge was deferred, it is merged now.',
    command: (id) => `signalbox card unblock ${id}`, allows: (card) => ['blocked', 'failed'].includes(card.status) || (card.status === 'verified' && !card.merging && card.code !== ''),
  },
  prioritize: {
    name: 'Prioritize', method: 'card.set_priority', subject: 'card', reason: 'optional',
    number: { label: 'Priority', param: 'priority', max: 1e6 },
    says: 'Cards with a higher priority are started first, and among equals those that were submitted first. A run that is under way goes on.',
    command: (id) => `signalbox card priority ${id} PRIORITY`, allows: (card) => card.status !== 'merged',
  },
  recover: {
    name: 'Recover', method: 'tick.recover', subject: 'loop', tone: 'good', reason: 'required',
    says: 'The loop ticks again. Its last tick has no end: look first at what it left.',
    command: (id) => `signalbox tick recover ${id} --reason REASON`, allows: (tick) => tick.status === 'halted',
  },
  pauseAll: {
    name: 'Pause everything', method: 'server.pause', subject: 'service', tone: 'wait', reason: 'optional',
    says: 'Nothing new begins until somebody resumes it: no attempt, no claim, no card, no merge. What is in progress finishes.',
    command: () => 'signalbox pause --all', allows: (service) => service.paused === null,
  },
  resumeAll: {
    name: 'Resume everything', method: 'server.resume', subject: 'service', tone: 'good', reason: 'optional',
    says: 'What is ready begins at once. Runs that were paused by themselves stay so.',
    command: () => 'signalbox resume --all', allows: (service) => Boolean(service.paused),
  },
};

/** The target of an action on the whole service. */
export const THE_SERVICE = { id: 'service', text: 'the whole service' };

/** Returns the actions that a thing's state allows. @param {Action['subject']} subject @param {any} thing */
export const actionsFor = (subject, thing) =>
  Object.values(ACTIONS).filter((action) => action.subject === subject && action.allows(thing));

/** What has to be known of the work of a run, or of what waits, before anybody decides about it. @param {any} thing @returns {string[]} */
export const findingsOf = ({ checks_changed: files, left_out: sentences }) =>
  [...(files ? [`Changes what checks it: ${files.join(', ')}`] : []), ...(sentences ?? [])];

/** @param {{of: string[] | undefined}} props */
export const Findings = ({ of: findings }) =>
  html`${(findings ?? []).map((each, index) => html`<p key=${each} class=${index === 0 && each.startsWith('Changes what checks it') ? 'tone-bad' : 'faint'}>${each}</p>`)}`;

/**
 * The target of an action on a run: a decision names the question that the user saw. Rows of lists
 * have neither that nor the findings.
 * @param {any} run
 * @returns {Target}
 */
export function runTarget(run) {
  const asking = (run.stations ?? []).find((/** @type {any} */ each) => each.waiting_for === 'approval');
  const asked = asking?.asked ?? run.asked;
  const station = asking?.station ?? run.station;
  return { id: run.run_id, text: run.goal, params: asked ? { asked, station } : {}, ...(run.stations ? { findings: findingsOf(run) } : {}) };
}

/** A target of a decision with the question that is open and what has to be known, where it comes from a list. @param {Target} target @returns {Promise<Target>} */
async function wholeTarget(target) {
  if (target.findings) return target;
  try {
    const { params, findings } = runTarget((await call('run.get', { run_id: target.id })).run);
    return { ...target, params: target.params?.asked ? target.params : params, findings };
  } catch (error) {
    return { ...target, findings: [`What its work changes couldn’t be read: ${/** @type {any} */ (error).message}`] };
  }
}

/**
 * The targets as the user decides about them: null while what has to be known of a decision isn't read.
 * @param {Action} action
 * @param {Target[]} targets
 * @returns {Target[] | null}
 */
function useWholeTargets(action, targets) {
  const isKnown = !action.params?.decision || targets.every(({ findings }) => findings);
  const [whole, setWhole] = useState(isKnown ? targets : null);
  useEffect(() => {
    let isClosed = isKnown;
    (async () => {
      const read = /** @type {Target[]} */ ([]);
      for (const each of targets) if (!isClosed) read.push(await wholeTarget(each));
      if (!isClosed) setWhole(read);
    })();
    return () => {
      isClosed = true;
    };
  }, []);
  return whole;
}

/** The target of an action on a card. @param {any} card @returns {Target} */
export const cardTarget = (card) => ({ id: card.card_id, text: card.title, params: { priority: card.priority } });

/** The number that the dialog begins with: that of the only target. @param {Action} action @param {Target[]} targets @returns {Record<string, string>} */
function numberOf({ number }, targets) {
  const present = targets.length === 1 && number ? targets[0].params?.[number.param] : undefined;
  return number && present !== undefined ? { [number.param]: String(present) } : {};
}

/** Returns the params of the figures that were given. @param {Figure[]} figures @param {Record<string, string>} given */
export function budgetOf(figures, given) {
  return Object.fromEntries(figures.filter(({ param }) => given[param]).map(({ param, unit }) => [param, Math.round(Number(given[param]) * unit)]));
}

/** @param {{action: Action, targets: Target[]}} props */
function ActionDialog({ action, targets: given }) {
  const whole = useWholeTargets(action, given);
  const targets = whole ?? given;
  const [figures, setFigures] = useState(() => numberOf(action, targets));
  const [reason, setReason] = useState('');
  const [done, setDone] = useState(/** @type {Map<string, any>} */ (new Map()));
  const [isRunning, setRunning] = useState(false);
  const [ids] = useState(() => new Map(targets.map(({ id }) => [id, commandId(id)])));
  const refused = targets.filter(({ id }) => done.get(id)?.error);
  const isFinished = done.size === targets.length && refused.length === 0;

  const run = async () => {
    setRunning(true);
    const results = new Map([...done].filter(([, result]) => !result.error));
    for (const { id, params } of targets) {
      if (results.has(id)) continue;
      const decision = action.params?.decision ? params : {};
      try {
        await call(action.method, {
          ...(action.subject === 'service' ? {} : { [ID_PARAMS[action.subject]]: id }), ...action.params, ...decision, command_id: ids.get(id),
          ...(reason ? { reason } : {}), ...(action.budget ? { budget: budgetOf(action.budget, figures) } : {}),
          ...(action.number ? { [action.number.param]: Number(figures[action.number.param]) } : {}),
        });
        results.set(id, {});
      } catch (error) {
        results.set(id, { error });
        // A refusal is an answer: the next try is another command. Without one it is the same.
        if (!OUTCOME_UNKNOWN.includes(/** @type {any} */ (error).code)) ids.set(id, commandId(id));
      }
      setDone(new Map(results));
    }
    setRunning(false);
    const failed = targets.filter(({ id }) => results.get(id)?.error).length;
    if (failed === 0) closeDialog();
    const about = targets.length === 1 ? targets[0].text : plural(targets.length, action.subject);
    say(`${action.name}: ${failed ? `refused for ${failed} of ${targets.length}` : 'done'}, ${about}`);
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isRunning && whole) run();
  };
  return html`<form class="action" onSubmit=${onSubmit}>
    <h2 id="dialog-title">${action.name} ${action.subject === 'service' ? '' : targets.length === 1 ? action.subject : plural(targets.length, action.subject)}</h2>
    <p>${action.says}</p>
    <ul class="targets">${targets.map(({ id, text, findings }) => html`<li key=${id}>
      <span class="id">${action.subject === 'loop' || action.subject === 'service' ? '' : tailOf(id)}</span> ${text}
      ${action.params?.decision && html`<${Findings} of=${findings} />`}
      ${done.get(id) && (done.get(id).error ? html`<${Problem} error=${done.get(id).error} />` : html` <span class="tone-good">✔ done</span>`)}
    </li>`)}</ul>
    ${(action.budget ?? []).map(({ label, param }) => html`<label key=${param}>${label}<input type="number" min="0" step="any" value=${figures[param] ?? ''}
      required=${Object.values(figures).every((value) => !value)} onInput=${(/** @type {any} */ event) => setFigures({ ...figures, [param]: event.target.value })} /></label>`)}
    ${action.number && html`<label>${action.number.label}<input type="number" min=${-action.number.max} max=${action.number.max} step="1" required autofocus value=${figures[action.number.param] ?? ''}
      onInput=${(/** @type {any} */ event) => setFigures({ [/** @type {any} */ (action.number).param]: event.target.value })} /></label>`}
    <label>Reason${action.reason === 'required' ? '' : ' (optional)'}
      <input type="text" maxlength="1024" required=${action.reason === 'required'} value=${reason} autofocus=${!action.number}
        onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></label>
    ${targets.length === 1 && html`<p class="faint">The same from a terminal: <${Command} command=${action.command(targets[0].id)} /></p>`}
    <div class="buttons">
      <button type="button" onClick=${closeDialog}>${isFinished ? 'Close' : 'Leave it'}</button>
      <button type="submit" class="primary tone-${action.tone ?? 'busy'}" aria-disabled=${isRunning || !whole ? 'true' : null}>
        ${isRunning ? `${done.size} of ${targets.length} …` : refused.length ? `Try ${refused.length} again` : action.name}</button>
    </div></form>`;
}

/** Asks the user whether to do this, and does it. @param {Action} action @param {Target[]} targets */
export function confirmAction(action, targets) {
  if (targets.length === 0 || whyNot(action.method, action.params)) return;
  const frozen = targets.slice();
  openDialog(() => html`<${ActionDialog} action=${action} targets=${frozen} />`);
}

/**
 * Buttons for actions; those that the role forbids say why.
 * @param {{actions: Action[], targets: Target[], small?: boolean}} props
 */
export function ActionButtons({ actions, targets, small }) {
  return html`<span class="actions">${actions.map((action) => {
    const why = whyNot(action.method, action.params);
    return html`<button key=${action.name} class="${small ? 'small' : ''} tone-${action.tone ?? 'busy'}" aria-disabled=${why ? 'true' : null}
      title=${why ?? action.says} onClick=${() => confirmAction(action, targets)}>${action.name}</button>`;
  })}</span>`;
}
