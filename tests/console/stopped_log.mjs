// A log that nobody writes to any more, as `signalbox console --data` shows it, and asked as pages ask.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './service.mjs';

export class StoppedLog {
  constructor(binary, data) {
    this.binary = binary;
    this.data = data;
  }

  async open() {
    let printed = '';
    this.process = spawn(this.binary, ['--data', this.data, 'console', '--no-open'], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const output of [this.process.stdout, this.process.stderr]) output.on('data', (bytes) => { printed += bytes; });
    [, this.address, this.secret] = await eventually(() => {
      if (this.process.exitCode !== null) throw new Error(`the console ended: ${printed}`);
      return /(http:\S+\/console\/)#t=(\S+)/.exec(printed);
    }, 'an address');
    await this.readEvents();
  }

  async close() {
    if (this.process?.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGTERM');
    await once(this.process, 'exit');
  }

  /** Returns the answer of a method, also if it is a refusal. */
  async ask(method, params = {}) {
    const response = await fetch(new URL('../rpc', this.address), {
      method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${this.secret}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = await response.json();
    return result ?? { refused: error.data.code };
  }

  async readEvents() {
    this.events = [];
    for (let from = 1; ;) {
      const page = await this.ask('events.read', { from, limit: 1000 });
      this.events.push(...page.events);
      if (!page.more) break;
      from = page.next_from;
    }
    this.tail = this.events.at(-1).position;
  }

  /** Returns the state's digest at each position, as `replay` computes it from the log. */
  digests() {
    const text = execFileSync(this.binary, ['--data', this.data, '--json', 'replay', '--digest-every', '1'], { encoding: 'utf8', maxBuffer: 1 << 28 });
    return new Map(JSON.parse(text).result.digests.map((each) => [each.position, each.state_digest]));
  }
}
