// A server of the scenes' own: the real binary, asked over its Unix socket, killed by its process id.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';

/** Only what never comes takes that long: a machine may have other tests on all its processors. */
export const WAIT_MS_MAX = 120_000;
const POLL_MS = 20;
const UNDER_WAY = 50;

/** Returns the first value of `look` that isn't false; throws if there is none in time. */
export async function eventually(look, what) {
  const end = Date.now() + WAIT_MS_MAX;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in ${WAIT_MS_MAX} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export class Service {
  constructor(binary, directory) {
    this.binary = binary;
    this.data = path.join(directory, 'data');
    this.output = path.join(directory, 'server.log');
    this.address = '127.0.0.1:0';
  }

  /**
   * Starts the server, after a kill at the same address, and waits until it answers. Meanwhile somebody else's
   * connection may have got that port as its own.
   */
  async start() {
    await eventually(() => this.begin(), 'a free address');
    await eventually(() => this.call('server.status').catch(() => false), 'an answer of the server');
  }

  /** Returns whether the server has its address, and not another program. */
  async begin() {
    const begin = fs.existsSync(this.output) ? fs.statSync(this.output).size : 0;
    const output = fs.openSync(this.output, 'a');
    this.process = spawn(this.binary, ['serve', '--data', this.data, '--listen', this.address],
      { stdio: ['ignore', output, output] });
    fs.closeSync(output);
    let cannotStart;
    this.process.on('error', (error) => { cannotStart = error; });
    const address = await eventually(() => {
      if (cannotStart) throw cannotStart;
      const printed = this.log().slice(begin);
      if (this.process.exitCode === null) return /listening on (127\.0\.0\.1:\d+)/.exec(printed)?.[1];
      if (/address .*in use/i.test(printed)) return 'in use';
      throw new Error(`the server ended: ${printed}`);
    }, 'an address');
    if (address === 'in use') return false;
    this.address = address;
    return true;
  }

  log() {
    return fs.existsSync(this.output) ? fs.readFileSync(this.output, 'utf8') : '';
  }

  async kill() {
    if (!this.process?.pid || this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  /** Returns the result of a method, asked as the server's own user. */
  call(method, params = {}) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(path.join(this.data, 'signalbox.sock'));
      let text = '';
      socket.on('error', reject);
      socket.on('data', (bytes) => {
        text += bytes;
        if (!text.endsWith('\n')) return;
        socket.destroy();
        const answer = JSON.parse(text);
        if (answer.error) reject(Object.assign(new Error(answer.error.message), answer.error.data));
        else resolve(answer.result);
      });
      socket.on('connect', () => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`));
    });
  }

  /** Starts so many runs of one station for outside workers, in this order. Returns their ids. */
  async startMany(runs) {
    const pipeline = { name: 'p', station: [{ name: 'only' }] };
    const calls = Array.from({ length: runs }, (_, number) => ({ jsonrpc: '2.0', id: number, method: 'run.start', params: { goal: `one of many ${number}`, pipeline } }));
    const ids = [];
    const socket = net.connect(path.join(this.data, 'signalbox.sock'));
    const lines = readline.createInterface({ input: socket })[Symbol.asyncIterator]();
    try {
      while (calls.length > 0) {
        const some = calls.splice(0, UNDER_WAY);
        socket.write(some.map((call) => `${JSON.stringify(call)}\n`).join(''));
        for (const { id } of some) {
          const answer = JSON.parse((await lines.next()).value);
          if (answer.error || answer.id !== id) throw new Error(JSON.stringify(answer));
          ids.push(answer.result.run_id);
        }
      }
    } finally {
      socket.destroy();
    }
    return ids;
  }

  /** Starts a run of stations that are processes, or approvals. Returns its id. */
  async startRun(goal, stations, more = {}) {
    const station = stations.map(([name, command, options = {}]) => (command
      ? { name, executor: 'process', command: ['sh', '-c', command], retry: { max_retries: 0 }, ...options }
      : { name, executor: 'approval' }));
    return (await this.call('run.start', { goal, pipeline: { name: 'scene', station }, ...more })).run_id;
  }

  run(id) {
    return this.call('run.get', { run_id: id }).then(({ run }) => run);
  }

  /** Waits until the run has this status. */
  async runIs(id, status) {
    return eventually(async () => {
      const run = await this.run(id);
      return run.status === status && run;
    }, `run ${id} is ${status}`);
  }
}
