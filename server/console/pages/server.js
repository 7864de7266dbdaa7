/** The service itself: its state, its figures over the last minutes, its tokens and its limits. */
import { html } from '../vendor/htm-preact.js';
import { countText, wordsOf } from '../core/figures.js';
import { has, identity } from '../core/identity.js';
import { moment } from '../core/past.js';
import { useQuery } from '../core/query.js';
import { useSignal } from '../core/use_signal.js';
import { ActionButtons, actionsFor, serviceTarget } from '../parts/actions.js';
import { Answer, Command, Commands } from '../parts/notice.js';
import { Facts, Rows } from '../parts/rows.js';
import { Age } from '../parts/status.js';
import { Sparklines } from './sparklines.js';

/** What the inbox has of the service itself, and of projects of which nothing is started. */
function Conditions() {
  const answer = useQuery('attention.list', { kinds: ['service', 'held_project'], limit: 100 });
  return html`<${Answer} answer=${answer}>${({ items }) => (items.length === 0 ? html`<p class="tone-good">✔ No condition of the service needs you.</p>`
    : html`<div class="problem" role="alert"><ul>${items.map((/** @type {any} */ { id, text, next_commands: next, project }) => html`<li key=${id}>${project && `${project}: `}${text} <${Commands} commands=${next} /></li>`)}</ul></div>`)}<//>`;
}

const FIGURES = ['open_runs', 'ready_stations', 'waiting_claims', 'held_locks', 'waiting_locks', 'subscriptions'];

function Status() {
  const at = useSignal(moment);
  const answer = useQuery('server.status');
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ status) => html`
    <${ActionButtons} actions=${actionsFor('service', status)} targets=${[serviceTarget(status.paused)]} />
    <${Facts} of=${[
      ['version', status.version],
      // When the process that answers started: of the past, and of a log without a service, nobody knows it.
      at !== null || !status.started_at ? ['incarnation', status.incarnation] : ['started', html`<${Age} time=${status.started_at} /> ago, incarnation ${status.incarnation}`],
      ['log', `#${countText(status.durable_position)}`], ...FIGURES.map((name) => [wordsOf(name), status[name] ?? 'not known']),
      ['data directory', html`<code>${status.data_directory}</code>`], ['state digest', html`<code>${status.state_digest?.slice(0, 16) ?? 'not known'}</code>`],
    ]} />`}<//>`;
}

function Tokens() {
  const answer = useQuery('access.list');
  return html`<section aria-label="Access tokens"><h2>Access tokens</h2><${Answer} answer=${answer}>${(/** @type {any} */ data) => html`
    <${Rows} label="Tokens" heads=${['name', 'role', 'status', 'issued', 'by', 'ends']}><tbody>${data.tokens.map((/** @type {any} */ token) => html`<tr key=${token.id}>
      <td class="cut">${token.name}</td><td>${token.role}</td><td class=${token.status === 'usable' ? 'tone-good' : 'faint'}>${token.status}</td><td><${Age} time=${token.issued_at} /></td>
      <td class="cut wide faint">${token.issued_by}</td><td>${token.expires_at ? new Date(token.expires_at).toLocaleString() : 'never'}</td></tr>`)}</tbody><//>
    <p class="faint">Without a token, over TCP from this machine: <b class=${data.without_token?.tcp_loopback ? 'tone-wait' : ''}>${data.without_token?.tcp_loopback ?? 'refused'}</b>.</p>
    <${Command} command="signalbox access issue NAME --role operator --expires-in 12h" />
    ${location.protocol === 'https:' && html`<p>For a phone: <${Command} command="signalbox access issue NAME --pair ${location.origin}" /></p>`}`}<//></section>`;
}

function Limits() {
  const answer = useQuery('server.limits');
  return html`<details><summary>Limits</summary><${Answer} answer=${answer}>${(/** @type {any} */ data) => html`<${Rows} label="All limits" heads=${['limit', 'value']} isHeadUnseen=${true} kind="limits">
    <tbody>${Object.entries(data).filter(([name]) => name !== 'position').map(([name, value]) => html`<tr key=${name}><td class="mono">${name}</td><td class="number">${countText(/** @type {number} */ (value))}</td></tr>`)}</tbody><//>`}<//></details>`;
}

export function Server() {
  const who = useSignal(identity);
  const at = useSignal(moment);
  return html`<div class="page server"><h1>Server</h1>${has('attention.list') && html`<${Conditions} />`}<${Status} />${at === null && has('server.metrics') && html`<${Sparklines} />`}
    ${who?.methods.includes('access.list') && html`<${Tokens} />`}<${Limits} /></div>`;
}
