// Measures the console: node bench.mjs BINARY NODE_MODULES DIRECTORY [PART]
//
// Times stand beside a yardstick of the same machine and moment, so that ratios can be compared from one
// machine to another: the same question without a page, two pictures of a page that changes nothing, and a
// bare page that reads the same stream and paints a number. The browser, the server and this program share
// the processors; where what a service pays for its consoles is measured, browsers give way to it, because
// those of its users are elsewhere. Nothing here fails: a slow machine isn't a defect.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { giveWay } from './give_way.mjs';
import { Load } from './load.mjs';
import { Stage, startBrowser } from './stage.mjs';

const RUNS = 10_000;
const ROWS = 100;
const MOMENTS = 40;
const REDRAWS = 40;
const TABS = 10;
const ROUNDS = 7;
const ROUND_MS = 4000;
/** Until the store's own work in the background is as it stays. */
const WARM_UP_MS = 8000;
const EVENTS_PER_SECOND = 1000;
/** Those that a page follows without growing, and those of the log whose moments are shown. */
const LATER_EVENTS = 500_000;
const LOG_EVENTS = 1_000_000;
const FIRST_PAINTS = 5;
const MB = 1024 * 1024;

const sorted = (values) => values.toSorted((a, b) => a - b);
const quantile = (values, part) => sorted(values)[Math.floor(part * (values.length - 1))] ?? 0;
const median = (values) => quantile(values, 0.5);

/** Prints a figure: `target` is what it should be at most, or at least; null where nothing is promised. */
function report(name, value, unit, target, what) {
  const [bound, limit] = target ?? ['', ''];
  const isMet = bound === '≤' ? value <= limit : value >= limit;
  const mark = target ? (isMet ? '✔' : '✖') : ' ';
  console.log(`${mark} ${name.padEnd(24)} ${value.toFixed(unit === '×' ? 2 : 1).padStart(9)} ${unit.padEnd(4)} ${bound.padEnd(1)} ${String(limit).padEnd(5)} ${what}`);
}

/** Functions in the page: what a user waits for, and the same question alone. */
function install() {
  const frame = () => new Promise(requestAnimationFrame);
  const painted = async () => {
    await frame();
    await new Promise((resolve) => setTimeout(resolve));
  };
  // What is there when a picture begins is on the screen when that picture is made.
  const until = async (isThere) => {
    await painted();
    while (!isThere()) await frame();
    await new Promise((resolve) => setTimeout(resolve));
  };
  globalThis.bench = {
    painted,
    async turn(address, selector) {
      const began = performance.now();
      history.pushState(null, '', address);
      dispatchEvent(new PopStateEvent('popstate'));
      await until(() => document.querySelector(selector) && !document.querySelector('main [aria-busy]'));
      return performance.now() - began;
    },
    async ask(secret, method, params) {
      const began = performance.now();
      const response = await fetch('../rpc', {
        method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      await response.json();
      return performance.now() - began;
    },
    /** Notes when which event stood first on the screen: what is there just after each picture. */
    async watch() {
      globalThis.firsts = [];
      for (;;) {
        await painted();
        const first = Number(/#(\d+)/.exec(document.querySelector('.events .id')?.textContent ?? '')?.[1]);
        if (first && first !== globalThis.firsts.at(-1)?.first) globalThis.firsts.push({ first, at: Date.now() });
      }
    },
    /** Makes of the page the least that follows the log: the position of the newest event. */
    async follow(secret) {
      document.body.innerHTML = '<p class="events"><b class="id"></b></p>';
      const { body } = await fetch('v1/events', { headers: { Authorization: `Bearer ${secret}` } });
      let rest = '';
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        rest += text;
        const [, position] = [...rest.matchAll(/^id: (\d+)\n/gm)].at(-1) ?? [];
        if (position) document.querySelector('.id').textContent = `#${position}`;
        rest = rest.slice(rest.lastIndexOf('\n\n') + 1);
      }
    },
    async redraw(list, top) {
      const began = performance.now();
      if (list) document.querySelector(list).scrollTo(0, top);
      await painted();
      return performance.now() - began;
    },
  };
}

const settle = (page) => page.waitForTimeout(1000);

async function heapMb(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / MB;
}

/**
 * Opens the console as somebody who never was there. Returns the page, what it took until its first picture and
 * until the first with the page itself, and the bytes that were asked for until then.
 */
async function firstPicture(stage, visitor) {
  await visitor.addInitScript(() => {
    const look = () => {
      if (document.querySelector('main h1')) globalThis.pageAt = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const page = await visitor.newPage();
  await page.goto(`${stage.address()}#t=${await stage.token('operator')}`);
  await page.getByText('● live').waitFor();
  await settle(page);
  const found = await page.evaluate(() => {
    const painted = performance.getEntriesByName('first-contentful-paint')[0].startTime;
    const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name, startTime }) => name.includes('/console/') && startTime <= globalThis.pageAt);
    return { painted, whole: globalThis.pageAt, bytes: files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
  });
  return { page, ...found };
}

async function firstLoad(stage) {
  const [paints, wholes] = [[], []];
  for (let each = 0; each < FIRST_PAINTS; ++each) {
    const visitor = await stage.visitor();
    const { painted, whole } = await firstPicture(stage, visitor);
    paints.push(painted);
    wholes.push(whole);
    await visitor.close();
  }
  report('first_paint', median(paints), 'ms', ['≤', 400], 'from the address to the first picture, of a browser that has nothing yet');
  report('first_page', median(wholes), 'ms', null, 'the same until the page is there, which the first picture only announces');
  const visitor = await stage.visitor();
  let all = 0;
  visitor.on('response', async (response) => {
    if (!response.url().includes('/console/')) return;
    const bytes = await response.request().sizes().then(({ responseBodySize }) => responseBodySize, () => 0);
    all += bytes;
  });
  const { page, bytes } = await firstPicture(stage, visitor);
  report('first_load', bytes / 1024, 'KiB', ['≤', 60], 'files that are asked for until the page is there, as they are sent');
  for (const name of ['board', 'runs', 'run', 'night', 'loops', 'events', 'projects', 'whatif', 'compare', 'audit', 'server', 'card']) {
    await stage.turn(page, `?page=${name}`);
    await settle(page);
  }
  report('all_pages', all / 1024, 'KiB', ['≤', 150], 'files of all pages');
  await visitor.close();
}

async function rows(page, secret) {
  const times = { list: [], ask: [], empty: [] };
  const ask = (params) => page.evaluate(([token, given]) => globalThis.bench.ask(token, 'run.list', given), [secret, { limit: ROWS, ...params }]);
  const turn = (address) => page.evaluate((to) => globalThis.bench.turn(to, '.virtual-row'), address);
  for (let each = 0; each < 10; ++each) {
    times.list.push(await turn(`?page=runs&status=queued&since=${each % 2 ? '12 h' : '7 d'}`));
    times.ask.push(await ask({}));
  }
  for (let each = 0; each < MOMENTS; ++each) times.empty.push(2 * await page.evaluate(() => globalThis.bench.redraw('', 0)));
  const [list, least] = [median(times.list), median(times.ask) + median(times.empty)];
  report('first_rows', list, 'ms', ['≤', 300], `first rows of ${RUNS} runs on the screen`);
  report('first_rows_of_bound', list / least, '×', ['≤', 3], `the same, of asking for ${ROWS} of them alone and two pictures: ${least.toFixed(1)} ms`);
}

async function moments(stage, page, secret) {
  const times = { past: [], ask: [], empty: [] };
  const { position } = await stage.service.call('server.status');
  // Each moment is as far from the one before as that of the question alone from its own.
  const momentOf = (each) => RUNS + Math.floor(((position - RUNS) * ((each * 7) % MOMENTS)) / MOMENTS);
  // The service makes its history of the log when somebody first asks for it.
  const first = await page.evaluate(([token, limit, at]) => globalThis.bench.ask(token, 'run.list', { limit, at }), [secret, ROWS, position]);
  report('first_moment', first, 'ms', null, 'until the first question about the past of a service is answered, once in its life');
  for (let each = 0; each < MOMENTS; ++each) times.past.push(await page.evaluate((to) => globalThis.bench.turn(to, '.virtual-row'), `?page=runs&at=${momentOf(each)}`));
  for (let each = 0; each < MOMENTS; ++each) times.ask.push(await page.evaluate(([token, limit, at]) => globalThis.bench.ask(token, 'run.list', { limit, at }), [secret, ROWS, momentOf(each) + 1]));
  for (let each = 0; each < MOMENTS; ++each) times.empty.push(2 * await page.evaluate(() => globalThis.bench.redraw('', 0)));
  const [past, least] = [quantile(times.past, 0.95), quantile(times.ask, 0.95) + quantile(times.empty, 0.95)];
  report('moment_p95', past, 'ms', ['≤', 100], `p95 of the runs as of any moment of ${position} events on the screen`);
  report('moment_p95_of_bound', past / least, '×', ['≤', 3], `the same, of asking for ${ROWS} of them alone and two pictures: ${least.toFixed(1)} ms`);
}

async function timeline(page) {
  await page.evaluate(() => globalThis.bench.turn('?page=night', '.timeline .virtual-row'));
  const [drawn, empty] = [[], []];
  for (let each = 0; each < REDRAWS; ++each) {
    drawn.push(await page.evaluate((top) => globalThis.bench.redraw('.timeline .virtual', top), (each % 8) * 1200));
    empty.push(await page.evaluate(() => globalThis.bench.redraw('', 0)));
  }
  report('timeline_redraw', median(drawn) - median(empty), 'ms', ['≤', 16], 'a scrolled timeline, more than an empty picture');
}

/** Returns how long each event took from its record to the screen of a page that is watched. */
async function timesToScreen(stage, page, load) {
  const { position: before } = await stage.service.call('server.status');
  await page.evaluate(() => void globalThis.bench.watch());
  await load.start(EVENTS_PER_SECOND * 5, { perSecond: EVENTS_PER_SECOND });
  await settle(page);
  const firsts = await page.evaluate(() => globalThis.firsts);
  const late = [];
  for (let from = before + 1, more = true; more;) {
    const read = await stage.service.call('events.read', { from, limit: 1000 });
    for (const { position, recorded_at: time } of read.events) late.push(firsts.find(({ first }) => first >= position)?.at - Date.parse(time));
    ({ next_from: from, more } = read);
  }
  return late.filter(Number.isFinite);
}

/** Opens the other tabs of a window, of which a browser shows one: a test's browser makes pictures of all. */
async function openHiddenTabs(stage, visitor) {
  await visitor.addInitScript(() => {
    Object.defineProperty(Document.prototype, 'hidden', { get: () => true });
    globalThis.requestAnimationFrame = () => 0;
  });
  const tabs = [];
  while (tabs.length < TABS - 1) {
    const page = await visitor.newPage();
    await page.goto(stage.address('?page=runs'));
    await page.getByText('● live').waitFor();
    tabs.push(page);
  }
  return tabs;
}

async function liveness(stage, page, load) {
  const visitor = await stage.visitor();
  const bare = await visitor.newPage();
  await bare.goto(`http://${stage.service.address}/healthz`);
  await bare.evaluate(install);
  await bare.evaluate((secret) => void globalThis.bench.follow(secret).catch(() => {}), await stage.token('operator'));
  const least = quantile(await timesToScreen(stage, bare, load), 0.99);
  await visitor.close();
  await page.evaluate(() => globalThis.bench.turn('?page=events', '.events'));
  const others = await openHiddenTabs(stage, page.context());
  await page.bringToFront();
  const late = await timesToScreen(stage, page, load);
  await Promise.all(others.map((tab) => tab.close()));
  report('painted_p99', quantile(late, 0.99), 'ms', ['≤', 150], `from record to the first of ${TABS} tabs at up to ${EVENTS_PER_SECOND} events/s (${late.length} events)`);
  report('painted_p99_of_bound', quantile(late, 0.99) / least, '×', ['≤', 3], `the same, of a bare page that shows their positions: ${least} ms`);
}

async function memory(page, load, runId) {
  await page.evaluate(() => globalThis.bench.turn('?page=runs', '.virtual-row'));
  for (let last = -1, count = 0; count !== last;) {
    last = count;
    await page.locator('.virtual').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await page.waitForTimeout(500);
    count = Number(await page.locator('.virtual').getAttribute('aria-rowcount'));
  }
  const whole = await heapMb(page);
  report('heap', whole, 'MiB', ['≤', 40], `with ${await page.locator('.virtual').getAttribute('aria-rowcount')} runs loaded`);
  await page.evaluate(() => globalThis.bench.turn('?page=events', '.events'));
  const before = await heapMb(page);
  await load.fill(LATER_EVENTS, runId);
  await settle(page);
  report('heap_growth', await heapMb(page) - before, 'MiB', ['≤', 20], `over ${LATER_EVENTS} events`);
}

/** Begins so many consoles without their browsers (wire_consoles.mjs). Returns what ends them, with what they counted. */
async function openWireConsoles(stage) {
  // A session of its own, so that it can give way as a whole.
  const child = fork(new URL('./wire_consoles.mjs', import.meta.url), [stage.service.address, await stage.token('operator'), String(TABS)], { detached: true });
  await once(child, 'message');
  giveWay(child.pid);
  return async () => {
    child.send('end');
    const [counted] = await once(child, 'message');
    return counted;
  };
}

/** The server's own processor time, in ms. */
function serverMs(stage) {
  const [user, system] = fs.readFileSync(`/proc/${stage.service.process.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
  return (user + system) * 10;
}

async function throughputOf(stage, load) {
  const [began, before] = [serverMs(stage), load.started];
  const runs = await load.throughput(ROUND_MS);
  // The read models of these runs are made now or while others ask: here they count for both.
  await stage.service.call('run.list', { limit: 1 });
  return { runs, ms: (serverMs(stage) - began) / (load.started - before) };
}

async function consoles(stage, load) {
  const ratios = { tabs: [], tabsMs: [], consoles: [], consolesMs: [] };
  let [asked, behind] = [0, 0];
  await load.throughput(WARM_UP_MS);
  for (let round = 0; round < ROUNDS; ++round) {
    const before = await throughputOf(stage, load);
    const visitor = await stage.visitor();
    await stage.open('?page=runs', { visitor });
    await openHiddenTabs(stage, visitor);
    giveWay(process.pid, [stage.service.process.pid]);
    const withTabs = await throughputOf(stage, load);
    await visitor.close();
    const close = await openWireConsoles(stage);
    const withConsoles = await throughputOf(stage, load);
    const counted = await close();
    asked += counted.asked;
    behind = Math.max(behind, (await stage.service.call('server.status')).position - counted.oldest);
    // More runs make each later one dearer: of the time before and the time after.
    const after = await throughputOf(stage, load);
    const without = { runs: (before.runs + after.runs) / 2, ms: (before.ms + after.ms) / 2 };
    ratios.tabs.push(withTabs.runs / without.runs);
    ratios.tabsMs.push(withTabs.ms / without.ms);
    ratios.consoles.push(withConsoles.runs / without.runs);
    ratios.consolesMs.push(withConsoles.ms / without.ms);
  }
  report('throughput_with_tabs', median(ratios.tabs), '×', ['≥', 0.97], `runs started per second with ${TABS} tabs in a window that gives way, of without`);
  report('server_time_with_tabs', median(ratios.tabsMs), '×', ['≤', 1.03], 'the server\'s own time for each of them, with its read models');
  report('throughput_with_consoles', median(ratios.consoles), '×', ['≥', 0.97], `the same with ${TABS} browsers that each show all runs, without the browsers: ${asked} questions, at most ${behind} events behind`);
  report('server_time_with_consoles', median(ratios.consolesMs), '×', ['≤', 1.03], 'the server\'s own time for each of these');
}

const [binary, modules, directory, only = ''] = process.argv.slice(2);
const wants = (/** @type {string} */ part) => !only || only === part;
const browser = await startBrowser(modules);
const stage = new Stage(browser, binary, modules, directory);
try {
  await stage.begin();
  const load = await Load.connect(stage.service);
  if (wants('first')) await firstLoad(stage);
  await load.start(RUNS);
  const page = await stage.open('?page=inbox');
  await page.evaluate(install);
  if (wants('rows')) await rows(page, await stage.token('operator'));
  if (wants('timeline')) await timeline(page);
  if (wants('liveness')) await liveness(stage, page, load);
  const [{ run_id: runId }] = (await stage.service.call('run.list', { limit: 1 })).runs;
  if (wants('memory')) await memory(page, load, runId);
  if (wants('moments')) {
    const { position } = await stage.service.call('server.status');
    await load.fill(Math.max(0, LOG_EVENTS - position), runId);
    await moments(stage, page, await stage.token('operator'));
  }
  await page.context().close();
  if (wants('consoles')) await consoles(stage, load);
  load.end();
} finally {
  await stage.end();
  await browser.close();
}
process.exit(0);
