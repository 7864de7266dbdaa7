/**
 * Where the focus goes when what had it is gone, as a button is once its action is done: to the nearest place
 * around it that takes one, never to the page's body, from where Tab would begin at the very top. And what is said
 * to who doesn't see the page change.
 */
import { html } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';
import { useSignal } from '../core/use_signal.js';

/** What has the focus, and what it is in, the innermost first. @type {Element[]} */
let path = [];

const isLost = () => path.length > 0 && document.activeElement === document.body;

function around(/** @type {Element | null} */ element) {
  const all = [];
  for (let each = element; each; each = each.parentElement) all.push(each);
  return all;
}

function refocus() {
  if (!isLost() || path[0].isConnected || document.querySelector('dialog[open]')) return;
  const left = path.find((each) => each.isConnected && each.matches('[tabindex]')) ?? document.getElementById('main');
  path = [];
  if (left instanceof HTMLElement) left.focus({ preventScroll: true });
}

/** Begins to look after the focus; called once. */
export function keepFocus() {
  document.addEventListener('focusin', ({ target }) => { path = around(/** @type {Element} */ (target)); });
  // The user left it: it is still there once all of this moment has happened.
  document.addEventListener('focusout', () => queueMicrotask(() => {
    if (isLost() && path[0].isConnected) path = [];
  }));
  new MutationObserver(refocus).observe(document.body, { childList: true, subtree: true });
}

const said = signal({ text: '', times: 0 });

/** Says what was done, in the place that screen readers read from. */
export function say(/** @type {string} */ text) {
  said.value = { text, times: said.peek().times + 1 };
}

/** Stands once in the shell. */
export function Said() {
  const { text, times } = useSignal(said);
  return html`<p class="unseen" role="status" id="said"><span key=${times}>${text}</span></p>`;
}
