/** Who the user is to the service, and so what the console offers. */
import { signal } from '../vendor/signals-core.js';
import { moment } from './past.js';
import { call } from './rpc.js';

/** Null until the service has said it. */
export const identity = signal(/** @type {Identity | null} */ (null));

/** Returns whether the service has this query, for what an older one hasn't. */
export const has = (/** @type {string} */ method) => identity.peek()?.methods.includes(method) ?? false;

/** Asks the service. Throws its refusal. */
export async function identify() {
  identity.value = await call('server.whoami');
}

/**
 * Returns why the user may not call this method, which changes something, now; or null.
 * @param {string} method @param {Record<string, any>} [params] some of the call's params
 */
export function whyNot(method, params) {
  if (moment.peek() !== null) return 'this is the past, where nothing can be done: L goes back to the present';
  const who = identity.peek();
  if (who?.role === 'approver' && method === 'run.resume' && !params?.decision) return `${who.actor} is ${who.role}, who only decides approvals`;
  if (!who || who.methods.includes(method)) return null;
  return `${who.actor} is ${who.role}, which may not call ${method}`;
}
