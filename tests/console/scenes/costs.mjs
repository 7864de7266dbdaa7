// What a page doesn't ask for, so that ten of them cost a service little.
import { nextPause, PAUSE_MS_MAX, PAUSE_MS_MIN, waitMs } from '../../../server/console/core/pace.js';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** The stream has what lists show; the data of an event is asked for when somebody opens it. */
export async function an_event_has_its_data_when_it_is_opened(stage) {  // C6
  const page = await stage.open('?page=runs');
  // What began before the stream is asked for again once that is live, so the list begins after it.
  await stage.turn(page, '?page=events');
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
  check(asked.length === 1 && asked[0].from === position && asked[0].limit === 1, `asked for: ${JSON.stringify(asked)}`);
  hadNoComplaint(page);
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
