import { signal } from '../vendor/signals-core.js';

/** The run or card on screen, of which the search offers the actions. */
export const selectedThing = signal(/** @type {{subject: 'run' | 'card', thing: any} | null} */ (null));
