/** What is on every page: navigation, the state of the connection, what needs the user. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { has, identity } from '../core/identity.js';
import { countText, plural } from '../core/figures.js';
import { shortcuts, useKeys } from '../core/keys.js';
import '../core/last_visit.js';
import { connection, connectionState, onEvents, signOut } from '../core/live.js';
import { moment, show } from '../core/past.js';
import { usePresentQuery } from '../core/query.js';
import { answeredPosition, wholeEvent } from '../core/rpc.js';
import { go, hrefOf, route } from '../core/route.js';
import { nextTheme, theme } from '../core/theme.js';
import { ageText, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { closeDialog, DialogPlace, openDialog } from './dialog.js';
import { Said } from './focus.js';
import { firstPage, Later } from './later.js';
import { PauseNotice } from './pause_notice.js';
import { BELONGS, placesHere } from './places.js';
import { Age } from './status.js';

const loadPalette = () => import('./palette.js');
/** The search is loaded after the first look: until it is there, its dialog takes the keys. */
let isPaletteHere = false;

async function openPalette() {
  if (!isPaletteHere) openDialog(() => html`<h2 id="dialog-title">Search or command</h2><p class="loading">loading …</p>`);
  await loadPalette().then((palette) => palette.openPalette(), closeDialog);
}

/** The only page of a capsule. */
const THE_RUN = { page: 'run', name: 'Run', mark: '≡' };

/** Screen readers say the state when it changes, and not the times and positions beside it. */
function Connection() {
  const { state, since, retryAt, position, lagMs } = useSignal(connection);
  const present = useSignal(now);
  const newest = Math.max(position, useSignal(answeredPosition));
  const place = newest ? html`<a class="id" href=${hrefOf('events')}>#${countText(newest)}</a>` : null;
  if (state === 'live') {
    return html`<span class="connection"><span class="tone-good" role="status">● live</span> ${place}
      <span class="faint lag" title="from the event’s record to this page">${lagMs === null ? '' : `${lagMs} ms`}</span></span>`;
  }
  if (state === 'stopped' && identity.peek()?.capsule) return html`<span class="connection" title="a file: no service is asked"><span class="tone-wait" role="status">■ a capsule</span></span>`;
  if (state === 'stopped') return html`<span class="connection" title="the service doesn’t run: this is its log"><span class="tone-wait" role="status">■ stopped log</span></span> ${place}`;
  if (state === 'refused') return html`<span class="connection"><span class="tone-bad" role="status">■ not admitted</span></span>`;
  if (state === 'connecting') return html`<span class="connection"><span class="faint" role="status">◌ connecting</span></span>`;
  const wait = Math.max(0, Math.ceil(((retryAt ?? present) - present) / 1000));
  return html`<span class="connection tone-bad"><span role="status">■ the service is away</span> since ${ageText(present - since)} <span class="faint">tries again ${wait ? `in ${wait} s` : 'now'}</span></span>`;
}

/** Says that the service crashed under the page, until that is dismissed. */
function CrashNotice() {
  const [crash, setCrash] = useState(/** @type {any} */ (null));
  useEffect(() => onEvents((events) => {
    const found = events.findLast(({ type }) => type === 'RecoveryFinished');
    if (found) wholeEvent(found).then(setCrash, () => {});
  }), []);
  if (!crash) return null;
  const { items_total: inFlight, incarnation } = crash.data;
  return html`<p class="announcement"><span role="status"><b class="tone-bad">The service crashed</b> and came back as incarnation ${incarnation}.</span>
    <span class="faint"><${Age} time=${crash.recorded_at} /> ago</span> <a href=${hrefOf('loops')}>${plural(inFlight, 'thing')} in flight</a> <button class="quiet" onClick=${() => setCrash(null)}>dismiss</button></p>`;
}

/** What is known of a capsule: that its records are those of the log, and who says so. */
function CapsuleNotice() {
  const capsule = useSignal(identity)?.capsule;
  if (!capsule) return null;
  return html`<p class="announcement ${capsule.signature_checked ? 'good' : 'wait'}" role="status"><span><b>The capsule of a run.</b> Each of its ${plural(capsule.records, 'record')} is proven to be in the log <b>${capsule.origin}</b> as of its record #${countText(capsule.size)}:
    ${' '}${capsule.signature_checked ? html`<span class="tone-good">✔ signed by a key that you trust</span>` : html`<span class="tone-wait">◐ nobody vouches for that log: name the key with --key</span>`}. That the run has no other records isn’t proven. Output, reasons, and what happened since aren’t in a capsule.</span></p>`;
}

function Help() {
  const list = [...shortcuts.peek()];
  return html`<div><h2 id="dialog-title">Keys</h2>
    <dl class="keys">${list.map(({ keys, text }) => html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd></div>`)}</dl>
    <p class="faint">No key does anything that can’t be undone without asking first.</p></div>`;
}

/** Shows in the title and the icon how much needs the user: what a second screen signals. */
function useSignalOutside(/** @type {string} */ waiting) {
  useEffect(() => {
    document.title = waiting ? `(${waiting}) Signalbox` : 'Signalbox';
    const icon = document.querySelector('link[rel=icon]');
    const name = waiting ? 'icon_waiting.svg' : 'icon.svg';
    if (icon) icon.setAttribute('href', new URL(`../${name}`, import.meta.url).href);
  }, [waiting]);
}

export function Shell(/** @type {{children: any}} */ { children }) {
  const { page } = useSignal(route);
  const who = useSignal(identity);
  const chosen = useSignal(theme);
  const state = useSignal(connectionState);
  const at = useSignal(moment);
  const { data } = usePresentQuery(has('attention.list') ? 'attention.list' : null, { limit: 1 });
  const waiting = data?.total ? `${data.total}${data.capped ? '+' : ''}` : '';
  const present = who?.capsule ? 'run' : BELONGS[page] ?? page;
  useEffect(() => {
    // A link to a moment, on a service that answers nothing about the past.
    if (at !== null && !has('events.histogram')) show(null);
  }, [at]);
  useSignalOutside(waiting);
  useKeys([
    ...placesHere().map(({ page: place, key, name }) => ({ keys: `g ${key}`, text: name, run: () => go(place) })),
    ...(has('run.list') ? [{ keys: '/', text: 'Search, or do something', run: openPalette }, { keys: '.', text: 'What can be done with what is selected', run: openPalette }] : []),
    { keys: '?', text: 'These keys', run: () => openDialog(Help) },
  ], []);
  useEffect(() => { firstPage.then(loadPalette).then(() => { isPaletteHere = true; }, () => {}); }, []);
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (!(event.metaKey || event.ctrlKey) || event.key !== 'k' || !has('run.list')) return;
      event.preventDefault();
      openPalette();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return html`
    <a class="skip" href="#main">To the content</a>
    <header class="bar">
      <a class="brand" href=${hrefOf('inbox')}>Signalbox</a>
      ${has('run.list') && html`<button class="search" onClick=${openPalette}><span>Search or command</span> <kbd>/</kbd></button>`}
      <${Connection} />
      ${!who?.capsule && html`<${Later} isAfterPage=${true} load=${() => import('../proof/proof_badge.js').then(({ ProofBadge }) => ProofBadge)} />`}
      <span class="who faint" title="who the service takes you for">${who && !who.capsule ? `${who.actor} · ${who.role}` : ''}</span>
      ${who?.actor.startsWith('token:') && html`<button class="quiet who" onClick=${signOut} title="Forget the access token">sign out</button>`}
      <button class="quiet" onClick=${nextTheme} aria-label="Colours: ${chosen}" title="Colours: ${chosen}">◐</button>
    </header>
    <nav aria-label="Pages">${(who?.capsule ? [THE_RUN] : placesHere()).map(({ page: place, name, mark }) => html`
      <a href=${hrefOf(place)} aria-current=${place === present ? 'page' : null}>
        <span class="mark" aria-hidden="true">${mark}</span><span class="name">${name}</span>
        ${place === 'inbox' && waiting && html`<b class="count" aria-label="${waiting} wait">${waiting}</b>`}</a>`)}</nav>
    <main id="main" tabindex="-1" class="${state === 'away' ? 'stale' : ''} ${at === null ? '' : 'past'}"><${CrashNotice} /><${CapsuleNotice} /><${PauseNotice} />${children}</main>
    ${has('events.histogram') && html`<${Later} isAfterPage=${true} load=${() => import('./time_bar.js').then(({ TimeBar }) => TimeBar)} meanwhile=${html`<footer class="time-bar" aria-busy="true"></footer>`} />`}
    <${Said} />
    <${DialogPlace} />`;
}
