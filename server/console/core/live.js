/** What goes on now: the connection's state and the events, of the browser's one stream. */
import { signal } from '../vendor/signals-core.js';
import { EventStream } from './event_stream.js';
import { serviceAddress } from './rpc.js';
import { token } from './session.js';

/** @typedef {import('./event_stream.js').LogEvent} LogEvent */

export const connection = signal(
  /** @type {import('./event_stream.js').Connection} */ ({
    state: 'connecting', since: Date.now(), position: 0, lagMs: 0, missed: 0,
  }),
);

/** @type {Set<(events: LogEvent[]) => void>} */
const listeners = new Set();
/** @type {SharedWorker | null} */
let worker = null;
/** @type {EventStream | null} */
let ownStream = null;

/**
 * Calls `listener` with each batch of events. Returns what ends that.
 * @param {(events: LogEvent[]) => void} listener
 */
export function onEvents(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

const pass = (/** @type {LogEvent[]} */ events) => listeners.forEach((listener) => listener(events));

/** The address of the worker: the only text that this page lets become a script. */
function workerAddress() {
  const address = new URL('../stream_worker.js', import.meta.url).href;
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return address;
  return types.createPolicy('console-worker', { createScriptURL: () => address }).createScriptURL('');
}

function joinWorker() {
  worker ??= new SharedWorker(workerAddress(), { type: 'module', name: 'signalbox-stream' });
  worker.port.onmessage = ({ data }) => {
    if (data.kind === 'events') pass(data.events);
    else connection.value = data.connection;
  };
  worker.port.postMessage({ address: serviceAddress('v1/events'), secret: token() });
}

/** Begins to follow the events, or begins again with another token. */
export function follow() {
  if (typeof SharedWorker !== 'undefined') {
    joinWorker();
    return;
  }
  ownStream ??= new EventStream(serviceAddress('v1/events'), pass, (now) => {
    connection.value = now;
  });
  ownStream.start(token());
}

addEventListener('pagehide', () => worker?.port.postMessage({ kind: 'leave' }));
addEventListener('pageshow', (event) => {
  if (event.persisted) follow();
});
