/** The pages, as the navigation, the keys and the search name them. */
import { has } from '../core/identity.js';

/** @type {Place[]} */
const PLACES = [
  { page: 'inbox', key: 'i', name: 'Needs you', mark: '⚑', command: 'signalbox inbox', needs: 'attention.list' },
  { page: 'board', key: 'b', name: 'Board', mark: '▦', command: 'signalbox board', needs: 'board.get' },
  { page: 'runs', key: 'r', name: 'Runs', mark: '≡', command: 'signalbox run list', needs: 'run.list' },
  { page: 'night', key: 'n', name: 'Night', mark: '☾', command: 'signalbox report', needs: 'timeline.get' },
  { page: 'loops', key: 'l', name: 'Locks · Loops', mark: '⟲', command: 'signalbox lock list', needs: 'lock.list' },
  { page: 'events', key: 'e', name: 'Events', mark: '⌁', command: 'signalbox events', needs: 'events.types' },
  { page: 'projects', key: 'p', name: 'Projects', mark: '❏', command: 'signalbox project list', needs: 'project.list' },
  { page: 'whatif', key: 'w', name: 'What-if', mark: '⚖', command: 'signalbox replay --what-if POLICY.toml', needs: 'what_if.run' },
  { page: 'audit', key: 'a', name: 'Audit', mark: '✔', command: 'signalbox audit verify ./export --key @audit.vkey', needs: 'audit.checkpoint' },
  { page: 'server', key: 's', name: 'Server', mark: '⚙', command: 'signalbox status', needs: 'server.status' },
];

/** Returns the pages that the service can fill. */
export const placesHere = () => PLACES.filter(({ needs }) => !needs || has(needs));

/** Pages that are reached from others, by the place that they belong to. */
export const BELONGS = /** @type {Record<string, string>} */ ({ run: 'runs', card: 'board', compare: 'events' });

/** The pages that a screen shows, by their names in the address: `?kiosk=now`. */
const KIOSK_PAGES = /** @type {Record<string, string>} */ ({ now: 'inbox', board: 'board', night: 'night' });

/** Returns the page of a screen that the address names; undefined if it names none. @param {Record<string, string>} params */
export const kioskPage = ({ kiosk }) => (Object.hasOwn(KIOSK_PAGES, kiosk) ? KIOSK_PAGES[kiosk] : undefined);
