/**
 * What the address says is on screen: `/console/?page=run&id=…`. Filters, tabs and selections are
 * in it too, so that a page can be sent to somebody and survives a reload.
 */
import { signal } from '../vendor/signals-core.js';

/** @typedef {{page: string, params: Record<string, string>}} Route */

const HOME = 'inbox';

/** @returns {Route} */
function readAddress() {
  const { page = HOME, ...params } = Object.fromEntries(new URLSearchParams(location.search));
  return { page, params };
}

export const route = signal(readAddress());

addEventListener('popstate', () => { route.value = readAddress(); });

/**
 * Returns the address of a page, as of the same moment as the one on screen.
 * @param {string} page @param {Record<string, string | undefined>} [params] those that are empty are left out
 */
export function hrefOf(page, params = {}) {
  const query = new URLSearchParams({ page });
  const { at } = route.peek().params;
  for (const [name, value] of Object.entries({ ...params, at: 'at' in params ? params.at : at })) if (value) query.set(name, value);
  return `?${query}`;
}

/** @param {string} page @param {Record<string, string | undefined>} [params] */
export function go(page, params = {}) {
  history.pushState(null, '', hrefOf(page, params));
  route.value = readAddress();
  // What had the focus may be gone; the next Tab goes into the page.
  const main = document.querySelector('main');
  main?.scrollTo(0, 0);
  main?.focus();
}

/** Changes params of the present page; undefined removes one. The way back skips this step. */
export function change(/** @type {Record<string, string | undefined>} */ params) {
  const { page, params: present } = route.peek();
  history.replaceState(null, '', hrefOf(page, { ...present, ...params }));
  route.value = readAddress();
}

/** Lets links within the console change the page without loading it again. */
export function interceptLinks() {
  document.addEventListener('click', (event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[href^="?"]');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const { page = HOME, ...params } = Object.fromEntries(new URLSearchParams(link.getAttribute('href') ?? ''));
    go(page, params);
  });
}
