/** What waits for a person, the longest first; and below it what is at work. */
import { html } from '../vendor/htm-preact.js';
import { bytesText, plural, wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { movingKeys, useKeys } from '../core/keys.js';
import { moment } from '../core/past.js';
import { usePresentQuery, useQuery } from '../core/query.js';
import { go, hrefOf } from '../core/route.js';
import { msOf } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { ACTIONS, ActionButtons, actionKeys, Findings, THE_SERVICE, confirmAction, findingsOf } from '../parts/actions.js';
import { Later } from '../parts/later.js';
import { Answer, Asking, Commands } from '../parts/notice.js';
import { reportSentence } from '../parts/report_sentence.js';
import { useHeldRow } from '../parts/selected.js';
import { Age, Due } from '../parts/status.js';

/** The likeliest actions for each kind. */
const OFFERED = /** @type {Record<string, string[]>} */ ({
  approval: ['approve', 'reject'], paused_run: ['resume', 'cancel'], failed_run: ['retry'],
  budget: ['extend', 'cancel'], halted_loop: ['recover'], lost_job: ['cancel'], blocked_card: ['unblock'], failed_card: ['unblock'],
});

/** The condition of the service that an action ends. */
const PAUSED = 'service/paused';

const ITEMS_SHOWN = 200;

const keyOf = (/** @type {any} */ item) => [item.kind, item.run_id ?? item.card_id ?? item.loop ?? item.project, item.asked, item.text].join(' ');

/** @param {any} item @returns {{actions: Action[], targets: Target[]}} */
function offerOf(item) {
  const offered = item.id === PAUSED ? ['resumeAll'] : OFFERED[item.kind] ?? [];
  const actions = offered.map((name) => ACTIONS[name]);
  const ids = { run: item.run_id, card: item.card_id, loop: item.loop, service: THE_SERVICE.id };
  const id = actions[0] && ids[actions[0].subject];
  const { asked, station, failed_position, token, since_position: seen } = item;
  return { actions: id ? actions : [], targets: [{ id, text: item.subject ?? item.text, params: asked ? { asked, station } : { failed_position, token: token ?? undefined, seen } }] };
}

/** Returns the page about an item, and its params. @param {any} item @returns {[string, Record<string, string | undefined>]} */
function pageOf(item) {
  if (item.run_id) return ['run', { id: item.run_id, tab: item.kind === 'approval' ? 'change' : undefined }];
  if (item.card_id) return ['card', { id: item.card_id }];
  if (item.loop) return ['loops', {}];
  if (item.project) return ['projects', { name: item.project }];
  return ['server', {}];
}

/** A position in the change that nothing of its text follows. */
const BEHIND_IT = Number.MAX_SAFE_INTEGER;

/** How large the change of a run is while it is in the worktree. @param {{runId: string}} props */
function ChangeSize({ runId }) {
  const at = useSignal(moment);
  const { data } = usePresentQuery(at === null ? 'run.diff' : null, { run_id: runId, offset: BEHIND_IT });
  return data?.files ? html` <span class="faint">${plural(data.files, 'file')}, +${data.added} −${data.removed}</span>` : null;
}

function Item(/** @type {{item: any, isSelected: boolean}} */ { item, isSelected }) {
  const { actions, targets } = offerOf(item);
  const about = item.subject ?? item.loop ?? item.project;
  return html`<li class="item ${isSelected ? 'selected' : ''}" aria-current=${isSelected ? 'true' : null}>
    <span class="kind tone-${item.kind.includes('failed') || item.kind === 'service' ? 'bad' : 'wait'}">${wordsOf(item.kind)}</span>
    <span class="age"><${Age} time=${item.since} /></span>
    <div class="item-text">
      ${about && html`<a class="strong" href=${hrefOf(...pageOf(item))}>${about}</a>`}
      ${item.project && about !== item.project && html` <span class="faint">${item.project}</span>`}
      ${item.patch_bytes > 0 && html` <span class="faint">patch of ${bytesText(item.patch_bytes)}</span>`}
      ${item.kind === 'approval' && item.patch_bytes === undefined && isSelected && html`<${ChangeSize} runId=${item.run_id} />`}
      <p>${about ? item.text : html`<a href=${hrefOf(...pageOf(item))}>${item.text}</a>`}</p>
      <${Findings} of=${findingsOf(item)} />
      ${(isSelected || actions.length === 0) && html`<${Commands} commands=${item.next_commands} />`}
    </div>
    <${ActionButtons} actions=${actions} targets=${targets} small=${true} /></li>`;
}

const LAST_NIGHT = '12h';

/** The first of these loops that is due starts the next work by itself. */
const STARTING_LOOPS = ['heartbeat', 'synthesizer'];

/** @param {any} data an answer of loop.list @returns {any} */
function nextTick({ loops }) {
  const due = loops.filter((/** @type {any} */ { loop, next_due_at: at }) => at && STARTING_LOOPS.includes(loop));
  return due.sort((/** @type {any} */ a, /** @type {any} */ b) => (msOf(a.next_due_at) ?? 0) - (msOf(b.next_due_at) ?? 0))[0];
}

/** What is said when nothing waits for a person: when the service goes on by itself, and what it did. */
function Calm() {
  const loops = useQuery('loop.list');
  const report = useQuery(has('report.get') ? 'report.get' : null, { since: LAST_NIGHT });
  const next = loops.data && nextTick(loops.data);
  return html`<div class="calm"><p>Nothing needs you.</p>
    ${next && html`<p class="aside">The next tick of the ${next.loop} is <${Due} time=${next.next_due_at} />.</p>`}
    ${report.data && html`<p class="aside">In the last 12 hours ${reportSentence(report.data)}. ${has('timeline.get') && html`<a href=${hrefOf('night', { since: LAST_NIGHT })}>Night</a>`}</p>`}</div>`;
}

export function Inbox() {
  const answer = useQuery('attention.list', { limit: ITEMS_SHOWN });
  const items = answer.data?.items ?? [];
  const [at, setAt] = useHeldRow(items.map(keyOf), true);
  const item = items[at];
  const act = (/** @type {string} */ name) => {
    const { actions, targets } = item ? offerOf(item) : { actions: [], targets: [] };
    if (actions.includes(ACTIONS[name])) confirmAction(ACTIONS[name], targets);
  };
  const open = () => {
    if (item) go(...pageOf(item));
  };
  useKeys([
    ...movingKeys(items.length, at, setAt), ...actionKeys(act).filter(({ keys }) => 'aR'.includes(keys)),
    { keys: 'Enter', text: 'Open', run: open },
    { keys: 'u', text: 'Resume or unblock', run: () => { act('resume'); act('unblock'); act('resumeAll'); } },
  ], [at, answer.data]);
  return html`<div class="page inbox"><h1>Needs you ${answer.data && html`<span class="faint">${answer.data.total}${answer.data.capped && '+'}</span>`}</h1>
    <${Answer} answer=${answer}>${(data) => html`
      ${data.total === 0 && html`<${Calm} />`}
      ${data.total > 0 && html`<p class="kinds">${Object.entries(data.counts).map(([kind, count]) => html`<span>${plural(/** @type {number} */ (count), wordsOf(kind))}</span>`)}</p>`}
      <ul class="items">${data.items.map((/** @type {any} */ each, /** @type {number} */ index) => html`<${Item} key=${keyOf(each)} item=${each} isSelected=${index === at} />`)}</ul>
      ${data.total > data.items.length && html`<p class="faint">${data.total - data.items.length}${data.capped && '+'} more</p>`}`}<//>
    <${Later} load=${() => import('./at_work.js').then(({ Working }) => Working)} meanwhile=${html`<${Asking} />`} /></div>`;
}
