/** The cards by status, and who has an agent. */
import { html, useState } from '../vendor/htm-preact.js';
import { plural } from '../core/figures.js';
import { whyNot } from '../core/identity.js';
import { useKeys } from '../core/keys.js';
import { useQuery } from '../core/query.js';
import { change, go, hrefOf } from '../core/route.js';
import { clockText } from '../core/time_text.js';
import { ACTIONS, ActionButtons, cardTarget, MethodButton, TickButton } from '../parts/actions.js';
import { openDialog } from '../parts/dialog.js';
import { Answer, Empty, Problem } from '../parts/notice.js';
import { Age, Status } from '../parts/status.js';
import { stateOf } from './card.js';
import { SubmitCard } from './new_work.js';

const CARDS_SHOWN = 50;
/** Each is a question of its own. */
const LANES_SHOWN = 20;

function BoardCard(/** @type {{card: any}} */ { card }) {
  const why = card.waiting?.text ?? stateOf(card);
  return html`<li class="card"><a href=${hrefOf('card', { id: card.card_id })}>${card.title}</a>
    <p class="faint">${card.project} · <${Age} time=${card.changed_at} />${card.attempts > 1 ? ` · ${plural(card.attempts, 'attempt')}` : ''}${card.priority ? ` · priority ${card.priority}` : ''}</p>
    ${why && html`<p class="why">${why}</p>`}
    ${card.retry_at && html`<p class="faint">is tried again at ${clockText(card.retry_at)}</p>`}
    ${ACTIONS.prioritize.allows(card) && html`<${ActionButtons} actions=${[ACTIONS.prioritize]} targets=${[cardTarget(card)]} small=${true} />`}</li>`;
}

/** @param {any} board */
const hasSeveralProjects = (board) => new Set(board?.columns.flatMap((/** @type {any} */ column) => column.cards.map((/** @type {any} */ card) => card.project))).size > 1;

function Agents(/** @type {{agents: any}} */ { agents }) {
  return html`<p class="kinds"><span>${plural(agents.total, 'agent')} at work</span>
    ${agents.projects.map((/** @type {any} */ each) => html`<span key=${each.project} class="faint">${each.project} ${each.agents}${each.limit ? ` of ${each.limit}` : ''}</span>`)}</p>`;
}

function Columns(/** @type {{columns: any[], project?: string}} */ { columns, project }) {
  return html`<div class="columns" tabindex="0" role="group" aria-label=${project ? `Columns of ${project}` : 'Columns'}>${columns.map((column) => html`<section key=${column.status} class="column" aria-label=${project ? `${project}: ${column.status}` : column.status}>
    <h2><${Status} status=${column.status} /> <span class="faint">${column.total}</span></h2>
    <ul>${column.cards.map((/** @type {any} */ card) => html`<${BoardCard} key=${card.card_id} card=${card} />`)}</ul>
    ${column.total > column.cards.length && html`<p class="faint">${column.total - column.cards.length} more</p>`}</section>`)}</div>`;
}

/** The board of one project among others; none if it has no card. @param {{project: string}} props */
function Lane({ project }) {
  const { data, error } = useQuery('board.get', { limit: CARDS_SHOWN, project });
  if (error) return html`<${Problem} error=${error} />`;
  if (!data || data.columns.every((/** @type {any} */ column) => column.total === 0)) return null;
  return html`<section class="lane" aria-label=${project}><h2><a href=${hrefOf('board', { project })}>${project}</a></h2>
    <${Columns} columns=${data.columns} project=${project} /></section>`;
}

function Lanes() {
  const answer = useQuery('project.list', { limit: LANES_SHOWN });
  return html`<${Answer} answer=${answer}>${({ projects, next_cursor: more }) => html`<div class="lanes">
    ${projects.map((/** @type {any} */ { name }) => html`<${Lane} key=${name} project=${name} />`)}
    ${more && html`<p class="faint">The first ${projects.length} projects; the page <a href=${hrefOf('projects')}>Projects</a> has all of them.</p>`}</div>`}<//>`;
}

export function Board(/** @type {{params: Record<string, string>}} */ { params: { project, lanes } }) {
  const isInLanes = lanes === 'project' && !project;
  const [error, setError] = useState(/** @type {any} */ (null));
  const answer = useQuery('board.get', { limit: CARDS_SHOWN, project: project || undefined });
  const submit = () => whyNot('card.submit') || openDialog(() => html`<${SubmitCard} project=${project} />`);
  useKeys([{ keys: 'n', text: 'Submit a card', run: submit }, { keys: 'P', text: 'Projects', run: () => go('projects') }], [project]);
  return html`<div class="page board filled"><div class="head"><h1>Board${project ? html` <span class="faint">${project}</span>` : ''}</h1>
      <span class="actions">${project && html`<button class="quiet" onClick=${() => change({ project: undefined })}>all projects</button>`}
        ${(isInLanes || hasSeveralProjects(answer.data)) && html`<button class="chip" aria-pressed=${isInLanes} onClick=${() => change({ lanes: isInLanes ? undefined : 'project' })}>by project</button>`}
        <${TickButton} loop="heartbeat" onEnd=${setError} /> <${MethodButton} class="small" method="card.submit" run=${submit}>Submit a card<//></span></div>
    <${Problem} error=${error} />
    <${Answer} answer=${answer}>${(data) => html`<${Agents} agents=${data.agents} />
      ${data.held.map((/** @type {any} */ held) => html`<p key=${held.project} class="problem"><b>${held.project}</b> ${held.text}</p>`)}
      ${data.columns.every((/** @type {any} */ column) => column.total === 0) && html`<${Empty} text="The board is empty." command=${'signalbox card submit PROJECT "a title"'} />`}
      ${isInLanes ? html`<${Lanes} />` : html`<${Columns} columns=${data.columns} />`}`}<//></div>`;
}
