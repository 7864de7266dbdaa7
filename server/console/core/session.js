/**
 * The access token of this browser. It comes in the address's fragment, which is never sent, or is
 * pasted once; it stays in this tab's storage, or on this device if the user wants that. There are
 * no cookies: on 127.0.0.1 every program's page of any port would get them.
 */
import { signal } from '../vendor/signals-core.js';

const KEY = 'signalbox.token';

/** Why the service doesn't accept the token, or null while it does. */
export const refusal = signal(/** @type {import('./rpc.js').Refusal | null} */ (null));

/**
 * Takes the token out of the address before anything else can see it there. Returns it, or an empty string:
 * any page may have a link to the console, with anything in it.
 */
export function takeTokenFromAddress() {
  const match = /^#t=(.+)$/.exec(location.hash);
  if (!match) return '';
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const secret = decodeURIComponent(match[1]);
    return /^[!-~]+$/.test(secret) ? secret : '';  // a header field can have no other
  } catch {
    return '';
  }
}

/** Returns the token, or an empty string where the service may answer without one. */
export const token = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';

/** @param {string} secret @param {boolean} onThisDevice also for later visits */
export function keepToken(secret, onThisDevice) {
  forgetToken();
  (onThisDevice ? localStorage : sessionStorage).setItem(KEY, secret);
  refusal.value = null;
}

/** Returns what this browser keeps under a name, which may be anything; null for nothing. @param {string} name @returns {any} */
export function keptJson(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null');
  } catch {
    return null;
  }
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
}

/** @param {string} [secret] @returns {Record<string, string>} the header fields that authenticate a request */
export function authorization(secret = token()) {
  return secret ? { Authorization: `Bearer ${secret}` } : {};
}
