// A stage for a scene: a server of its own, and pages whose every complaint is kept, of a browser that
// all scenes share.
import { createRequire } from 'node:module';
import path from 'node:path';
import { Service } from './service.mjs';

const CHROMIUM = '/usr/bin/chromium';
const PAGE_MS_MAX = 30_000;

export function check(condition, what) {
  if (!condition) throw new Error(what);
}

/** The browser of all scenes: each person in it has storage of their own, and leaves with the scene. */
export class Browsers {
  constructor(modules) {
    const load = createRequire(path.join(modules, 'x.js'));
    this.chromium = load('playwright-core').chromium;
    this.axe = load.resolve('axe-core/axe.min.js');
  }

  /** Returns the browser: another one if the former has ended. */
  async open() {
    if (!this.latest?.isConnected()) this.latest = await this.chromium.launch({ executablePath: CHROMIUM });
    return this.latest;
  }

  async close() {
    await this.latest?.close();
  }
}

export class Stage {
  constructor(binary, browsers, directory) {
    this.browsers = browsers;
    this.axe = browsers.axe;
    this.service = new Service(binary, directory);
    this.tokens = {};
    this.names = 0;
  }

  async begin() {
    await this.service.start();
    this.browser = await this.browsers.open();
  }

  async end() {
    await Promise.all((this.browser?.contexts() ?? []).map((each) => each.close().catch(() => {})));
    await this.service.kill();
  }

  /** Returns a token of this role, always the same. */
  async token(role) {
    this.tokens[role] ??= (await this.newToken(role)).secret;
    return this.tokens[role];
  }

  newToken(role) {
    this.names += 1;
    return this.service.call('access.issue', { name: `scene ${this.names}`, role });
  }

  /** Returns whether the service has this method: the console offers what is there. */
  async has(method) {
    const response = await fetch(`http://${this.service.address}/rpc`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${await this.token('operator')}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server.whoami' }),
    });
    return (await response.json()).result.methods.includes(method);
  }

  address(query = '') {
    return `http://${this.service.address}/console/${query}`;
  }

  /** Returns a browser as of a person: with storage of its own. */
  async visitor({ width = 1280, height = 800, scheme = 'light', hasAxe = false, ...more } = {}) {
    const visitor = await this.browser.newContext({
      viewport: { width, height }, colorScheme: scheme, timezoneId: 'UTC', locale: 'en-GB', reducedMotion: 'reduce', ...more,
    });
    visitor.setDefaultTimeout(PAGE_MS_MAX);
    visitor.complaints = [];
    await visitor.exposeFunction('reportViolation', (text) => visitor.complaints.push(`policy: ${text}`));
    await visitor.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) =>
        globalThis.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    // The only way past the page's policy, which a script of axe's address would break.
    if (hasAxe) await visitor.addInitScript({ path: this.axe });
    visitor.on('weberror', (error) => visitor.complaints.push(`error: ${error.error().message}`));
    visitor.on('console', (message) => {
      if (message.type() === 'error') visitor.complaints.push(`console: ${message.text()} ${message.location().url}`);
    });
    return visitor;
  }

  /** Opens a page of the console as somebody of this role. */
  async open(query = '', { role = 'operator', visitor, ...look } = {}) {
    const who = visitor ?? await this.visitor(look);
    const page = await who.newPage();
    await page.goto(`${this.address(query)}#t=${await this.token(role)}`);
    await page.getByText('● live').waitFor();
    return page;
  }

  /** Returns what axe finds wrong with the page of a visitor that has it. */
  async violations(page) {
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).slice(0, 3).join(', ')}`);
  }
}

/** Fails if the browser complained about anything. */
export function hadNoComplaint(...pages) {
  for (const page of pages) {
    const { complaints } = page.context();
    check(complaints.length === 0, `the browser complained: ${complaints.slice(0, 3).join('\n')}`);
  }
}
