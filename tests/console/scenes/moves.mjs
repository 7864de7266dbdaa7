// Ways through the log: a part of the bar, the events of one run, and what happened since the last visit.
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { zoomed } from '../../../server/console/core/time_range.js';

/** A part of the bar is the one around the moment, within the log; its end is the present where it comes near. */
export async function a_part_of_the_bar_lies_within_the_log() {
  const whole = { from: 0, to: 1_000_000 };
  const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  check(isSame(zoomed(whole, 0.25, 500_000, whole), { from: 375_000, to: 625_000 }), 'not around the moment');
  check(isSame(zoomed(whole, 0.25, 0, whole), { from: 0, to: 250_000 }), 'before the log');
  check(isSame(zoomed(whole, 0.25, 1_000_000, whole), { from: 750_000, to: null }), 'the present isn\u2019t its end');
  check(isSame(zoomed({ from: 0, to: 600_000 }, 0.25, null, whole), { from: 850_000, to: null }), 'the present isn\u2019t the end of a bar whose answer is old');
  check(zoomed({ from: 375_000, to: 625_000 }, 4, 500_000, whole) === null, 'not all of it');
  check(isSame(zoomed({ from: 5000, to: 6000 }, 0.25, 5500, whole), { from: 5000, to: 6000 }), 'shorter than a second');
}

/** Keys show a part of the bar and all of it; a click then is in that part. */
export async function the_bar_comes_closer(stage) {  // C2
  await stage.service.startMany(3);
  const page = await stage.open('?page=runs');
  await page.getByRole('slider').waitFor();
  const asked = [];
  page.on('request', (request) => {
    const { method, params } = request.method() === 'POST' ? request.postDataJSON() : {};
    if (method === 'events.histogram') asked.push(params);
  });
  // A log that is younger than a second has no part.
  await eventually(async () => {
    await page.keyboard.press('+');
    return asked.some(({ from }) => from);
  }, 'a part of the bar');
  check(asked.every(({ to }) => !to), 'the part doesn\u2019t end with the present');
  await page.getByRole('slider').waitFor();
  const before = asked.length;
  await eventually(async () => {
    await page.getByRole('button', { name: 'Zoom out of the bar' }).click();
    return asked.slice(before).some(({ from }) => !from);
  }, 'the whole bar');
  hadNoComplaint(page);
}

/** Braces, and Shift with the arrows on the bar, go through the events of what is selected; a dot says what can be done with it. */
export async function the_events_of_what_is_selected(stage) {  // C2
  const { service } = stage;
  const id = await service.startRun('followed', [['review']]);
  await service.startRun('another one', [['review']]);
  await service.call('run.pause', { run_id: id });
  await service.startRun('and one more', [['review']]);
  const { events } = await service.call('events.read', { stream: `run/${id}` });
  const positions = events.map(({ position }) => String(position));
  const page = await stage.open(`?page=run&id=${id}`);
  await page.getByRole('heading', { name: 'followed' }).waitFor();
  const moment = () => new URL(page.url()).searchParams.get('at');
  for (const at of positions.toReversed()) {
    await page.keyboard.press('{');
    await eventually(() => moment() === at, `the event #${at} of the run`);
    await stage.whole(page);
  }
  await page.keyboard.press('}');
  await eventually(() => moment() === positions[1], 'the next event of the run');
  await stage.whole(page);
  await page.getByRole('slider').press('Shift+ArrowLeft');
  await eventually(() => moment() === positions[0], 'the one before, from the bar');
  await page.keyboard.press('L');
  await stage.turn(page, '?page=runs', 'and one more');
  await page.keyboard.press('.');
  await page.locator('dialog[open]').getByRole('option', { name: /^Pause this run and one more/ }).waitFor();
  hadNoComplaint(page);
}

/** What was kept of visits may be anything; an hour without a key or a click ends one. */
export async function visits_are_an_hour_apart(stage) {
  const hour = 3_600_000;
  const visitor = await stage.visitor();
  await visitor.addInitScript((away) => location.protocol === 'http:' && localStorage.setItem('signalbox.visit', JSON.stringify({ seen: Date.now() - away, before: 5 })), 2 * hour);
  const page = await stage.open('?page=night', { visitor });
  const before = Date.now() - 2 * hour;
  await page.getByRole('button', { name: 'since you were here last' }).click();
  await eventually(() => new URL(page.url()).searchParams.get('since'), 'a time in the address');
  const since = Date.parse(new URL(page.url()).searchParams.get('since'));
  check(Math.abs(since - before) < hour, `since ${new Date(since).toISOString()}`);
  await page.locator('.night .sentence').waitFor();
  await stage.whole(page);
  // One after the other, each with what the page keeps when it is loaded: a browser for each would cost ten times as much.
  const all = ['{', 'null', '5', '{"seen":"x","before":{}}', '{"before":1e99}'];
  const stranger = await stage.visitor();
  await stranger.addInitScript((texts) => {
    if (location.protocol !== 'http:') return;
    globalThis.kept = texts[Number(sessionStorage.getItem('loads') ?? 0)];
    sessionStorage.setItem('loads', Number(sessionStorage.getItem('loads') ?? 0) + 1);
    localStorage.setItem('signalbox.visit', globalThis.kept);
  }, all);
  const first = await stage.open('?page=night', { visitor: stranger });
  for (const [load, kept] of all.entries()) {
    if (load > 0) await first.reload();
    await first.getByText('● live').waitFor();
    await first.locator('.night .sentence').waitFor();
    await stage.whole(first);
    check(await first.evaluate(() => globalThis.kept) === kept, `${kept} isn\u2019t what was kept`);
    check(await first.getByRole('button', { name: 'since you were here last' }).count() === 0, `${kept} is a visit`);
    hadNoComplaint(first);
  }
  hadNoComplaint(page);
}

/** A part of a run is chosen with the pointer, and a button shows all of it again. */
export async function a_part_of_a_run(stage) {  // C1
  const { service } = stage;
  const id = await service.startRun('in parts', [['first', 'true'], ['second', 'true'], ['review']]);
  await eventually(async () => (await service.run(id)).stations.some(({ waiting_for: what }) => what === 'approval'), 'an approval that is waited for');
  await service.call('run.cancel', { run_id: id });
  await service.runIs(id, 'canceled');
  const page = await stage.open(`?page=run&id=${id}`);
  const fall = page.getByRole('group', { name: 'Attempts over time' });
  const bars = fall.locator('.fall-bar');
  await bars.first().waitFor();
  const all = await bars.count();
  const track = fall.locator('.fall-track').first();
  const whole = page.getByRole('button', { name: 'all of it' });
  // What the page gets to know meanwhile may move its rows away under the pointer.
  await eventually(async () => {
    await track.hover({ position: { x: 2, y: 4 } });
    const { x, y } = await track.boundingBox();
    await page.mouse.down();
    await page.mouse.move(x + 9, y + 4, { steps: 4 });
    await page.mouse.up();
    await stage.whole(page);
    return await whole.count() > 0;
  }, 'a part of the time');
  check(await bars.count() < all, 'what comes after the part is there');
  await whole.click();
  await eventually(async () => await bars.count() === all, 'all of it');
  hadNoComplaint(page);
}
