/**
 * When somebody last did something here, before now: what happened since is news. Kept in this browser. A screen
 * that shows the console all night is no visit, and one goes on while no hour passes without a key or a click.
 */
import { signal } from '../vendor/signals-core.js';
import { keptJson } from './session.js';

const KEY = 'signalbox.visit';
const AWAY_MS = 3_600_000;
const NOTE_MS = 60_000;

/**
 * Returns the visits as they are known once somebody does something.
 * @param {any} known what was kept, which may be anything @param {number} at
 * @returns {{seen: number, before?: number}} the latest sign of this visit, and that of the one before
 */
function visitsAt(known, at) {
  const [seen, before] = [known?.seen, known?.before].map((time) => (Number.isFinite(time) && time > 0 && time <= at ? time : undefined));
  return { seen: at, before: seen !== undefined && at - seen >= AWAY_MS ? seen : before };
}

/** The end of the visit before this one, as RFC 3339; null if this is the first. */
export const lastVisit = signal(/** @type {string | null} */ (null));

let noted = -Infinity;

function note() {
  const at = Date.now();
  if (at - noted < NOTE_MS) return;
  noted = at;
  const visits = visitsAt(keptJson(KEY), at);
  localStorage.setItem(KEY, JSON.stringify(visits));
  lastVisit.value = visits.before === undefined ? null : new Date(visits.before).toISOString();
}

note();
for (const sign of ['pointerdown', 'keydown']) addEventListener(sign, note, true);
