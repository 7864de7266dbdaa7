import { useLayoutEffect } from '../vendor/htm-preact.js';
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
