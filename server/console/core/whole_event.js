/** Events with their data: the stream comes without, as it has thousands that nobody opens. */
import { call, Refusal } from './rpc.js';

/** @typedef {import('./event_stream.js').LogEvent} LogEvent */

/** Returns the event with its data. Throws the service's refusal. @param {LogEvent} event @returns {Promise<LogEvent>} */
export async function wholeEvent(event) {
  if (event.data !== undefined) return event;
  const { events: [found] } = await call('events.read', { from: event.position, limit: 1 });
  if (found?.position !== event.position) throw new Refusal('HISTORY_DROPPED', 'this event isn’t in the log any more');
  return found;
}
