/**
 * The moment that is on screen: null for the present, else a position, as the address has it
 * (`at=31200`). Every page shows any moment, by the same queries with `at`.
 */
import { useEffect, useState } from '../vendor/htm-preact.js';
import { computed } from '../vendor/signals-core.js';
import { change, route } from './route.js';
import { useSignal } from './use_signal.js';

export const moment = computed(() => route.value.params.at ?? null);

/** Shows a position, or the present. @param {number | null} position */
export function show(position) {
  change({ at: position === null ? undefined : String(position) });
}

/** The service answers one question about the past after the other. */
const AFTER_PAGE_MS = 200;

/**
 * Returns the moment on screen once it has stayed for a while, for questions that can wait until the page's own
 * are answered; null for the present. @returns {string | null}
 */
export function useSettledMoment() {
  const at = useSignal(moment);
  const [settled, setSettled] = useState(at);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(at), AFTER_PAGE_MS);
    return () => clearTimeout(timer);
  }, [at]);
  return at === null ? null : settled;
}
