// Every page as of any moment, where the service answers about the past.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { allPages, fillLog } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, contrastOf, hadNoComplaint } from '../stage.mjs';

/** A moment shows what was known then, offers nothing to do, and leads back to the present. */
export async function a_moment_of_the_past(stage) {
  const { service } = stage;
  const page = await stage.open('?page=runs');
  if (!await stage.has('events.histogram')) {
    check(await page.getByRole('slider').count() === 0, 'a service without a past offers it');
    await page.goto(stage.address('?page=runs&at=1'));
    await eventually(() => !page.url().includes('at='), 'the present');
    return;
  }
  const first = await service.startRun('before the moment', [['review']]);
  const { position } = await service.call('server.status');
  await service.startRun('after the moment', [['review']]);
  await page.goto(stage.address(`?page=runs&at=${position}`));
  await page.getByText(`as of`).waitFor();
  const list = page.locator('.virtual');
  await list.getByText('before the moment').waitFor();
  check(await list.getByText('after the moment').count() === 0, 'the list has what came later');
  check(await page.getByRole('button', { name: 'Start a run' }).getAttribute('aria-disabled') === 'true', 'the past can be changed');
  await list.getByText('before the moment').click();
  await page.getByRole('heading', { name: 'before the moment' }).waitFor();
  check(new URL(page.url()).searchParams.get('at') === String(position), `a link leaves the moment: ${page.url()}`);
  await page.keyboard.press('R');
  check(await page.locator('dialog[open]').count() === 0, 'a dialog is open');
  await page.keyboard.press('L');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await list.getByText('after the moment').waitFor();
  check((await service.run(first)).status !== 'canceled', 'the run was changed');
  hadNoComplaint(page);
}

/** The bar is a slider: with keys event by event, to its ends, and with a pointer. */
export async function the_bar_of_the_log(stage) {  // C2
  if (!await stage.has('events.histogram')) return;
  const ids = await fillLog(stage, path.dirname(stage.service.data));
  const page = await stage.open('?page=events');
  const slider = page.getByRole('slider');
  await slider.waitFor();
  const moment = () => new URL(page.url()).searchParams.get('at');
  await slider.focus();
  await page.keyboard.press('Home');
  await eventually(() => moment() === '1', 'the first event');
  await page.keyboard.press('ArrowRight');
  await eventually(() => moment() === '2', 'the second event');
  await page.locator('.events').getByText('#2', { exact: true }).waitFor();
  await page.keyboard.press('End');
  await eventually(() => moment() === null, 'the present');
  await page.locator('h1').click();
  await page.keyboard.press('!');
  const { events } = await stage.service.call('events.read', { types: ['RunFailed'] });
  await eventually(() => moment() === String(events[0].position), 'the first failure');
  const box = await slider.boundingBox();
  await page.mouse.click(box.x + 2, box.y + box.height / 2);
  await eventually(() => moment() !== null && Number(moment()) < 100, 'a moment near the begin');
  for (const [query] of await allPages(stage, ids)) {
    await stage.turn(page, `${query}&at=${events[0].position + 8}`);
    await page.getByText('as of').waitFor();
  }
  hadNoComplaint(page);
}

/** Two handles on the bar, which the address has: what there was of each status, and what changed of each thing. */
export async function two_moments_are_compared(stage) {  // C1 C2
  const { service } = stage;
  const begin = async () => (await service.call('server.status')).position;
  await service.startRun('before both moments', [['review']]);
  const first = await begin();
  const failing = await service.startRun('fails between them', [['go', 'exit 3']]);
  await service.runIs(failing, 'failed');
  const second = await begin();
  await service.startRun('after both moments', [['review']]);
  const page = await stage.open(`?page=runs&at=${first}`, { hasAxe: true });
  await page.getByText('as of').waitFor();
  await page.keyboard.press('C');
  await page.getByRole('heading', { name: 'What changed' }).waitFor();
  // The other end is the present: also what came after the second moment.
  await page.getByText('after both moments').waitFor();
  const [shown, other] = [page.getByRole('slider', { name: 'Moment on screen' }), page.getByRole('slider', { name: 'Moment to compare with' })];
  check(await other.getAttribute('aria-valuenow') === String(first), 'the moment that was on screen isn\u2019t compared');
  await page.goto(stage.address(`?page=compare&vs=${first}&at=${second}`));
  const row = page.getByRole('row', { name: /^runs .*failed/ });
  await row.waitFor();
  check((await row.getByRole('cell').allInnerTexts()).join() === '0,1,+1', `the count: ${await row.getByRole('cell').allInnerTexts()}`);
  const list = page.getByRole('region', { name: 'Runs' });
  await list.getByText('fails between them').waitFor();
  check(await page.getByText('before both moments').count() === 0, 'what didn\u2019t change is there');
  check(await page.getByText('after both moments').count() === 0, 'what came later is there');
  await list.getByRole('button', { name: 'Fields of fails between them' }).press('Enter');
  await page.getByRole('row', { name: /^status .*failed/ }).waitFor();
  await page.getByText(`signalbox diff --from ${first} --to ${second}`).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  // Either handle moves, and they may pass each other.
  await other.focus();
  await page.keyboard.press('ArrowRight');
  await eventually(() => new URL(page.url()).searchParams.get('vs') === String(first + 1), 'the next event');
  await page.keyboard.press('End');
  await eventually(() => Number(new URL(page.url()).searchParams.get('vs')) > second, 'the end');
  await page.getByText('after both moments').waitFor();
  await shown.focus();
  await page.keyboard.press('Home');
  await eventually(() => new URL(page.url()).searchParams.get('at') === '1', 'the first event');
  await page.getByText('before both moments').waitFor();
  for (const wrong of ['', '&vs=x', '&vs=0', '&vs=9999999999']) {
    await page.goto(stage.address(`?page=compare${wrong}`));
    await page.getByRole('heading', { name: 'What changed' }).waitFor();
    await stage.whole(page);
  }
  hadNoComplaint(page);
}

/** What others do changes nothing of a thing, and asks for nothing of it again. Both moments are known before either is shown. */
export async function a_comparison_with_the_present_stays_readable(stage) {  // C1
  const { service } = stage;
  const begin = async () => (await service.call('server.status')).position;
  const first = await begin();
  const failing = await service.startRun('stays as it is', [['go', 'exit 3']]);
  await service.runIs(failing, 'failed');
  const page = await stage.open(`?page=compare&vs=${first}`);
  const asked = [];
  page.on('request', (request) => request.postData()?.includes('state.diff') && asked.push(request.postData()));
  const list = page.getByRole('region', { name: 'Runs' });
  await list.getByRole('button', { name: 'Fields of stays as it is' }).press('Enter');
  await page.getByRole('row', { name: /^status .*failed/ }).waitFor();
  await service.startRun('something else', [['review']]);
  await list.getByText('something else').waitFor();
  await page.getByRole('row', { name: /^status .*failed/ }).waitFor();
  check(asked.length === 1, `asked again: ${asked.join('; ')}`);
  hadNoComplaint(page);
  const visitor = await stage.visitor();
  await visitor.addInitScript(() => {
    new MutationObserver(() => {
      if (document.body?.textContent.includes('The two moments are the same')) globalThis.wereTheSame = true;
    }).observe(document, { childList: true, subtree: true });
  });
  const loaded = await stage.open(`?page=compare&vs=${await begin()}&at=${first}`, { visitor });
  await loaded.getByText('stays as it is').waitFor();
  check(!await loaded.evaluate(() => globalThis.wereTheSame), 'a moment was compared with itself');
  hadNoComplaint(loaded);
}

/**
 * A quarter of such a log, up to the present, begins behind its first bucket: buckets have at least ten seconds, and
 * what is shown begins with a whole one.
 */
const ZOOMED_MS = 15_000;

/** Also where the bar is zoomed to a part that begins later. What is between is kept, so the hatching doesn't touch the part. */
async function isHatchedOfAPart(service, page, hatched) {
  await page.keyboard.press('L');
  await eventually(async () => {
    const { from, to } = await service.call('events.histogram', { buckets: 1 });
    return Date.parse(to) - Date.parse(from) > ZOOMED_MS;
  }, 'a log that is long enough for a part of it');
  const gapPx = async () => {
    const [mark, track] = await Promise.all([hatched, page.locator('.bar-track')].map((each) => each.boundingBox()));
    return track.x - mark.x - mark.width;
  };
  check(await gapPx() < 2, 'the hatching is away from the bar that begins behind it');
  await page.getByRole('button', { name: 'Zoom into the bar' }).click();
  await eventually(async () => await gapPx() > 8, 'a part of the bar, away from the hatching');
  const [mark, begin] = await Promise.all([hatched, page.locator('.time-bar > time')].map((each) => each.boundingBox()));
  check(begin.x > mark.x, 'the time at which the part begins is before the hatching');
  await page.getByRole('button', { name: 'Zoom out of the bar' }).click();
  await eventually(async () => await gapPx() < 2, 'the whole bar, beside the hatching');
}

/** What a retention has archived isn't shown: the page says where it is, the bar begins behind it, and the present is a key away. */
export async function before_the_horizon(stage) {  // C1
  const { service } = stage;
  const place = path.dirname(service.data);
  const key = path.join(place, 'audit.key');
  await service.runIs(await service.startRun('long ago', [['go', 'true']]), 'succeeded');
  const { position: old } = await service.call('server.status');
  await service.call('audit.adopt_key', { verifier_key: execFileSync(service.binary, ['audit', 'keygen', '-o', key, '--name', 'example.com/scene'], { encoding: 'utf8' }).trim() });
  fs.writeFileSync(path.join(service.data, 'signalbox.toml'), `[retention]\nolder_than = "1s"\narchive = "${place}/archive"\nkey = "${key}"\n`);
  await service.kill();
  await service.start();
  const page = await stage.open(`?page=runs&at=${old}`, { hasAxe: true });
  await page.locator('.virtual').getByText('long ago').waitFor();
  const horizon = await eventually(async () => {
    await service.call('loop.trigger', { loop: 'retention' }).catch(() => {});
    return service.call('events.read', { from: old, limit: 1 }).then(() => false, ({ code, details }) => code === 'HISTORY_DROPPED' && details.horizon);
  }, 'a retention');
  await stage.turn(page, `?page=board&at=${old - 1}`);
  const alert = page.getByRole('main').getByRole('alert').filter({ hasText: 'HISTORY_DROPPED' });
  await alert.getByText(`${place}/archive`).first().waitFor();
  check((await page.locator('.bar-text').innerText()).startsWith(`as of #${old - 1}`), `the bar says ${await page.locator('.bar-text').innerText()}`);
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  // The bar is asked for again by itself.
  const slider = page.getByRole('slider', { name: 'Moment on screen' });
  await eventually(async () => Number(await slider.getAttribute('aria-valuemin')) > horizon, 'a bar that begins behind the horizon');
  // What is before it is hatched, for every eye, says where it is, and leads there.
  const hatched = page.getByRole('button', { name: `dropped by a retention, archived in ${place}/archive` });
  for (const [colorScheme, forcedColors] of [['light', 'none'], ['dark', 'none'], ['light', 'active'], ['dark', 'active']]) {
    await page.emulateMedia({ colorScheme, forcedColors });
    const seen = await contrastOf(page, hatched);
    check(seen >= 3, `hatched with a contrast of ${seen.toFixed(1)}, ${colorScheme}, forced colours ${forcedColors}`);
  }
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
  await stage.turn(page, '?page=board');
  await hatched.click();
  await alert.getByText(`${place}/archive`).first().waitFor();
  await isHatchedOfAPart(service, page, hatched);
  await slider.focus();
  await page.keyboard.press('Home');
  await eventually(() => Number(new URL(page.url()).searchParams.get('at')) > horizon, 'the oldest moment that is kept');
  await alert.waitFor({ state: 'detached' });
  await page.keyboard.press('L');
  await page.getByRole('button', { name: 'Submit a card' }).waitFor();
  await eventually(() => !page.url().includes('at='), 'the present');
  hadNoComplaint(page);
}
