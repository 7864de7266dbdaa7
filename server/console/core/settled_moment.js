/** The moment on screen, for questions that can wait until the page's own are answered. */
import { useEffect, useState } from '../vendor/htm-preact.js';
import { moment } from './past.js';
import { useSignal } from './use_signal.js';

/** The service answers one question about the past after the other. */
const AFTER_PAGE_MS = 200;

/** Returns the moment on screen once it has stayed for a while; null for the present. @returns {string | null} */
export function useSettledMoment() {
  const at = useSignal(moment);
  const [settled, setSettled] = useState(at);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(at), AFTER_PAGE_MS);
    return () => clearTimeout(timer);
  }, [at]);
  return at === null ? null : settled;
}
