/** The service itself: its state, its figures over the last minutes, its tokens and its limits. */
import { html } from '../vendor/htm-preact.js';
import { countText, valueText, wordsOf } from '../core/figures.js';
import { has, identity } from '../core/identity.js';
import { moment } from '../core/past.js';
import { useQuery } from '../core/query.js';
import { useSignal } from '../core/use_signal.js';
import { ActionButtons, THE_SERVICE, actionsFor } from '../parts/actions.js';
import { Answer, Command } from '../parts/notice.js';
import { Facts, Rows } from '../parts/rows.js';
import { Age } from '../parts/status.js';
import { Sparklines } from './sparklines.js';

/** @param {{status: any}} props */
function Conditions({ status }) {
  const bad = [
    status.storage_full && 'The disk is full: no event can be recorded.',
    status.paused && `Nothing new begins: ${status.paused.by} paused the service${status.paused.reason ? `: ${status.paused.reason}` : ''}.`,
    ...status.disk_failures,
    // A stopped log has no run roots.
    ...(status.run_root_failures ?? []).map((/** @type {any} */ each) => each.error ?? valueText(each)),
    status.read_models_rebuild && `Read models are computed again: ${status.read_models_rebuild.reason}.`,
    status.settings?.refused && `The latest reload was refused: ${valueText(status.settings.refused)}`,
    status.certificate && status.certificate.state !== 'valid' && `The certificate: ${wordsOf(status.certificate.state)}.`,
    status.retention?.last?.error && `The latest retention failed: ${valueText(status.retention.last.error)}`,
    status.projects_held.total > 0 && `Held projects: ${status.projects_held.projects.join(', ')}.`,
  ].filter(Boolean);
  if (bad.length === 0) return html`<p class="tone-good">✔ No condition of the service needs you.</p>`;
  return html`<div class="problem" role="alert"><ul>${bad.map((text) => html`<li key=${text}>${text}</li>`)}</ul></div>`;
}

const FIGURES = ['open_runs', 'ready_stations', 'waiting_claims', 'held_locks', 'waiting_locks', 'subscriptions'];

function Status() {
  const at = useSignal(moment);
  const answer = useQuery('server.status');
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ status) => html`<${Conditions} status=${status} />
    <${ActionButtons} actions=${actionsFor('service', status)} targets=${[THE_SERVICE]} />
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
  return html`<div class="page server"><h1>Server</h1><${Status} />${at === null && has('server.metrics') && html`<${Sparklines} />`}
    ${who?.methods.includes('access.list') && html`<${Tokens} />`}<${Limits} /></div>`;
}
