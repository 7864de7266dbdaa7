/** One card: its brief, why it stands where it does, its runs and its history. */
import { html } from '../vendor/htm-preact.js';
import { plural, tailOf, wordsOf } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { actionsFor, ActionButtons, cardTarget } from '../parts/actions.js';
import { EventList } from '../parts/event_list.js';
import { Answer } from '../parts/notice.js';
import { Facts, Rows } from '../parts/rows.js';
import { useSelected } from '../parts/selected.js';
import { Age, RunLink, Status } from '../parts/status.js';
import { Waterfall } from '../parts/waterfall.js';
import { Reasons } from './reasons.js';

/** So many of its runs, the latest, are drawn. */
const DRAWN_MAX = 3;

/** Why the card is blocked or failed, without saying so twice. @param {any} card */
export function stateOf({ code, message, status }) {
  if (!code) return '';
  return code.toLowerCase() === status ? message : `${wordsOf(code)}: ${message}`;
}

/** What one run of the card did over time; nothing of one whose records are gone. @param {{run: any}} props */
function RunOverTime({ run: { run_id: id } }) {
  const { data } = useQuery('run.trace', { run_id: id });
  return data ? html`<${Waterfall} trace=${data} label="Run ${tailOf(id)} over time" />` : null;
}

function CardRuns(/** @type {{card: any}} */ { card }) {
  if (card.runs.length === 0) return null;
  const latest = [...card.runs].sort((a, b) => b.started_at.localeCompare(a.started_at)).slice(0, DRAWN_MAX);
  return html`<section aria-label="Runs"><h2>Runs</h2><${Rows} label="Runs of the card" heads=${['run', 'kind', 'started']} isHeadUnseen=${true}>
    <tbody>${card.runs.map((/** @type {any} */ run) => html`<tr key=${run.run_id}><td><${RunLink} id=${run.run_id} /></td>
      <td class="wide">${run.kind === 'merge' ? 'merges it' : `attempt ${run.attempt ?? ''}`}</td><td class="number"><${Age} time=${run.started_at} /> ago</td></tr>`)}</tbody><//>
    ${latest.map((run) => html`<${RunOverTime} key=${run.run_id} run=${run} />`)}</section>`;
}

export function Card(/** @type {{params: Record<string, string>}} */ { params: { id } }) {
  const answer = useQuery('card.get', { card_id: id });
  const why = useQuery('card.why', { card_id: id });
  const card = answer.data?.card;
  useSelected('card', card);
  return html`<div class="page card-page"><${Answer} answer=${answer}>${() => html`
    <div class="head"><div class="run-title"><span class="faint"><a href=${hrefOf('board', { project: card.project })}>Board</a> / ${card.project} / <span class="id">${id}</span></span><h1>${card.title}</h1></div>
      <${ActionButtons} actions=${actionsFor('card', card)} targets=${[cardTarget(card)]} /></div>
    <p class="sentence" aria-busy=${why.data || why.error ? null : 'true'}><${Status} status=${card.status} /> ${stateOf(card) || (why.data?.reasons[0]?.text ?? '')}</p>
    <${Facts} of=${[
      ['attempts', card.attempts], ['priority', card.priority], ['submitted', html`<${Age} time=${card.submitted_at} /> ago by ${card.submitted_by}`],
      ['key', card.key], ['commit', card.commit && html`<code>${card.commit.slice(0, 12)}</code>`],
    ]} />
    ${card.brief && html`<section aria-label="Brief"><h2>Brief</h2><pre class="brief" tabindex="0">${card.brief}</pre></section>`}
    ${card.checks_changed && html`<section aria-label="Changed checks"><h2>Changed checks</h2><p class="tone-bad">The work changes files that decide how it is checked: ${card.checks_changed.join(', ')}.</p></section>`}
    ${card.left_out && html`<section aria-label="Left out"><h2>Left out of its commits</h2><ul>${card.left_out.map((/** @type {string} */ sentence) => html`<li>${sentence}</li>`)}</ul></section>`}
    <section aria-label="Why"><h2>Why</h2><${Answer} answer=${why}>${(data) => html`<${Reasons} why=${data} />`}<//></section>
    <${CardRuns} card=${card} />
    <section aria-label="History"><h2>History <span class="faint">${plural(card.history_total, 'event')}</span></h2>
      <${EventList} events=${card.history.map((/** @type {any} */ event) => ({ stream: `card/${id}`, ...event }))} /></section>`}<//></div>`;
}
