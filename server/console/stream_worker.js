/**
 * The shared worker: holds the one event stream of this browser. Over HTTP/1.1 a browser has six
 * connections to a host, so a stream for each tab would leave the seventh without any.
 */
import { EventStream } from './core/event_stream.js';

/** Events kept for a hidden page; of more it asks for everything again. */
const WAITING_MAX = 1000;
/** Events kept for a page that joins: they happened since it asked who the user is. */
const RECENT_MAX = 1000;
/** Those of the server itself are kept before all others: pages announce a crash. */
const ANNOUNCED_MAX = 100;

const pages = /** @type {Map<MessagePort, {isHidden: boolean, waiting: LogEvent[], dropped: number, toldState?: string}>} */ (new Map());
let stream = /** @type {EventStream | null} */ (null);
/** @type {{after: number, missed: number, events: LogEvent[]}} the newest events, without a gap after a position */
let recent = { after: 0, missed: -1, events: [] };

/** @param {Connection} connection @param {LogEvent[]} events */
function keep(connection, events) {
  if (connection.state === 'live' && (recent.missed !== connection.missed || recent.after === 0)) recent = { after: connection.position, missed: connection.missed, events: [] };
  recent.events.push(...events);
  const over = recent.events.splice(0, Math.max(0, recent.events.length - RECENT_MAX));
  if (over.length > 0) recent.after = Number(over[over.length - 1].position);
}

/**
 * Sends news to a page. Nine of ten tabs are hidden: events wait here, and cost those nothing.
 * @param {MessagePort} port @param {Connection} connection @param {LogEvent[]} events
 */
function tell(port, connection, events) {
  const page = pages.get(port);
  if (!page) return;
  page.waiting.push(...events);
  if (page.isHidden && events.length > 0) {
    if (page.waiting.length <= WAITING_MAX) return;
    page.waiting = page.waiting.filter(({ stream: of }) => of === 'server').slice(-ANNOUNCED_MAX);
    page.dropped += 1;
    return;
  }
  if (page.isHidden && page.toldState === connection.state) return;
  page.toldState = connection.state;
  const due = page.isHidden ? [] : page.waiting.splice(0);
  port.postMessage({ kind: 'news', connection: { ...connection, missed: connection.missed + page.dropped }, events: due });
}

/** @param {MessagePort} port @param {any} message */
function receive(port, message) {
  if (message.kind === 'leave') {
    pages.delete(port);
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
  if (message.kind === 'look') {
    const page = pages.get(port);
    if (page) page.isHidden = message.isHidden;
    if (stream && !message.isHidden) tell(port, stream.connection, []);
    return;
  }
  pages.set(port, { isHidden: message.isHidden, waiting: [], dropped: 0 });
  if (stream === null || stream.secret !== message.secret || stream.connection.state === 'refused') {
    stream?.stop();
    recent = { after: 0, missed: -1, events: [] };
    stream = new EventStream(message.address, (connection, events) => {
      keep(connection, events);
      pages.forEach((_, each) => tell(each, connection, events));
    });
    stream.start(message.secret, message.position);
  }
  const { connection } = stream;
  const { position } = message;
  if (connection.state === 'live' && recent.after > 0 && position >= recent.after && position < connection.position) {
    tell(port, { ...connection, position }, []);
    tell(port, connection, recent.events.filter((event) => Number(event.position) > position));
    return;
  }
  tell(port, connection, []);
}

/** @param {MessageEvent} event */
globalThis.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => receive(port, data);
};
