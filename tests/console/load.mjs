// Starts many runs over one connection, or writes many events, with several requests under way.
import net from 'node:net';
import path from 'node:path';

const UNDER_WAY = 64;
const SLICES_PER_SECOND = 20;
const PARAMS = { goal: 'one of many', pipeline: { name: 'p', station: [{ name: 'only' }] } };

export class Load {
  static async connect(service) {
    const load = new Load();
    load.socket = net.connect(path.join(service.data, 'signalbox.sock'));
    await new Promise((resolve, reject) => load.socket.once('connect', resolve).once('error', reject));
    load.socket.on('data', (bytes) => load.take(bytes.toString()));
    return load;
  }

  constructor() {
    this.rest = '';
    this.started = 0;
    this.underWay = 0;
    this.wanted = 0;
    this.done = () => {};
    this.onResult = () => { this.started += 1; };
    this.next = () => ({ method: 'run.start', params: PARAMS });
  }

  take(text) {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop();
    for (const line of lines) {
      const { error, result } = JSON.parse(line);
      if (error) throw new Error(line);
      this.onResult(result);
      this.underWay -= 1;
    }
    this.send();
    if (this.underWay === 0) this.done();
  }

  send() {
    let text = '';
    for (; this.wanted > 0 && this.underWay < UNDER_WAY; --this.wanted) {
      this.underWay += 1;
      text += `${JSON.stringify({ jsonrpc: '2.0', id: 1, ...this.next() })}\n`;
    }
    if (text) this.socket.write(text);
  }

  finish(runs) {
    this.wanted += runs;
    const finished = new Promise((resolve) => { this.done = resolve; });
    this.send();
    return this.underWay === 0 ? undefined : finished;
  }

  /** Starts so many runs, as fast as possible or so many in a second. */
  async start(runs, { perSecond } = {}) {
    if (!perSecond) return this.finish(runs);
    const slice = perSecond / SLICES_PER_SECOND;
    const began = Date.now();
    for (let sent = 0; sent < runs; sent += slice) {
      await this.finish(slice);
      const pauseMs = began + (1000 * (sent + slice)) / perSecond - Date.now();
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    return undefined;
  }

  /** Writes so many events and starts no run: one that is open is paused and resumed, again and again. */
  async fill(events, runId) {
    const start = this.next;
    let isPaused = false;
    this.next = () => {
      isPaused = !isPaused;
      return { method: isPaused ? 'run.pause' : 'run.resume', params: { run_id: runId } };
    };
    await this.finish(events + (events % 2));
    this.next = start;
  }

  /**
   * Returns how many runs are started in a second, as fast as possible, in this time. Each is canceled soon,
   * so that as many are open as before.
   */
  async throughput(ms) {
    const { next, onResult, started } = this;
    const open = [];
    this.onResult = (run) => {
      if (run.status === 'canceled') return;
      open.push(run.run_id);
      this.started += 1;
    };
    this.next = () => (open.length < UNDER_WAY ? next() : { method: 'run.cancel', params: { run_id: open.shift() } });
    const began = Date.now();
    while (Date.now() - began < ms) await this.finish(UNDER_WAY);
    const perSecond = ((this.started - started) * 1000) / (Date.now() - began);
    Object.assign(this, { next, onResult });
    return perSecond;
  }

  end() {
    this.socket.destroy();
  }
}
