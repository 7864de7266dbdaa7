/**
 * The shared worker: holds the one event stream of this browser. Over HTTP/1.1 a browser has six
 * connections to a host, so a stream for each tab would leave the seventh without any.
 */
import { EventStream } from './core/event_stream.js';

/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {EventStream | null} */
let stream = null;

/** @param {MessagePort} port @param {any} message */
function receive(port, message) {
  if (message.kind === 'leave') {
    ports.delete(port);
    return;
  }
  if (message.kind === 'ask') {
    port.postMessage({ kind: 'token', secret: stream?.secret ?? '' });
    return;
  }
  if (message.kind === 'forget') {
    stream?.stop();
    stream?.set({ state: 'refused' });
    stream = null;
    return;
  }
  ports.add(port);
  if (stream === null || stream.secret !== message.secret || stream.connection.state === 'refused') {
    stream?.stop();
    stream = new EventStream(message.address, (connection, events) =>
      ports.forEach((each) => each.postMessage({ kind: 'news', connection, events })));
    stream.start(message.secret);
  }
  port.postMessage({ kind: 'news', connection: stream.connection, events: [] });
}

/** @param {MessageEvent} event */
globalThis.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => receive(port, data);
};
