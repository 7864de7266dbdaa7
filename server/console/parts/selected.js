import { useLayoutEffect, useState } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';

/** The run or card on screen, or the one that is selected in a list: the search offers its actions, and the bar of the log its events. */
export const selectedThing = signal(/** @type {{subject: 'run' | 'card', thing: any} | null} */ (null));

/**
 * Says which run or card that is, while the calling component is on screen.
 * @param {'run' | 'card'} subject @param {any} thing as its query or list has it, or nothing
 * @param {any} [of] what `thing` was made from, if it is another object each time
 */
export function useSelected(subject, thing, of = thing) {
  // At once, not after the next picture: a key may come sooner.
  useLayoutEffect(() => {
    selectedThing.value = thing ? { subject, thing } : null;
    return () => { selectedThing.value = null; };
  }, [subject, of]);
}

/**
 * Returns the index of the row that keys act on, what moves it, and how often that was called. Once it was moved there, or from the beginning if
 * `isHeld`, it stays the same row wherever the list puts that; when it is gone, it is the one in its place.
 * @param {string[]} keys of the rows @param {boolean} [isHeld] @returns {[number, (to: number) => void, number]}
 */
export function useHeldRow(keys, isHeld = false) {
  const [held, setHeld] = useState({ at: 0, key: /** @type {string | null} */ (null) });
  const found = held.key === null ? -1 : keys.indexOf(held.key);
  const at = found >= 0 ? found : Math.min(held.at, Math.max(0, keys.length - 1));
  const [moves, setMoves] = useState(0);
  const hold = (/** @type {number} */ to) => setHeld({ at: to, key: keys[to] ?? null });
  const move = (/** @type {number} */ to) => {
    hold(to);
    setMoves(moves + 1);
  };
  useLayoutEffect(() => {
    const isMoved = keys[at] !== held.key || at !== held.at;
    if ((isHeld || held.key !== null) && keys[at] !== undefined && isMoved) hold(at);
  }, [at, keys[at]]);
  return [at, move, moves];
}
