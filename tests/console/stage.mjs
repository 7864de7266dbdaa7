// A stage for the scenes: one server, visitors of the one browser, and pages whose every complaint is kept.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { eventually, Service, WAIT_MS_MAX } from './service.mjs';

/** Chromium without windows, and all that belongs to those, which took a third of the processor time of a page. */
const CHROMIUM = '/usr/bin/chromium-headless-shell';
/** Beside each page a process waited for another one that never came. Added to what the browser's driver disables. */
const UNUSED_FEATURES = ['SpareRendererForSitePerProcess'];

/** Returns the browser of all stages. @param {string} modules */
export function startBrowser(modules) {
  const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core');
  return chromium.launch({ executablePath: CHROMIUM, args: [`--disable-features=${UNUSED_FEATURES.join(',')}`] });
}

/** While the console is worked on: its files as they are in this directory, not as they are in the binary. */
function fileOfTheTree(route) {
  const name = new URL(route.request().url()).pathname.replace(/^.*\/console\/[0-9a-f]{16}\//, '');
  const file = path.join(process.env.SIGNALBOX_CONSOLE_FILES, name);
  return fs.existsSync(file) ? route.fulfill({ path: file }) : route.continue();
}

export function check(condition, what) {
  if (!condition) throw new Error(what);
}

export class Stage {
  constructor(browser, binary, modules, directory) {
    this.browser = browser;
    this.axe = createRequire(path.join(modules, 'x.js')).resolve('axe-core/axe.min.js');
    this.service = new Service(binary, directory);
    this.visitors = [];
    this.tokens = {};
    this.names = 0;
    this.isEnding = false;
  }

  begin() {
    return this.service.start();
  }

  async end() {
    this.isEnding = true;
    try {
      // A request that is answered by a scene may still be under way.
      for (const page of this.visitors.flatMap((visitor) => visitor.pages())) await page.unrouteAll({ behavior: 'ignoreErrors' });
      await Promise.all(this.visitors.map((visitor) => visitor.close()));
    } finally {
      await this.service.kill();
    }
  }

  /** Returns a token of this role, always the same. */
  token(role) {
    this.tokens[role] ??= this.newToken(role).then(({ secret }) => secret);
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
      viewport: { width, height }, colorScheme: scheme, timezoneId: 'UTC', locale: 'en-GB', reducedMotion: 'reduce',
      permissions: ['clipboard-write'], ...more,  // nobody is there to permit it
    });
    this.visitors.push(visitor);
    // A handler that a scene leaves under way fails when its visitor is gone, and that is no failure of any scene.
    const route = visitor.route.bind(visitor);
    visitor.route = (address, handler) => route(address, async (request) => {
      try {
        await handler(request);
      } catch (error) {
        if (!this.isEnding) throw error;
      }
    });
    visitor.on('close', () => { this.visitors = this.visitors.filter((other) => other !== visitor); });
    visitor.setDefaultTimeout(WAIT_MS_MAX);
    visitor.complaints = [];
    await visitor.exposeFunction('reportViolation', (text) => visitor.complaints.push(`policy: ${text}`));
    await visitor.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) =>
        globalThis.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    if (process.env.SIGNALBOX_CONSOLE_FILES) await visitor.route(/\/console\/[0-9a-f]{16}\//, fileOfTheTree);
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
    await this.whole(page);
    return page;
  }

  /** Waits until nothing of the page is still asked for: what comes later would move what is there. */
  whole(page) {
    return eventually(async () => (await page.locator('[aria-busy=true]').count()) === 0, `all of ${page.url()}`);
  }

  /** Shows another page without loading the console again, and waits until all of it is there, and this text. */
  async turn(page, query, text = '') {
    await page.evaluate(async (address) => {
      history.pushState(null, '', address);
      dispatchEvent(new PopStateEvent('popstate'));
      // What was on the screen before isn't any more.
      for (let pictures = 0; pictures < 2; ++pictures) await new Promise(requestAnimationFrame);
    }, query);
    if (text) await page.locator('main').getByText(text).first().waitFor();
    await this.whole(page);
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

/** Returns the contrast between the lightest and the darkest that is painted of an element. */
export async function contrastOf(page, element) {
  const picture = await element.screenshot();
  return page.evaluate(async (bytes) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(bytes)]));
    const surface = new OffscreenCanvas(image.width, image.height).getContext('2d');
    surface.drawImage(image, 0, 0);
    const { data } = surface.getImageData(0, 0, image.width, image.height);
    const linear = (value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const lights = Array.from({ length: data.length / 4 }, (_, at) => 0.2126 * linear(data[4 * at]) + 0.7152 * linear(data[4 * at + 1]) + 0.0722 * linear(data[4 * at + 2]));
    const extreme = (look) => lights.reduce((one, other) => look(one, other));
    return (extreme(Math.max) + 0.05) / (extreme(Math.min) + 0.05);
  }, [...picture]);
}
