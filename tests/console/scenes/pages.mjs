// Every page, as it looks and as a screen reader has it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Load } from '../load.mjs';
import { allPages, fillLog, repository } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { inTurn } from '../turns.mjs';

const LOOKS = [
  { name: 'light', width: 1280, height: 800, scheme: 'light' },
  { name: 'dark', width: 1280, height: 800, scheme: 'dark' },
  { name: 'phone', width: 390, height: 844, scheme: 'light' },
  { name: 'narrow', width: 320, height: 640, scheme: 'dark' },
  { name: 'wide', width: 2560, height: 1300, scheme: 'dark' },
];
/** Axe takes most of the time: it looks at one of a page's looks in a run, at another one of the next page's. */
const AXE_STRIDE = LOOKS.length;

/** The page is accessible in each look, and isn't wider than its window. */
async function looksGood(stage, page, query, number) {
  const withAxe = inTurn(LOOKS, AXE_STRIDE, number);
  const widths = new Set();
  for (const look of LOOKS) {
    const { name, width, height, scheme } = look;
    // No colour makes a page wider, and each look is painted.
    if (widths.has(width) && !withAxe.includes(look) && !stage.pictures) continue;
    widths.add(width);
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    if (withAxe.includes(look)) {
      const found = await stage.violations(page);
      check(found.length === 0, `${name} ${query}: ${found.join('; ')}`);
    }
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(tooWide <= 0, `${name} ${query} is ${tooWide} px too wide`);
    if (stage.pictures) await page.screenshot({ path: path.join(stage.pictures, `${query.replace(/\W+/g, '-').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'id')}-${name}.png`) });
  }
}

/** Each page loads, breaks no rule of its policy, and looks good. */
export async function every_page_in_every_look(stage) {  // C2
  const ids = await fillLog(stage, path.dirname(stage.service.data));
  const pages = [...(await allPages(stage, ids)).entries()];
  // Two browsers beside each other: tabs of one would hide each other.
  await Promise.all([0, 1].map(async () => {
    const page = await stage.open('', { hasAxe: true });
    for (let next = pages.shift(); next; next = pages.shift()) {
      const [number, [query, text]] = next;
      await stage.turn(page, query, text);
      await looksGood(stage, page, query, number);
    }
    hadNoComplaint(page);
  }));
}

every_page_in_every_look.isLong = true;

/** A screen on the wall shows a page and nothing to press. */
export async function a_kiosk(stage) {
  const { paused } = await fillLog(stage, path.dirname(stage.service.data));
  const page = await stage.open('?kiosk=now', { role: 'viewer', hasAxe: true, width: 1920, height: 1080 });
  await page.getByText('write the notes').first().waitFor();
  check(await page.getByRole('button').count() === 0, 'there is a button');
  check(await page.getByRole('navigation').count() === 0, 'there is a navigation');
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.keyboard.press('u');
  check(await page.locator('dialog[open]').count() === 0, 'it asks something');
  check((await stage.service.run(paused)).status === 'paused', 'the run isn’t paused any more');
  hadNoComplaint(page);
}

/** Names without a space wrap where they wait. */
export async function a_long_name_on_a_phone(stage) {  // C2
  await stage.service.startRun('asked on the way', [['review']], { project: 'W'.repeat(60) });
  const page = await stage.open('?page=inbox', { width: 390, height: 844 });
  const item = page.locator('.item', { hasText: 'asked on the way' });
  await item.waitFor();
  const over = await item.evaluate((each) => each.scrollWidth - each.clientWidth);
  check(over <= 0, `the item is ${over} px too narrow for its project`);
  hadNoComplaint(page);
}

/** Where nothing waits, the first page says what was done and what comes next. */
export async function nothing_needs_anybody(stage) {
  const id = await stage.service.startRun('goes well', [['go', 'true']]);
  await stage.service.runIs(id, 'succeeded');
  const page = await stage.open('?page=inbox', { hasAxe: true });
  await page.getByText('Nothing needs you.').waitFor();
  await page.getByText('1 run started · 1 succeeded').waitFor();
  await page.getByText('The next tick of the').waitFor();
  await page.getByText('signalbox run start "fix the failing test"', { exact: true }).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.getByRole('main').getByRole('link', { name: 'Night' }).click();
  await page.getByRole('heading', { name: 'Night' }).waitFor();
  await page.goto(stage.address('?page=board'));
  await page.getByText('signalbox card submit PROJECT "a title"', { exact: true }).waitFor();
  await page.goto(stage.address('?page=runs&status=failed'));
  await page.getByText('signalbox run start "fix the failing test" --watch', { exact: true }).waitFor();
  hadNoComplaint(page);
}

/** What fails in the service itself is on its page as in the inbox. */
export async function what_fails_in_the_service(stage) {  // O1
  const { service } = stage;
  const page = await stage.open('?page=server', { hasAxe: true });
  await page.getByText('No condition of the service needs you').waitFor();
  await service.kill();
  fs.writeFileSync(path.join(service.data, 'store'), '[default]\naws_access_key_id = a\naws_secret_access_key = b\n', { mode: 0o600 });
  fs.writeFileSync(path.join(service.data, 'signalbox.toml'),
    '[artifacts]\nstore = "s3://bucket/team"\nendpoint = "http://127.0.0.1:1"\ncredentials = "store"\n');
  await service.start();
  await service.startRun('leave files', [['go', 'true']]);
  await eventually(async () => (await service.call('attention.list', { kinds: ['service'] })).total > 0, 'a condition of the service');
  await page.reload();
  await page.getByRole('alert').getByText('the store of artifacts can\'t be used').waitFor();
  await page.getByRole('alert').getByText('signalbox status', { exact: true }).waitFor();
  check(await page.getByText('No condition of the service needs you').count() === 0, 'it says that nothing needs anybody');
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
}

/** A project says what its cards will miss, and sees what was mended when it looks again. */
export async function what_cards_will_miss(stage) {  // O8
  const place = repository(path.dirname(stage.service.data));
  await stage.service.call('project.put', { name: 'parser', repository: place });
  const page = await stage.open('?page=projects&name=parser', { hasAxe: true });
  const missing = page.getByRole('region', { name: 'What its cards will miss' });
  await missing.getByText('the project has no remote').waitFor();
  await missing.getByText('finds no checks on main').waitFor();
  await missing.getByText(`git -C ${place} remote add origin URL`, { exact: true }).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  execFileSync('git', ['-C', place, 'remote', 'add', 'upstream', '/somewhere']);
  await missing.getByRole('button', { name: 'Look again' }).click();
  await missing.getByText('--remote upstream').waitFor();
  check(await missing.getByText('remote add origin').count() === 0, 'it still has no remote');
  const viewer = await stage.open('?page=projects&name=parser', { role: 'viewer' });
  await viewer.getByText('is viewer, which may not call project.check').waitFor();
  hadNoComplaint(page, viewer);
}

/** What isn't there says so. */
export async function addresses_of_nothing(stage) {
  const page = await stage.open('?page=nothing');
  await page.getByText('no such page').waitFor();
  await page.goto(stage.address('?page=run&id=01a206c3-f8e2-7d75-86b4-0b5875c3e2fc'));
  await page.getByRole('alert').getByText('RUN_NOT_FOUND').first().waitFor();
}

/** Of a long list only what is on the screen is an element, and all of it can be reached. */
export async function long_lists(stage) {
  const runs = 700;
  const ids = await stage.service.startMany(runs);
  const page = await stage.open('?page=runs');
  await page.getByText(`one of many ${runs - 1}`).waitFor();
  check(await page.locator('.virtual-row').count() < 80, 'rows that nobody sees are elements');
  await eventually(async () => {
    await page.locator('.virtual').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    return page.getByText('one of many 0', { exact: true }).isVisible();
  }, 'the first run at the end of the list');
  // What changes there is shown there, and what begins stands at the top.
  await stage.service.call('run.cancel', { run_id: ids[0] });
  await page.locator('.virtual-row', { hasText: 'one of many 0' }).last().getByText('canceled').waitFor();
  await stage.service.call('run.start', { goal: 'the newest of all', pipeline: { name: 'p', station: [{ name: 'only' }] } });
  await eventually(async () => {
    await page.locator('.virtual').evaluate((list) => list.scrollTo(0, 0));
    return page.getByText('the newest of all').isVisible();
  }, 'the newest run at the begin of the list');
  await page.getByRole('heading', { name: `Runs ${runs + 1}`, exact: true }).waitFor();  // none is there twice, or missing
  hadNoComplaint(page);
}

/** Of a run with very many events the page has the first, and a way to all others. */
export async function more_events_than_a_run_shows(stage) {
  const { service } = stage;
  const id = await service.startRun('paused again and again', [['review']]);
  const load = await Load.connect(service);
  await load.fill(700, id);
  load.end();
  const page = await stage.open(`?page=run&id=${id}&tab=events`);
  await page.getByText('The first 500 events').getByRole('link', { name: 'those that follow' }).click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.locator('.events li').nth(50).waitFor();
  check(new URL(page.url()).searchParams.get('stream') === `run/${id}`, `they are of ${page.url()}`);
  const { events } = await service.call('events.read', { stream: `run/${id}`, limit: 501 });
  await page.locator('.events .id').getByText(`#${events[500].position}`, { exact: true }).waitFor();
  hadNoComplaint(page);
}

/** The log is read by type, stream and actor: also what is far behind its end. */
export async function events_by_who_and_what(stage) {
  const { service } = stage;
  const { token } = await service.call('lock.acquire', { key: 'deploy', owner: 'ann', lease_ms: 600_000 });
  await service.startMany(600);
  const page = await stage.open('?page=events');
  await page.getByText('RunStarted').first().waitFor();
  check(await page.getByText('LockAcquired').count() === 0, 'the list has more than its newest events');
  await page.getByLabel('Stream').fill('lock/deploy');
  await page.keyboard.press('Enter');
  await page.getByText('LockAcquired').waitFor();
  check(await page.getByText('RunStarted').count() === 0, 'another stream is shown');
  await service.call('lock.acquire', { key: 'other', owner: 'ann', lease_ms: 600_000 });
  await service.call('lock.release', { key: 'deploy', token });
  await page.getByText('LockReleased').waitFor();
  check(await page.getByText('lock/other').count() === 0, 'an event of another stream came in');
  await page.locator('.events a.faint').first().click();
  await eventually(() => new URL(page.url()).searchParams.get('actor')?.startsWith('uid:'), 'the events of an actor');
  await page.getByText('RunStarted').first().waitFor();
  await page.goto(stage.address('?page=events&actor=nobody'));
  await page.getByText('No event matches yet.').waitFor();
  hadNoComplaint(page);
}

/** A part of the night is chosen with the pointer or by keys, and what is in it stays. */
export async function a_part_of_the_night(stage) {
  const id = await stage.service.startRun('worked at night', [['go', 'true']]);
  await stage.service.runIs(id, 'succeeded');
  const page = await stage.open('?page=night&since=1h', { hasAxe: true });
  const hours = () => {
    const { searchParams: params } = new URL(page.url());
    return (Date.parse(params.get('to')) - Date.parse(params.get('from'))) / 3_600_000;
  };
  const about = (wanted) => eventually(() => Math.abs(hours() - wanted) < 0.03, `${wanted} hours in the address`);
  await page.locator('.timeline').getByText('worked at night').waitFor();
  // Nobody waits and nobody works any more; the greatest numbers of the hour are there.
  await page.locator('.night-charts').getByText('attempts at work at most 1, now 0').waitFor();
  await page.locator('.night-charts canvas').waitFor();
  // In the evening the system becomes dark under the page, and what is drawn with it.
  const isDrawnWith = (colour) => page.locator('.night-charts canvas').first().evaluate((canvas, wanted) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((_, at) => at % 4 === 0 && wanted.every((value, part) => data[at + part] === value));
  }, colour);
  for (const [colorScheme, busy] of [['dark', [127, 176, 245]], ['light', [31, 95, 191]]]) {
    await page.emulateMedia({ colorScheme });
    await eventually(() => isDrawnWith(busy), `a ${colorScheme} chart`);
  }
  const track = page.locator('.timeline .fall-track').first();
  const { width } = await track.boundingBox();
  // The pointer waits until the rows stand still.
  await track.hover({ position: { x: width / 2, y: 8 } });
  const { x, y } = await track.boundingBox();
  await page.mouse.down();
  await page.mouse.move(x + width + 30, y + 8, { steps: 4 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'all of it' }).waitFor();
  await about(0.5);
  await page.locator('.timeline').getByText('worked at night').waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.getByRole('button', { name: 'wider' }).focus();
  await page.keyboard.press('Enter');
  await about(1);
  await page.keyboard.press('Enter');
  await about(2);
  check(await page.evaluate(() => document.activeElement.textContent) === 'wider', 'the focus is gone');
  await page.getByRole('button', { name: 'earlier' }).click();
  await page.getByRole('button', { name: 'earlier' }).click();
  await page.getByText('No run was there in this time.').waitFor();
  await page.getByRole('button', { name: 'all of it' }).click();
  await page.locator('.timeline').getByText('worked at night').waitFor();
  await page.locator('.timeline a.fall-bar').first().click();
  await page.getByRole('heading', { name: 'worked at night' }).waitFor();
  hadNoComplaint(page);
}

/** The night by lock: who held what when, live, with a way to the events of each hold. */
export async function a_night_of_locks(stage) {  // L10
  const { service } = stage;
  const first = await service.call('lock.acquire', { key: 'deploy', owner: 'ann', lease_ms: 600_000 });
  const page = await stage.open('?page=night&since=1h');
  await page.getByText('No run was there in this time.').waitFor();
  await page.getByRole('group', { name: 'group' }).getByRole('button', { name: 'lock' }).click();
  await page.getByText('1 hold', { exact: true }).waitFor();
  await page.getByRole('link', { name: `ann: held` }).and(page.locator('.tone-busy')).waitFor();
  await service.call('lock.release', { key: 'deploy', token: first.token });
  await page.getByRole('link', { name: 'ann: released' }).and(page.locator('.tone-good')).waitFor();
  await service.call('lock.acquire', { key: 'deploy', owner: 'bob', lease_ms: 200 });
  // A lease that nobody renews is the trouble of that night. The log has its end when another takes over.
  await service.call('lock.acquire', { key: 'deploy', owner: 'cat', lease_ms: 600_000, wait_ms: 30_000 });
  await page.getByText('3 holds', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'bob: expired' }).and(page.locator('.tone-bad')).waitFor();
  check(await page.locator('.timeline .timeline-name').count() === 1, 'the lock has more than one row');
  await page.getByRole('link', { name: 'ann: released' }).evaluate((link) => link.click());
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.getByText('LockExpired').waitFor();
  const { searchParams: params } = new URL(page.url());
  check(params.get('stream') === 'lock/deploy' && Number(params.get('from')) === first.token, `the bar leads to ${page.url()}`);
  hadNoComplaint(page);
}

/** The cards of several projects together, or in a lane for each project that has some. */
export async function a_board_in_lanes(stage) {
  const { service } = stage;
  for (const name of ['alpha', 'beta', 'gamma']) {
    const place = path.join(path.dirname(service.data), name);
    fs.mkdirSync(place);
    await service.call('project.put', { name, repository: repository(place) });
    if (name === 'gamma') continue;
    const { card_id: card } = await service.call('card.submit', { project: name, title: `work of ${name}`, immediate: false });
    await service.call('card.block', { card_id: card, reason: 'not yet' });
  }
  const page = await stage.open('?page=board', { hasAxe: true });
  await page.getByText('work of beta').waitFor();
  check(await page.getByRole('region', { name: 'alpha', exact: true }).count() === 0, 'lanes that nobody wanted');
  await page.getByRole('button', { name: 'by project' }).click();
  for (const name of ['alpha', 'beta']) {
    const lane = page.getByRole('region', { name, exact: true });
    await lane.getByText(`work of ${name}`).waitFor();
    check(await lane.getByRole('listitem').count() === 1, `${name} has cards of another project`);
  }
  check(await page.getByRole('region', { name: 'gamma', exact: true }).count() === 0, 'a lane without a card');
  check(new URL(page.url()).searchParams.get('lanes') === 'project', 'the address hasn’t got the lanes');
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.getByRole('link', { name: 'beta', exact: true }).click();
  await page.getByText('work of alpha').waitFor({ state: 'detached' });
  hadNoComplaint(page);
}

/** When a card is tried again is told with the day, if that isn’t today. */
export async function a_card_that_is_tried_again_on_another_day(stage) {
  const { service } = stage;
  const place = path.join(path.dirname(service.data), 'site');
  fs.mkdirSync(place);
  await service.call('project.put', { name: 'site', repository: repository(place) });
  const { card_id: id } = await service.call('card.submit', { project: 'site', title: 'waits for days', immediate: false });
  await service.call('card.block', { card_id: id, reason: 'not yet' });
  const page = await stage.open('');
  await page.route(/\/rpc$/, async (route) => {
    if (route.request().postDataJSON().method !== 'board.get') return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    for (const card of answer.result.columns.flatMap((column) => column.cards)) card.retry_at = '2031-03-09T12:00:00Z';
    return route.fulfill({ response, json: answer });
  });
  await stage.turn(page, '?page=board', 'waits for days');
  const text = await page.getByText('is tried again at').textContent();
  check(/\b9\b/.test(text) && text.includes('Mar'), `the day isn’t there: ${text}`);
  hadNoComplaint(page);
}

/** Runs are found by what they wait for, where they are, why they failed, and any part of their goals. */
export async function runs_by_what_they_wait_for(stage) {
  const asking = await stage.service.startRun('ask somebody', [['review']]);
  const failed = await stage.service.startRun('fail at once', [['build', 'exit 3']]);
  await stage.service.runIs(failed, 'failed');
  const page = await stage.open('?page=runs&waiting_for=approval', { hasAxe: true });
  await page.getByText('ask somebody').waitFor();
  check(await page.getByText('fail at once').count() === 0, 'a run that waits for nothing is shown');
  check(await page.getByLabel('waiting for').inputValue() === 'approval', 'the filter doesn’t say what it is');
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await stage.service.call('run.resume', { run_id: asking, decision: 'approve' });
  await page.getByText('No run matches.').waitFor();
  await page.getByLabel('waiting for').selectOption('');
  await page.getByRole('searchbox', { name: 'code' }).fill('EXIT_NONZERO');
  await page.keyboard.press('Enter');
  await page.getByText('fail at once').waitFor();
  check(await page.getByText('ask somebody').count() === 0, 'a run without the code is shown');
  // What begins to match comes in, wherever it began.
  await stage.service.startRun('fail as well', [['build', 'exit 4']]);
  await page.getByText('fail as well').waitFor();
  await page.getByRole('searchbox', { name: 'text' }).fill('AT ONCE');
  await page.keyboard.press('Enter');
  await eventually(async () => await page.getByText('fail as well').count() === 0 && page.getByText('fail at once').isVisible(), 'the goal, written in upper case');
  hadNoComplaint(page);
}
