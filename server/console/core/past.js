/**
 * The moment that is on screen: null for the present, else a position, as the address has it
 * (`at=31200`). Every page shows any moment, by the same queries with `at`.
 */
import { computed, signal } from '../vendor/signals-core.js';
import { change, route } from './route.js';
import { stoppedAt } from './time_text.js';

export const moment = computed(() => route.value.params.at ?? null);

/** When it was, in ms since 1970; null until that is known. */
export const momentTime = signal(/** @type {number | null} */ (null));

momentTime.subscribe((time) => {
  stoppedAt.value = time;
});

/** Shows a position, or the present. @param {number | null} position */
export function show(position) {
  change({ at: position === null ? undefined : String(position) });
}
