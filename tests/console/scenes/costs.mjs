// What a page doesn't ask for, so that ten of them cost a service little.
import { EventStream } from '../../../server/console/core/event_stream.js';
import { Freshness, nextPause, PAUSE_MS_MAX, PAUSE_MS_MIN, waitMs } from '../../../server/console/core/freshness.js';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** The stream has what lists show; the data of an event is asked for when somebody opens it. */
export async function an_event_has_its_data_when_it_is_opened(stage) {  // C6
  const page = await stage.open('?page=events');
  await page.locator('.event').first().waitFor();
  const asked = [];
  page.on('request', (request) => {
    const { method, params } = request.method() === 'POST' ? request.postDataJSON() : {};
    if (method === 'events.read') asked.push(params);
  });
  await stage.service.startRun('this goal is data', [['review']]);
  const event = page.locator('.event', { hasText: 'RunStarted' });
  await event.waitFor();
  check(asked.length === 0, `events were asked for again: ${JSON.stringify(asked)}`);
  await event.getByRole('button').click();
  await page.getByLabel(/^Data of event/).getByText('this goal is data').waitFor();
  const position = Number((await event.getByRole('button').innerText()).slice(1));
  await page.getByRole('region', { name: `What #${position} changed` }).getByRole('row', { name: /^goal this goal is data/ }).waitFor();
  check(asked.length === 1 && asked[0].from === position && asked[0].limit === 1, `asked for: ${JSON.stringify(asked)}`);
  hadNoComplaint(page);
}

/** Notes each question that a page asks, as text. */
function noteQuestions(page) {
  const asked = [];
  page.on('request', (request) => {
    if (request.method() !== 'POST' || !request.url().endsWith('/rpc')) return;
    const { method, params } = request.postDataJSON();
    asked.push(`${method} ${JSON.stringify(params)}`);
  });
  return asked;
}

const repeated = (asked) => asked.filter((question, at) => asked.indexOf(question) !== at);

/** Waits until a page is there, the bar of the log too. */
async function isThere(stage, page) {
  await page.locator('main h1').waitFor();
  await page.locator('footer.time-bar:not([aria-busy])').waitFor();
  await stage.whole(page);
}

/** Waits until the page has asked again what it is about to. A timer that is set later, and for longer, fires later. */
const asksAgain = (page) => page.evaluate((ms) => new Promise((resolve) => { setTimeout(resolve, ms); }), PAUSE_MS_MIN + 1);

/** A page asks once for what is no older than its stream of events, in the first tab of a browser and in others. */
export async function a_page_asks_each_question_once(stage) {  // C6
  const { service } = stage;
  const token = await stage.token('operator');
  for (const query of ['', '?page=runs', '?page=events', '?page=runs&at=2']) {
    // An event that happens meanwhile is asked about, such as a tick of the watchdog.
    await eventually(async () => {
      const { position: before } = await service.call('server.status');
      const visitor = await stage.visitor();
      const twice = [];
      for (const address of [`${stage.address(query)}#t=${token}`, stage.address(query)]) {
        const page = await visitor.newPage();
        const asked = noteQuestions(page);
        await page.goto(address);
        await page.getByText('● live').waitFor();
        await isThere(stage, page);
        await asksAgain(page);
        check(asked.length > 2, `it asked only ${asked}`);
        twice.push(...repeated(asked));
      }
      await visitor.close();
      if ((await service.call('server.status')).position !== before) return false;
      check(twice.length === 0, `${query} asked again: ${[...new Set(twice)].join(' ')}`);
      return true;
    }, `${query} while nothing happens`);
  }
}

/** Answers of before the stream was there are asked for again only for what happened since and concerns them. */
export async function what_is_answered_before_the_stream_is_asked_again_for_its_events(stage) {  // C6
  const { service } = stage;
  const token = await stage.token('operator');
  await service.startRun('there before', [['review']]);
  const visitor = await stage.visitor();
  // So the page has a stream of its own, which a scene can keep waiting.
  await visitor.addInitScript(() => { delete globalThis.SharedWorker; });
  await eventually(async () => {
    const { position: before } = await service.call('server.status');
    const page = await visitor.newPage();
    const asked = noteQuestions(page);
    let letGo;
    const held = new Promise((resolve) => { letGo = resolve; });
    await page.route(/\/v1\/events/, (route) => held.then(() => route.continue()));
    await page.goto(`${stage.address('?page=runs')}#t=${token}`);
    await isThere(stage, page);
    // After a command of the user's own nothing waits longer, however much it cost.
    await page.evaluate(async () => {
      const { name } = performance.getEntriesByType('resource').find((entry) => entry.name.endsWith('core/rpc.js'));
      (await import(name)).ownCommand.at = performance.now() + 1e6;
    });
    const { position: after } = await service.call('server.status');
    if (after === before) {
      letGo();
      await page.getByText('● live').waitFor();
      await asksAgain(page);
    }
    const isQuiet = (await service.call('server.status')).position === before;
    const again = repeated(asked);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.close();
    if (isQuiet) check(again.length === 0, `asked again: ${again}`);
    return isQuiet;
  }, 'a page while nothing happens');
  const page = await visitor.newPage();
  let letGo;
  const held = new Promise((resolve) => { letGo = resolve; });
  await page.route(/\/v1\/events/, (route) => held.then(() => route.continue()));
  await page.goto(`${stage.address('?page=runs')}#t=${token}`);
  await isThere(stage, page);
  await service.startRun('started between', [['review']]);
  check(await page.getByText('started between').count() === 0, 'it has what it wasn\u2019t told of');
  letGo();
  await page.getByText('started between').waitFor();
  hadNoComplaint(page);
}

/** An answer is asked for again for what happened after it, and for nothing else. */
export async function an_answer_is_asked_again_for_what_it_does_not_have() {  // C6
  const answer = new Freshness();
  /** Asks, is told of changes meanwhile, and is answered. Returns whether the answer is old. */
  const isOldAfter = ({ known = 0, changes = [], position }) => {
    answer.ask(known);
    changes.forEach((each) => answer.change(each));
    answer.answer(position);
    return answer.isOld;
  };
  check(!isOldAfter({ known: 10, changes: [11, 12], position: 12 }), 'what the answer has makes it old');
  check(isOldAfter({ known: 10, changes: [13], position: 12 }), 'what came after the answer’s position was lost');
  check(!isOldAfter({ position: 13 }), 'it is old after it was asked for again');
  answer.change(13);
  check(!answer.isOld, 'what is told late makes it old');
  answer.change(14);
  check(answer.isOld, 'a change is lost');
  check(isOldAfter({ known: 14, changes: [15] }), 'an answer of no position has what happened while it was asked for');
  check(!isOldAfter({ known: 15 }), 'an answer of no position is older than its question');
  check(isOldAfter({ known: 15, changes: [16], position: 0 }), 'what was refused isn’t asked for again after a change');
  answer.change(1000);
  check(!isOldAfter({ known: 17, position: 17 }), 'an answer of another, shorter log is asked for again for ever');
}

/** The stream says where it begins before it is live, and what it tells from there on has no gap. */
export async function a_stream_is_live_once_it_says_where_it_begins() {  // C6
  const told = [];
  const stream = new EventStream('', ({ state, position, missed, lagMs }, events) => told.push({ state, position, missed, hasLag: lagMs !== null, events: events.map((event) => event.position) }));
  const event = (position) => `id: ${position}\nevent: RunStarted\ndata: ${JSON.stringify({ position, type: 'RunStarted', stream: 'run/x', recorded_at: new Date().toISOString() })}`;
  stream.take([]);
  check(told.length === 0, 'it is live before it says anything');
  stream.take(['retry: 1000\nid: 41', event(42)]);
  stream.take([event(43), 'id: 60\nevent: skipped\ndata: {"position":60,"from":44,"to":60}', ': heartbeat']);
  const wanted = [
    { state: 'live', position: 41, missed: 0, hasLag: false, events: [] },
    { state: 'live', position: 42, missed: 0, hasLag: true, events: [42] },
    { state: 'live', position: 43, missed: 0, hasLag: true, events: [43] },
    { state: 'live', position: 60, missed: 1, hasLag: true, events: [] },
  ];
  check(JSON.stringify(told) === JSON.stringify(wanted), JSON.stringify(told));
}

/** What changes once is asked for soon, what changes all the time ever more rarely, and what takes long too. */
export async function what_changes_all_the_time_is_asked_for_rarely() {  // C6
  const pauses = [];
  for (let pause = PAUSE_MS_MIN; pauses.length < 10;) pauses.push(pause = nextPause(pause, 0));
  check(pauses.at(-1) === PAUSE_MS_MAX, `after ten changes: ${pauses}`);
  check(pauses.every((pause, at) => at === 0 || pause >= pauses[at - 1]), `it isn\u2019t rarer each time: ${pauses}`);
  check(nextPause(PAUSE_MS_MAX, PAUSE_MS_MAX + 1) === PAUSE_MS_MIN, 'after a quiet time a change is shown late');
  check(waitMs(PAUSE_MS_MIN, 0, 0) === PAUSE_MS_MIN, 'what costs nothing waits');
  check(waitMs(PAUSE_MS_MAX, 0, 1.5) === PAUSE_MS_MAX && waitMs(PAUSE_MS_MAX, 0, 50) === 4000, 'a list is asked for at other times');
  check(waitMs(PAUSE_MS_MAX, 0, 50, { totals: true }) === 25_000, 'sums over all runs are asked for as often as a list');
  check(waitMs(PAUSE_MS_MIN, 30_000, 50) === PAUSE_MS_MIN, 'what changes once is shown late because it cost much long ago');
  check(waitMs(PAUSE_MS_MIN, 0, 1e9, { totals: true }) === 30_000, 'a question that took very long once is hardly asked again');
}

/** Who drags along the bar waits for the moment where that ends: those on the way aren’t asked about. */
export async function moments_on_the_way_are_not_asked_about(stage) {  // C6
  await stage.service.startMany(8);
  const page = await stage.open('?page=runs');
  const slider = page.getByRole('slider');
  await slider.focus();
  const asked = [];
  let letGo;
  const held = new Promise((resolve) => { letGo = resolve; });
  await page.route(/\/rpc$/, async (route) => {
    const { method, params } = route.request().postDataJSON();
    if (method === 'run.list' && params.at) {
      asked.push(params.at);
      await held;
    }
    return route.continue();
  });
  await page.keyboard.press('Home');
  await eventually(() => asked.includes('1'), 'a question about the first moment');
  const { position } = await stage.service.call('server.status');
  for (let each = 0; each < 5; ++each) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('End');
  await page.keyboard.press('[');
  letGo();
  const last = new URL(page.url()).searchParams.get('at');
  check(Number(last) >= position - 1, `the last moment is ${last} of ${position}`);
  await page.locator('.virtual').getByText('one of many 6').waitFor();
  await eventually(() => asked.includes(last), 'a question about the last moment');
  const others = asked.filter((at) => at !== '1' && at !== last);
  check(others.length === 0, `asked about ${others}`);
  hadNoComplaint(page);
}
