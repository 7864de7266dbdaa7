/** What goes on now: the connection's state and the events, of the browser's one stream. */
import { computed, signal } from '../vendor/signals-core.js';
import { EventStream, newConnection } from './event_stream.js';
import { answeredPosition, serviceAddress } from './rpc.js';
import { forgetToken, token } from './session.js';

export const connection = signal(newConnection());

/** Only its state, which changes rarely. */
export const connectionState = computed(() => connection.value.state);

/** Events that wait for a picture; more are handed on without one, so also while the page is hidden. */
const WAITING_MAX = 1000;
/** Time for the answer of the worker, which may have to start, on a machine that has much to do. */
const TOKEN_MS_MAX = 10_000;

const listeners = /** @type {Set<(events: LogEvent[]) => void>} */ (new Set());
let worker = /** @type {SharedWorker | null} */ (null);
let ownStream = /** @type {EventStream | null} */ (null);

/** Calls `listener` with each batch of events. Returns what ends that. @param {(events: LogEvent[]) => void} listener */
export function onEvents(listener) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

let waiting = /** @type {LogEvent[]} */ ([]);
let newest = /** @type {Connection | null} */ (null);
let picture = 0;

function handOn() {
  cancelAnimationFrame(picture);
  picture = 0;
  const events = waiting;
  waiting = [];
  if (events.length > 0) listeners.forEach((listener) => listener(events));
  if (newest) connection.value = newest;
}

/**
 * Takes what the stream says. Whatever comes between two pictures is rendered once, for the next one;
 * a hidden page has no pictures, and gets what waits when it is visible again.
 * @param {Connection} now @param {LogEvent[]} events
 */
function take(now, events) {
  newest = now;
  waiting.push(...events);
  if (events.length === 0 || waiting.length >= WAITING_MAX) handOn();
  else picture ||= requestAnimationFrame(handOn);
}

document.addEventListener('visibilitychange', () => {
  worker?.port.postMessage({ kind: 'look', isHidden: document.hidden });
  handOn();
});

/** The address of the worker: the only text that this page lets become a script. */
function workerAddress() {
  const address = new URL('../stream_worker.js', import.meta.url).href;
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return address;
  return types.createPolicy('console-worker', { createScriptURL: () => address }).createScriptURL('');
}

let takeToken = /** @type {(secret: string) => void} */ (() => {});

function theWorker() {
  if (worker) return worker;
  worker = new SharedWorker(workerAddress(), { type: 'module', name: 'signalbox-stream' });
  worker.port.onmessage = ({ data }) => {
    if (data.kind === 'token') takeToken(data.secret);
    else take(data.connection, data.events);
  };
  return worker;
}

/** Returns the token that another tab of this browser has, or an empty string: a new tab has no storage of its own yet. @returns {Promise<string>} */
export function tokenOfOtherTabs() {
  if (typeof SharedWorker === 'undefined') return Promise.resolve('');
  return new Promise((resolve) => {
    takeToken = resolve;
    setTimeout(() => resolve(''), TOKEN_MS_MAX);
    const asked = theWorker();
    asked.onerror = () => resolve('');
    asked.port.postMessage({ kind: 'ask' });
  });
}

/**
 * Begins to follow the events, or begins again with another token. All of them are told that happened after the
 * first answer, that of who the user is, so that no later answer is older than them.
 */
export function follow() {
  const position = connection.peek().position || answeredPosition.peek();
  if (typeof SharedWorker !== 'undefined') {
    theWorker().port.postMessage({ kind: 'join', address: serviceAddress('v1/events'), secret: token(), isHidden: document.hidden, position });
    return;
  }
  ownStream ??= new EventStream(serviceAddress('v1/events'), take);
  ownStream.start(token(), position);
}

/** Forgets the token in this tab, on this device and in the worker, so in all tabs. */
export function signOut() {
  forgetToken();
  worker?.port.postMessage({ kind: 'forget' });
  location.replace(location.pathname);
}

addEventListener('pagehide', () => worker?.port.postMessage({ kind: 'leave' }));
addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  connection.value = { ...connection.peek(), state: 'connecting' };  // what happened since was told to nobody here
  follow();
});
