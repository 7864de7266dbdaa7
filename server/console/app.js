/** Starts the console: who the user is, then the page that the address names, then the events. */
import { html, render, useEffect, useErrorBoundary, useState } from './vendor/htm-preact.js';
import { identify, identity } from './core/identity.js';
import { follow, tokenOfOtherTabs } from './core/live.js';
import { hrefOf, interceptLinks, route } from './core/route.js';
import { forgetToken, keepToken, refusal, takeTokenFromAddress, token } from './core/session.js';
import './core/theme.js';
import { useSignal } from './core/use_signal.js';
import { keepFocus } from './parts/focus.js';
import { firstPageIsThere, Later } from './parts/later.js';
import { Problem } from './parts/notice.js';
import { kioskPage } from './parts/places.js';
import { Shell } from './parts/shell.js';

/** Each page is loaded when it is first opened. */
const PAGES = /** @type {Record<string, () => Promise<(props: any) => any>>} */ ({
  inbox: () => import('./pages/inbox.js').then(({ Inbox }) => Inbox),
  board: () => import('./pages/board.js').then(({ Board }) => Board),
  card: () => import('./pages/card.js').then(({ Card }) => Card),
  runs: () => import('./pages/runs.js').then(({ Runs }) => Runs),
  run: () => import('./pages/run.js').then(({ Run }) => Run),
  night: () => import('./pages/night.js').then(({ Night }) => Night),
  loops: () => import('./pages/loops.js').then(({ Loops }) => Loops),
  whatif: () => import('./pages/what_if.js').then(({ WhatIf }) => WhatIf),
  compare: () => import('./pages/compare.js').then(({ Compare }) => Compare),
  events: () => import('./pages/events.js').then(({ Events }) => Events),
  projects: () => import('./pages/projects.js').then(({ Projects }) => Projects),
  audit: () => import('./pages/audit.js').then(({ Audit }) => Audit),
  server: () => import('./pages/server.js').then(({ Server }) => Server),
});

const RETRY_MS = 1000;

/** Returns what loads this page, which may have any name: it is from the address. @param {string} page */
const loaderOf = (page) => (Object.hasOwn(PAGES, page) ? PAGES[page] : async () => NotFound);

const NotFound = () => html`<div class="empty"><p>The console has no such page.</p><a href=${hrefOf('inbox')}>What needs you</a></div>`;

/** One page; a defect in it leaves the rest of the console usable. */
function Page() {
  const { page: asked, params: given } = useSignal(route);
  const capsule = useSignal(identity)?.capsule;
  // Links to other pages lead to the run of a capsule: nothing else is there.
  const page = capsule ? 'run' : kioskPage(given) ?? asked;
  const params = capsule ? { ...given, id: capsule.run_id, ...(asked === 'events' ? { tab: 'events' } : {}) } : given;
  const [defect, forget] = useErrorBoundary();
  const [shown, setShown] = useState(/** @type {{page: string, content: any, failed?: boolean}} */ ({ page: '', content: null }));
  useEffect(() => {
    forget();
    loaderOf(page)().then((content) => setShown({ page, content }), () => setShown({ page, content: null, failed: true }));
  }, [page]);
  useEffect(() => {
    if (shown.page || defect) firstPageIsThere();
  }, [shown.page, defect]);
  if (defect) return html`<${Problem} error=${{ code: 'CONSOLE', message: `this page has a defect: ${defect.message}` }} />`;
  if (shown.page === page && shown.failed) {
    return html`<div class="empty"><p>This page can’t be loaded. Another version of the service may be there since.</p>
      <button onClick=${() => location.reload()}>Load the console again</button></div>`;
  }
  return shown.page === page ? html`<${shown.content} params=${params} />` : html`<p class="loading" aria-busy="true">loading …</p>`;
}

const Kiosk = (/** @type {{children: any}} */ { children }) => html`<${Later} load=${() => import('./parts/kiosk.js').then((kiosk) => kiosk.Kiosk)}
  meanwhile=${html`<main class="alone" aria-busy="true"><p class="loading">loading …</p></main>`}>${children}<//>`;

function App() {
  const { params } = useSignal(route);
  const who = useSignal(identity);
  const refused = useSignal(refusal);
  const [failure, setFailure] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (refused || who) return undefined;
    let timer = 0;
    const ask = () => {
      const asked = token();
      identify().then(follow, (error) => {
        setFailure(error);
        // A link's: the next look is without it. One that was accepted while this was asked with another one stays.
        if (error.code === 'UNAUTHENTICATED' && asked === offered && token() === asked) forgetToken();
        if (error.code === 'UNREACHABLE') timer = setTimeout(ask, RETRY_MS);
      });
    };
    ask();
    return () => clearTimeout(timer);
  }, [refused]);
  if (refused) return html`<${Later} load=${() => import('./pages/sign_in.js').then(({ SignIn }) => SignIn)} />`;
  // The first of it is what the page has before its modules are there.
  if (!who) return html`<main class="alone">${failure ? html`<${Problem} error=${failure} />` : html`<p class="loading">Signalbox …</p>`}</main>`;
  const Frame = kioskPage(params) ? Kiosk : Shell;
  return html`<${Frame}><${Page} /><//>`;
}

const offered = takeTokenFromAddress();
if (!token()) {
  const secret = await tokenOfOtherTabs() || offered;
  if (secret) keepToken(secret, false);
}
if (offered && offered !== token()) import('./parts/offered_token.js').then(({ tryToken }) => tryToken(offered)).catch(() => {});
interceptLinks();
// The page's modules come while the service is asked who the user is.
loaderOf(route.peek().page)().catch(() => {});
keepFocus();
const place = /** @type {Element} */ (document.getElementById('app'));
place.replaceChildren();
render(html`<${App} />`, place);
