/** Times and durations as short text. */
import { computed, signal } from '../vendor/signals-core.js';

const ticking = signal(Date.now());

/** When the moment was that is on screen, if that isn't the present; null until it is known. */
export const momentTime = signal(/** @type {number | null} */ (null));

/** The time for ages on screen: changes once a second while the page is visible. */
export const now = computed(() => momentTime.value ?? ticking.value);

setInterval(() => {
  if (!document.hidden) ticking.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => { ticking.value = Date.now(); });

const UNITS = /** @type {const} */ ([
  ['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000],
]);

/** Returns a duration with its two largest units: `2 h 10 min`, `12 s`, `340 ms`. @param {number} ms */
export function durationText(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  const [unit, unitMs] = UNITS[at];
  const whole = Math.floor(ms / unitMs);
  const next = UNITS[at + 1];
  if (!next || whole >= 20) return `${whole} ${unit}`;
  const rest = Math.floor((ms % unitMs) / next[1]);
  return rest ? `${whole} ${unit} ${rest} ${next[0]}` : `${whole} ${unit}`;
}

/** Returns an age with one unit: `3 min`. */
export function ageText(/** @type {number} */ ms) {
  const unit = UNITS.find(([, unitMs]) => ms >= unitMs);
  return unit ? `${Math.floor(ms / unit[1])} ${unit[0]}` : 'now';
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });

const TEXTS_MAX = 2000;
/** The texts of seconds, for a list shows the same ones again and again, and making them is slow. */
const texts = new Map();
let textsDay = '';

/** Returns the time of day, with the day if it isn't today's. */
export function clockText(/** @type {string | number | undefined | null} */ time) {
  if (!time) return '';
  const date = new Date(time);
  const today = new Date().toDateString();
  const second = Math.floor(date.getTime() / 1000);
  if (today !== textsDay || texts.size >= TEXTS_MAX) texts.clear();
  textsDay = today;
  const known = texts.get(second);
  if (known) return known;
  const text = date.toDateString() === today ? clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
  texts.set(second, text);
  return text;
}

/** Returns ms since 1970 of an RFC 3339 time, or null. */
export const msOf = (/** @type {string | undefined | null} */ time) => (time ? Date.parse(time) : null);

/** Returns how long something took, or takes so far. @param {{started_at: string, ended_at?: string | null}} what @param {number} present */
export const tookMs = ({ started_at: from, ended_at: to }, present) => (msOf(to) ?? present) - (msOf(from) ?? present);
