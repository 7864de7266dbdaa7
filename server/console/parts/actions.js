/**
 * What can be done to runs, cards and the service. An action is about a list of ids that is frozen when its
 * dialog opens: what a filter shows later never widens it. Each command has an id of its own, so
 * that a request that is repeated after a broken connection isn't carried out twice.
 */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { whyNot } from '../core/identity.js';
import { plural, tailOf } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { call, commandId } from '../core/rpc.js';
import { closeDialog, openDialog, useOwnDialog } from './dialog.js';
import { say } from './focus.js';
import { commandOf, Fields, FromTerminal, isEmpty, paramsOf } from './form.js';
import { Problem } from './notice.js';

const ID_PARAMS = { run: 'run_id', card: 'card_id', loop: 'loop' };

const isOpen = (/** @type {any} */ run) => ['queued', 'running', 'paused'].includes(run.status);
const asksApproval = (/** @type {any} */ run) => run.waiting_for === 'approval' && run.status !== 'paused';

/**
 * Whether the command may have been carried out, or may still be: no code is no answer, and a proxy that says
 * `HTTP 504` doesn’t know what the service does. @param {string} [code]
 */
const isOutcomeUnknown = (code) => !code || ['UNREACHABLE', 'UNKNOWN_OUTCOME'].includes(code) || code.startsWith('HTTP 5');

const AMOUNT = { type: 'number', min: 0, step: 'any', of: Number };
/** What a run may use. @type {Field[]} */
export const BUDGET = [
  { label: 'Cost in all, in dollars', param: 'cost_microusd', option: '--max-cost-usd', word: 'DOLLARS', ...AMOUNT, of: (text) => Math.round(Number(text) * 1e6) },
  { label: 'Tokens in all', param: 'tokens', option: '--max-tokens', ...AMOUNT, step: 1 },
  { label: 'Turns in all', param: 'turns', option: '--max-turns', ...AMOUNT, step: 1 },
];

/** @type {Record<string, Action>} */
export const ACTIONS = {
  approve: {
    name: 'Approve', method: 'run.resume', subject: 'run', tone: 'good', reason: 'optional', params: { decision: 'approve' },
    says: 'The station counts as succeeded and the run goes on.',
    meant: ['asked', 'station'], command: (id) => `signalbox run resume ${id} --decision approve`, allows: asksApproval,
  },
  reject: {
    name: 'Reject', method: 'run.resume', subject: 'run', tone: 'bad', reason: 'required', params: { decision: 'reject' },
    says: 'The run fails with REJECTED.',
    meant: ['asked', 'station'], command: (id) => `signalbox run resume ${id} --decision reject`, allows: asksApproval,
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
    fields: BUDGET, into: 'budget',
    says: 'The run goes on until it has used these totals. A figure that isn’t given stays.',
    command: (id) => `signalbox run resume ${id}`, allows: (run) => run.waiting_for === 'budget' && run.status !== 'paused',
  },
  retry: {
    name: 'Retry', method: 'run.retry', subject: 'run', reason: 'optional',
    options: [{ label: 'Retries of each station from now on (optional)', param: 'max_retries', option: '--max-retries', of: Number, type: 'number', min: 0, max: 100, step: 1, placeholder: 'as in the pipeline' }],
    says: 'The station that failed is tried again, with all its retries. What succeeded stays.',
    meant: ['failed_position'], command: (id) => `signalbox run retry ${id}`, allows: (run) => run.status === 'failed',
  },
  cancel: {
    name: 'Cancel', method: 'run.cancel', subject: 'run', tone: 'bad', reason: 'optional',
    says: 'Its job is ended and the run never goes on. This can’t be undone.',
    command: (id) => `signalbox run cancel ${id}`, allows: isOpen,
  },
  block: {
    name: 'Block', method: 'card.block', subject: 'card', reason: 'required',
    says: 'The board leaves the card alone until somebody unblocks it. If its work is verified, or done and couldn’t be proposed, another run begins then, and is told the reason.',
    command: (id) => `signalbox card block ${id}`, allows: (card) => ['backlog', 'running', 'verifying', 'verified'].includes(card.status) || (['blocked', 'failed'].includes(card.status) && ['PUSH_FAILED', 'NOT_PROPOSED'].includes(card.code)),
  },
  unblock: {
    name: 'Unblock', method: 'card.unblock', subject: 'card', tone: 'good', reason: 'optional', meant: ['seen'],
    says: 'The card goes back to the backlog and is tried again. If its merge was deferred, it is merged now.',
    command: (id, { seen } = {}) => `signalbox card unblock ${id}${seen === undefined ? '' : ` --seen ${seen}`}`, allows: (card) => ['blocked', 'failed'].includes(card.status) || (card.status === 'verified' && !card.merging && card.code !== ''),
  },
  prioritize: {
    name: 'Prioritize', method: 'card.set_priority', subject: 'card', reason: 'optional',
    fields: [{ label: 'Priority', param: 'priority', option: '', of: Number, type: 'number', min: -1e6, max: 1e6, step: 1 }],
    says: 'Cards with a higher priority are started first, and among equals those that were submitted first. A run that is under way goes on.',
    command: (id) => `signalbox card priority ${id}`, allows: (card) => card.status !== 'merged',
  },
  recover: {
    name: 'Recover', method: 'tick.recover', subject: 'loop', tone: 'good', reason: 'required',
    says: 'The loop ticks again. Its last tick has no end: look first at what it left.',
    meant: ['token'], command: (id, { token } = {}) => `signalbox tick recover ${id}${token === undefined ? '' : ` --token ${token}`}`, allows: (tick) => tick.status === 'halted',
  },
  pauseAll: {
    name: 'Pause everything', method: 'server.pause', subject: 'service', tone: 'wait', reason: 'optional',
    says: 'Nothing new begins until somebody resumes it: no attempt, no claim, no card, no merge. What is in progress finishes.',
    command: () => 'signalbox pause --all', allows: (service) => service.paused === null,
  },
  resumeAll: {
    name: 'Resume everything', method: 'server.resume', subject: 'service', tone: 'good', reason: 'optional', meant: ['seen'],
    says: 'What is ready begins at once. Runs that were paused by themselves stay so.',
    command: (_, { seen } = {}) => `signalbox resume --all${seen === undefined ? '' : ` --seen ${seen}`}`, allows: (service) => Boolean(service.paused),
  },
};

/** @param {Action} action @returns {Field} */
const reasonOf = ({ reason }) => ({ label: `Reason${reason === 'required' ? '' : ' (optional)'}`, param: 'reason', option: '--reason', isRequired: reason === 'required', maxlength: 1024 });

/** Returns the command line of an action. @param {Action} action @param {Pick<Target, 'id' | 'params'>} target @param {Field[]} [fields] @param {Field[]} [others] @param {Given} [given] */
export function commandLine(action, { id, params }, fields = action.fields ?? [], others = [reasonOf(action)], given = {}) {
  const needed = isEmpty(fields, given) ? fields.slice(0, 1).map((field) => ({ ...field, isRequired: true })) : fields;
  return commandOf(action.command(id, params), [...needed, ...others], given);
}

/** Keys of the likeliest actions on runs. @param {(name: string) => void} act @returns {Shortcut[]} */
export const actionKeys = (act) => [['a', 'approve'], ['p', 'pause'], ['u', 'resume'], ['R', 'retry']].map(([keys, name]) => ({ keys, text: ACTIONS[name].name, run: () => act(name) }));

/** The target of an action on the whole service. @type {Target} */
export const THE_SERVICE = { id: 'service', text: 'the whole service' };

/** The same, with the pause that the user saw. @param {any} paused @returns {Target} */
export const serviceTarget = (paused) => ({ ...THE_SERVICE, params: paused ? { seen: paused.position } : {} });

/** Returns the actions that a thing's state allows. @param {Action['subject']} subject @param {any} thing */
export const actionsFor = (subject, thing) =>
  Object.values(ACTIONS).filter((action) => action.subject === subject && action.allows(thing));

/** What has to be known of the work of a run, or of what waits, before anybody decides about it. @param {any} thing @returns {string[]} */
export const findingsOf = ({ checks_changed: files, left_out: sentences }) =>
  [...(files ? [`Changes what checks it: ${files.join(', ')}`] : []), ...(sentences ?? [])];

export const Findings = (/** @type {{of: string[] | undefined}} */ { of: findings }) =>
  html`${(findings ?? []).map((each, index) => html`<p key=${each} class=${index === 0 && each.startsWith('Changes what checks it') ? 'tone-bad' : 'faint'}>${each}</p>`)}`;

/**
 * The target of an action on a run: a decision names the question that the user saw, and a retry the failure.
 * Rows of lists have neither the question nor the findings.
 * @param {any} run @returns {Target}
 */
export function runTarget(run) {
  const asking = (run.stations ?? []).find((/** @type {any} */ each) => each.waiting_for === 'approval');
  const asked = asking?.asked ?? run.asked;
  const station = asking?.station ?? run.station;
  const failed = run.status === 'failed' ? { failed_position: run.last_position } : {};
  return {
    id: run.run_id, text: run.goal, params: { ...(asked ? { asked, station } : {}), ...failed },
    ...(run.stations ? { question: asking?.waiting_note, findings: findingsOf(run) } : {}),
  };
}

/** A target of a decision with the question that is open and what has to be known, where it comes from a list. @param {Target} target @returns {Promise<Target>} */
async function wholeTarget(target) {
  if (target.findings) return target;
  try {
    const { params, question, findings } = runTarget((await call('run.get', { run_id: target.id })).run);
    return { ...target, params: target.params?.asked ? target.params : params, question, findings };
  } catch (error) {
    return { ...target, findings: [`What its work changes couldn’t be read: ${/** @type {any} */ (error).message}`] };
  }
}

/**
 * The targets as the user decides about them: null while what has to be known of a decision isn't read.
 * @param {Action} action @param {Target[]} targets @returns {Target[] | null}
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
    return () => { isClosed = true; };
  }, []);
  return whole;
}

/** The target of an action on a card. @param {any} card @returns {Target} */
export const cardTarget = (card) => ({ id: card.card_id, text: card.title, params: { priority: card.priority, seen: card.changed_position } });

/** The target of an action on a loop, whose halt is that of one tick: a later one isn’t meant. Viewers see no tokens. @param {any} tick @returns {Target} */
export const tickTarget = (tick) => ({ id: tick.loop, text: tick.loop, params: { token: tick.token ?? undefined } });

/**
 * What may be given: a run that is retried alone may begin with any strategy of the station that failed, if it has several.
 * @param {Action} action @param {Target[]} targets @returns {Field[]}
 */
function useOptions({ method, options = [] }, [{ id }, ...others]) {
  const { data } = useQuery(method === 'run.retry' && others.length === 0 ? 'run.get' : null, { run_id: id });
  const run = data?.run;
  const { data: begin } = useQuery(run ? 'events.read' : null, { run_id: id, from: run?.started_position, limit: 1 });
  const choices = begin?.events[0]?.data.pipeline?.stations.find((/** @type {any} */ { name }) => name === run?.station)?.retry.strategies ?? [];
  return choices.length > 1 ? [{ label: 'Strategy (optional)', param: 'strategy', option: '--strategy', choices, none: 'the first of the station' }, ...options] : options;
}

function ActionDialog(/** @type {{action: Action, targets: Target[]}} */ { action, targets: given }) {
  const dialog = useOwnDialog();
  const whole = useWholeTargets(action, given);
  const targets = whole ?? given;
  const [filled, setFilled] = useState(/** @type {Given} */ ({}));
  const own = targets.length === 1 ? targets[0].params : undefined;
  // A number begins with that of the only target.
  const fields = (action.fields ?? []).map((field) => ({ value: own && field.param in own ? String(own[field.param]) : '', ...field }));
  const isMissing = isEmpty(fields, filled);
  const others = [reasonOf(action), ...useOptions(action, targets)];
  const [done, setDone] = useState(/** @type {Map<string, any>} */ (new Map()));
  const [isRunning, setRunning] = useState(false);
  const [ids] = useState(() => new Map(targets.map(({ id }) => [id, commandId(id)])));
  const refused = targets.filter(({ id }) => done.get(id)?.error);
  const isFinished = done.size === targets.length && refused.length === 0;

  const run = async () => {
    setRunning(true);
    const about = paramsOf(fields, filled);
    const results = new Map([...done].filter(([, result]) => !result.error));
    for (const { id, params } of targets) {
      if (results.has(id)) continue;
      if (!dialog.isShown()) break; // whoever leaves it wants no more of it
      const meant = Object.entries(params ?? {}).filter(([name]) => action.meant?.includes(name));
      try {
        await call(action.method, {
          ...(action.subject === 'service' ? {} : { [ID_PARAMS[action.subject]]: id }), ...action.params, ...Object.fromEntries(meant), command_id: ids.get(id),
          ...paramsOf(others, filled), ...(action.into ? { [action.into]: about } : about),
        });
        results.set(id, {});
      } catch (error) {
        results.set(id, { error });
        // A refusal is an answer: the next try is another command. Without one it is the same.
        if (!isOutcomeUnknown(/** @type {any} */ (error).code)) ids.set(id, commandId(id));
      }
      setDone(new Map(results));
    }
    setRunning(false);
    const failed = targets.filter(({ id }) => results.get(id)?.error).length;
    const left = targets.length - results.size;
    if (failed + left === 0) dialog.close();
    if (left > 0) say(`${action.name}: stopped, not done for ${left} of ${targets.length}`);
    else say(`${action.name}: ${failed ? `refused for ${failed} of ${targets.length}` : 'done'}, ${targets.length === 1 ? targets[0].text : plural(targets.length, action.subject)}`);
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!isRunning && whole) run();
  };
  return html`<form class="action" onSubmit=${onSubmit}>
    <h2 id="dialog-title">${action.name} ${action.subject === 'service' ? '' : targets.length === 1 ? action.subject : plural(targets.length, action.subject)}</h2>
    <p>${action.says}</p>
    <ul class="targets">${targets.map(({ id, text, question, findings }) => html`<li key=${id}>
      <span class="id">${action.subject === 'loop' || action.subject === 'service' ? '' : tailOf(id)}</span> ${text}
      ${action.params?.decision && html`${question && html`<p>${question}</p>`}<${Findings} of=${findings} />`}
      ${done.get(id) && (done.get(id).error ? html`<${Problem} error=${done.get(id).error} />` : html` <span class="tone-good">✔ done</span>`)}
    </li>`)}</ul>
    <${Fields} fields=${[...fields.map((field) => ({ ...field, isRequired: isMissing })), ...others].map((field, at) => ({ autofocus: at === 0, ...field }))} given=${filled} set=${setFilled} />
    ${targets.length === 1 && html`<${FromTerminal} command=${commandLine(action, targets[0], fields, others, filled)} />`}
    <div class="buttons">
      <button type="button" onClick=${closeDialog}>${isFinished ? 'Close' : isRunning && targets.length > 1 ? 'Stop' : 'Leave it'}</button>
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

/** A button that calls a method; where the role forbids that, it says why. @param {{method: string, params?: Record<string, any>, title?: string, run: () => any, [attribute: string]: any}} props */
export function MethodButton({ method, params, title = '', run, children, ...attributes }) {
  const why = whyNot(method, params);
  return html`<button ...${attributes} aria-disabled=${why ? 'true' : null} title=${why ?? title} onClick=${() => why || run()}>${children}</button>`;
}

/** @param {{actions: Action[], targets: Target[], small?: boolean}} props */
export const ActionButtons = ({ actions, targets, small }) => html`<span class="actions">${actions.map((action) => html`<${MethodButton} key=${action.name} class="${small ? 'small' : ''} tone-${action.tone ?? 'busy'}"
  method=${action.method} params=${action.params} title=${action.says} run=${() => confirmAction(action, targets)}>${action.name}<//>`)}</span>`;

/** A button that begins a tick of a loop without waiting for its time. */
export const TickButton = (/** @type {{loop: string, onEnd: (error: any) => void}} */ { loop, onEnd }) => html`<${MethodButton} class="small" method="loop.trigger"
  run=${() => call('loop.trigger', { loop, reason: 'asked for in the console' }).then(() => onEnd(null), onEnd)}>Tick now<//>`;
