/**
 * Keys. A page says which keys it takes while it is on screen; those of the shell are always there.
 * A key alone never does anything that can't be undone: it opens the dialog.
 */
import { useLayoutEffect } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';

/** All shortcuts that are taken now, for the overview. */
export const shortcuts = signal(/** @type {Shortcut[]} */ ([]));

const SEQUENCE_MS_MAX = 1200;
let begun = '';
let begunAt = 0;

const isTyping = (/** @type {EventTarget | null} */ target) =>
  target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');

/** Whether the key presses what has the focus. @param {KeyboardEvent} event */
const isPress = ({ key, target }) => (key === 'Enter' || key === ' ') && target instanceof HTMLElement && target.matches('a, button, summary, input');

function onKey(/** @type {KeyboardEvent} */ event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isPress(event)) return;
  if (document.querySelector('dialog[open]')) return;
  const sequence = Date.now() - begunAt < SEQUENCE_MS_MAX && begun ? `${begun} ${event.key}` : event.key;
  const taken = shortcuts.peek().findLast(({ keys }) => keys === sequence);
  begun = shortcuts.peek().some(({ keys }) => keys.startsWith(`${event.key} `)) ? event.key : '';
  begunAt = Date.now();
  if (!taken) return;
  begun = '';
  event.preventDefault();
  taken.run();
}

document.addEventListener('keydown', onKey);

/** Keys that move through a list. @param {number} rows @param {number} at @param {(at: number) => void} setAt @returns {Shortcut[]} */
export const movingKeys = (rows, at, setAt) => [
  { keys: 'j', text: 'Next', run: () => setAt(Math.min(rows - 1, at + 1)) },
  { keys: 'k', text: 'Previous', run: () => setAt(Math.max(0, at - 1)) },
];

/** Takes these keys while the calling component is on screen. @param {Shortcut[]} list @param {any[]} dependsOn as of an effect */
export function useKeys(list, dependsOn) {
  // At once, not after the next picture: a second key may come sooner.
  useLayoutEffect(() => {
    shortcuts.value = [...shortcuts.peek(), ...list];
    return () => { shortcuts.value = shortcuts.peek().filter((each) => !list.includes(each)); };
  }, dependsOn);
}
