/**
 * One stream of all events (GET /v1/events), read with fetch because EventSource sends no token. It resumes after the last event
 * that it has seen, for as long as it takes. It runs in the shared worker, or in the page where there is none.
 */

import { parsePlain } from './plain_text.js';

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 5000;
/** The service sends at least a comment in 15 s. */
const SILENCE_MS_MAX = 40_000;
/** More events in a second the service skips: nobody reads them, and pages ask for what they show. */
const PER_SECOND_MAX = 2000;

/** @returns {Connection} one that isn't made yet */
export const newConnection = () => ({ state: 'connecting', since: Date.now(), position: 0, lagMs: null, missed: 0 });

export class EventStream {
  /** @param {string} address @param {(connection: Connection, events: LogEvent[]) => void} onNews */
  constructor(address, onNews) {
    this.address = address;
    this.onNews = onNews;
    this.connection = newConnection();
    this.secret = '';
    this.retryMs = RETRY_MS_MIN;
    this.request = /** @type {AbortController | null} */ (null);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Begins, or begins again with another token. @param {string} secret @param {number} [position] tells what happened after it; 0: what happens from now on */
  start(secret, position = 0) {
    this.stop();
    this.secret = secret;
    this.connection.position ||= position;
    this.retryMs = RETRY_MS_MIN;
    this.connect();
  }

  stop() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.request = null;
  }

  /** @param {Partial<Connection>} change @param {LogEvent[]} [events] */
  set(change, events = []) {
    const since = change.state && change.state !== this.connection.state ? Date.now() : this.connection.since;
    this.connection = { ...this.connection, since, ...change };
    this.onNews(this.connection, events);
  }

  async connect() {
    const request = new AbortController();
    this.request = request;
    const from = this.connection.position ? `&from=${this.connection.position + 1}` : '';
    try {
      const response = await fetch(`${this.address}?fields=summary&per_second_max=${PER_SECOND_MAX}${from}`, {
        headers: this.secret ? { Authorization: `Bearer ${this.secret}` } : {},
        cache: 'no-store',
        signal: request.signal,
      });
      if (response.status === 204) return this.set({ state: 'stopped' });  // a stopped log: no event will come
      if (response.status === 401 || response.status === 403) return this.set({ state: 'refused' });
      if (response.status === 404 || response.status === 410) this.skip();  // another or a shorter log
      if (!response.ok || !response.body) throw new Error(response.statusText);
      this.retryMs = RETRY_MS_MIN;
      await this.read(response.body.getReader());
    } catch {
      // The end of the connection: below it is made again.
    }
    if (request !== this.request) return;
    request.abort();
    this.set({ state: 'away', retryAt: Date.now() + this.retryMs });
    this.timer = setTimeout(() => this.connect(), this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, RETRY_MS_MAX);
  }

  /** Continues with the next event to come; what was between is asked for anew. */
  skip() {
    this.set({ position: 0, missed: this.connection.missed + 1 });
  }

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async read(reader) {
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      const silence = setTimeout(() => this.request?.abort(), SILENCE_MS_MAX);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      this.take(blocks);
    }
  }

  /** @param {string[]} blocks the events of the stream as text; the first of all has where it begins */
  take(blocks) {
    if (this.connection.state !== 'live' && blocks.length > 0) {
      const begin = Number(/^id: (\d+)$/m.exec(blocks[0])?.[1] ?? 0);
      this.set({ state: 'live', retryAt: undefined, position: begin || this.connection.position });
    }
    const events = /** @type {LogEvent[]} */ ([]);
    let skippedTo = 0;
    for (const block of blocks) {
      let name = '';
      let data = '';
      for (const line of block.split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7);
        if (line.startsWith('data: ')) data = line.slice(6);
      }
      if (!data) continue;
      const event = parsePlain(data);
      if (name === 'lagged' || name === 'failed') this.skip();
      else if (name === 'skipped') skippedTo = Number(event.to);
      else events.push(event);
    }
    const last = events[events.length - 1];
    if (last) this.set({ position: Number(last.position), lagMs: Math.max(0, Date.now() - Date.parse(last.recorded_at)) }, events);
    if (skippedTo) this.set({ position: Math.max(skippedTo, this.connection.position), missed: this.connection.missed + 1 });
  }
}
