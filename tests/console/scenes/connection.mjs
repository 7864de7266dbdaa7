// What the page shows is what the log has, whatever happens to the connection.
import fs from 'node:fs';
import { Load } from '../load.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** Returns the positions of the events in the list, whose end is made when somebody scrolls down to it. */
const positions = (page) => page.locator('main').evaluate((main) => {
  main.querySelector('.events + p')?.scrollIntoView();
  return [...main.querySelectorAll('.events .id')].map(({ textContent }) => Number(/^#(\d+)$/.exec(textContent)?.[1])).filter(Boolean);
});

/** New runs, and what becomes of them, appear by themselves. */
export async function pages_follow_the_log(stage) {
  const page = await stage.open('?page=runs');
  const id = await stage.service.startRun('seen as it goes', [['go', 'true'], ['review']]);
  const row = page.locator('.virtual-row', { hasText: 'seen as it goes' });
  await row.getByText('waits: approval').waitFor();
  await stage.service.call('run.cancel', { run_id: id });
  await row.getByText('canceled').waitFor();
}

/** After kill -9 the page keeps what it had, says so, and then misses no event. */
export async function the_server_is_killed_under_the_page(stage) {  // C5
  const { service } = stage;
  const page = await stage.open('?page=events&all=1');
  await service.startRun('before the kill', [['go', 'true']]);
  await page.getByText('RunSucceeded').waitFor();
  await service.kill();
  await page.getByText('the service is away').waitFor();
  const said = (await page.locator('.connection [role="status"]').allTextContents()).join();
  check(said === '■ the service is away', `screen readers say ${said}`);
  check((await positions(page)).length > 3, 'what was on the screen is gone');
  await service.start();
  await page.getByText('● live').waitFor();
  await page.getByText('The service crashed').waitFor();
  check(await page.locator('[role="status"] time').count() === 0, 'screen readers say an age each second');
  const id = await service.startRun('after the kill', [['go', 'true']]);
  await service.runIs(id, 'succeeded');
  const { events } = await service.call('events.read', { limit: 1000 });
  const last = events.findLast(({ type }) => type === 'RunSucceeded').position;
  const wanted = events.map(({ position }) => position).filter((position) => position <= last);
  const seen = await eventually(async () => {
    const shown = await positions(page);
    return shown.includes(last) && await page.locator('.events + p').count() === 0 && shown;
  }, 'the end of the second run');
  const missed = wanted.filter((position) => !seen.includes(position));
  check(missed.length === 0, `it missed ${missed}`);
  check(new Set(seen).size === seen.length, 'an event is there twice');
  await page.getByRole('link', { name: /in flight/ }).click();
  await page.getByRole('region', { name: 'Latest crash' }).getByText('in flight').waitFor();
  await page.getByRole('button', { name: 'dismiss' }).click();
  check(await page.getByText('The service crashed').count() === 0, 'the crash is announced for ever');
  await stage.turn(page, '?page=night&since=1h', 'after the kill');
  await page.locator('.night .kinds').getByText('1 crash').waitFor();
  check((await page.locator('.timeline .fall-track').first().evaluate((track) => getComputedStyle(track).backgroundImage)).includes('linear-gradient'), 'the crash is no line through the runs');
  // A service that crashes again and again has more marks than are drawn: the latest are, and no number is too small.
  const asked = [];
  await page.route(/\/rpc$/, async (route) => {
    const { method, params } = route.request().postDataJSON();
    if (method !== 'log.marks' || params.kinds !== 'crash,clock_jump,start') return route.continue();
    asked.push(params.backwards);
    const answer = await (await route.fetch()).json();
    answer.result.next_cursor = '1';
    return route.fulfill({ json: answer });
  });
  await stage.turn(page, '?page=night&since=8h', 'after the kill');
  await page.locator('.night .kinds').getByText('at least 1 crash').waitFor();
  check(asked.every((isBackwards) => isBackwards === true), 'the oldest marks are drawn');
}

/** A question that was refused for the moment is asked again, though no event comes. */
export async function a_refusal_of_the_moment_is_not_the_last_word(stage) {  // C6
  const id = await stage.service.startRun('asked about at a bad moment', [['review']]);
  const page = await stage.open('?page=runs');
  let refused = 0;
  await page.route(/\/rpc$/, async (route) => {
    const { id: asked, method, params } = route.request().postDataJSON();
    if (method !== 'run.get') return route.continue();
    if (params.run_id !== id || refused === 3) return route.continue();
    refused += 1;
    const error = { code: -32053, message: 'try again', data: { code: 'OVERLOADED', details: { retry_after_ms: 300 }, next_commands: [] } };
    return route.fulfill({ json: { jsonrpc: '2.0', id: asked, error } });
  });
  await stage.turn(page, `?page=run&id=${id}`, 'asked about at a bad moment');
  check(refused === 3, `it was refused ${refused} times`);
}

/** Turns a page into one that nobody sees, or back. */
const hide = (page, isHidden) => page.evaluate((value) => {
  Object.defineProperty(document, 'hidden', { get: () => value, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, isHidden);

/** A tab that was hidden while more happened than is kept for it has all of it when it is looked at. */
export async function a_hidden_tab_comes_back(stage) {  // C6
  const page = await stage.open('?page=events&types=RunCanceled');
  await page.getByText('No event matches yet.').waitFor();
  // What comes after a crash is told from the last event before it.
  await stage.service.startRun('seen', [['review']]);
  await page.locator('.connection .lag', { hasText: 'ms' }).waitFor({ state: 'attached' });
  await hide(page, true);
  const id = await stage.service.startRun('canceled while nobody looked', [['review']]);
  await stage.service.call('run.cancel', { run_id: id });
  await stage.service.kill();
  await page.getByText('the service is away').waitFor();
  await stage.service.start();
  await page.getByText('● live').waitFor();
  const load = await Load.connect(stage.service);
  await load.start(1100);
  load.end();
  const canceled = page.locator('.events li', { hasText: 'RunCanceled' });
  check(await canceled.count() === 0, 'a hidden tab was given events');
  await hide(page, false);
  await canceled.waitFor();
  await page.getByText('The service crashed').waitFor();
  const later = await stage.service.startRun('canceled before the eyes', [['review']]);
  await stage.service.call('run.cancel', { run_id: later });
  await canceled.nth(1).waitFor();
}

/** Of more events than anybody reads the page is told only where the log is; then it shows the newest, without a gap. */
export async function a_flood_leaves_no_gap(stage) {  // C6
  const { service } = stage;
  const page = await stage.open('?page=events&all=1');
  const id = await service.startRun('paused again and again', [['review']]);
  await page.locator('.events li', { hasText: 'RunStarted' }).waitFor();
  const load = await Load.connect(service);
  await load.fill(20_000, id);
  load.end();
  const { position: end } = await service.call('server.status');
  await eventually(async () => {
    const shown = await positions(page);
    return shown[0] >= end && shown.every((position, at) => at === 0 || position === shown[at - 1] - 1);
  }, 'the newest events without a gap');
  await service.startRun('after the flood', [['review']]);
  await page.locator('.events li', { hasText: 'RunStarted' }).waitFor();
}

/** Ten tabs share one stream, and each can still ask. */
export async function ten_tabs(stage) {
  const visitor = await stage.visitor();
  const pages = [];
  for (let number = 0; number < 10; ++number) {
    const page = pages.length ? await visitor.newPage() : (await stage.open('?page=runs', { visitor }));
    if (pages.length) await page.goto(stage.address('?page=runs'));  // with the token of the other tabs
    await page.getByText('● live').waitFor();
    pages.push(page);
  }
  const { subscriptions } = await stage.service.call('server.status');
  check(subscriptions === 1, `${subscriptions} streams for ten tabs`);
  await stage.service.startRun('seen in each tab', [['review']]);
  for (const page of pages) {
    await page.bringToFront();
    await page.getByText('seen in each tab').waitFor();
  }
}

/** The output of a job is shown while it runs, from its end, and with its colours. */
export async function output_while_it_is_printed(stage) {
  const id = await stage.service.startRun('prints', [['go', 'seq 1 100000; printf "\\033[31mred\\033[0m\\n"; sleep 600']]);
  const page = await stage.open(`?page=run&id=${id}&tab=output`);
  await page.locator('.ansi-red', { hasText: 'red' }).waitFor();
  check(await page.locator('.virtual-row').count() < 150, 'rows that nobody sees are elements');
  await page.getByLabel('Lines with').fill('99999');
  await eventually(async () => (await page.locator('.output .virtual-row').count()) === 1, 'one line');
  await stage.service.call('run.cancel', { run_id: id });
  await stage.service.runIs(id, 'canceled');  // jobs outlive their server
}

/** Of 50 MB of anything the page shows the end at once, then all that the service keeps: nothing twice, and the search is in all of it. */
export async function output_of_50_megabytes(stage) {  // C3
  const last = 599_999;
  // Colours, markup, and marks that turn the direction: 90 bytes in each line.
  const line = '#%d \\033[31m<img src=x onerror=\\"window.hacked=1\\">\\033[0m<script>window.hacked=1</script> \\342\\200\\256gnorw\\n';
  const id = await stage.service.startRun('prints and prints', [['go', `echo 'error: the cause of all'; awk 'BEGIN { for (i = 0; i <= ${last}; ++i) printf "${line}", i }'; head -c 9000 /dev/zero | tr '\\0' '-'; echo 'far behind in its line'`]]);
  await stage.service.runIs(id, 'succeeded');
  const page = await stage.open(`?page=run&id=${id}&tab=output`);
  const rows = page.locator('.output .virtual-row');
  const search = page.getByLabel('Lines with');
  const count = () => page.locator('.output .virtual').getAttribute('aria-rowcount').then(Number);
  await rows.filter({ hasText: `#${last} ` }).waitFor();
  check(await rows.count() < 150, 'rows that nobody sees are elements');
  check(await page.locator('.output-head').getByText(/^5\d\.\d MiB/).count() === 1, 'it isn’t as long as it has to be');
  const ofTheEnd = await count();
  for (const [word, lines] of [[`#${last} `, 1], ['#17 ', 1], ['far behind', 1], ['nowhere in it', 0]]) {
    await search.fill(word);
    await eventually(async () => await page.getByText('looking through').count() === 0 && await rows.count() === lines, `${lines} lines with ${word}`);
  }
  await search.fill('');
  check(await count() > 2 * ofTheEnd, 'the search was in the end alone');
  check(await page.getByRole('button', { name: 'all of it' }).count() === 0, 'more of it is offered');
  await page.getByRole('button', { name: 'first error' }).click();
  await page.locator('.output .virtual-row.selected', { hasText: 'error: the cause of all' }).waitFor();
  // Where nobody has searched before, the first error isn't that of the end.
  await page.reload();
  await rows.filter({ hasText: `#${last} ` }).waitFor();
  await page.getByRole('button', { name: 'first error' }).click();
  await page.locator('.output .virtual-row.selected', { hasText: 'error: the cause of all' }).waitFor();
  await search.fill("aren't kept");
  await eventually(async () => await rows.count() === 1, 'one gap');
  const found = await page.evaluate(() => ({ hacked: 'hacked' in window, elements: document.querySelectorAll('.output :is(img, script)').length, turned: document.querySelector('.output').innerText.includes('\u202e') }));
  check(!found.hacked && found.elements === 0 && !found.turned, JSON.stringify(found));
  hadNoComplaint(page);
}

/** A run over a crash has it as a line, and says in its folded gap what it waited for. */
export async function a_run_over_a_crash(stage) {  // C1
  const { service } = stage;
  const ready = `${service.data}.ready`;
  const id = await service.startRun('survives a crash', [['build', `while [ ! -e '${ready}' ]; do sleep 0.1; done`], ['review']]);
  await service.runIs(id, 'running');
  await service.kill();
  await service.start();
  fs.writeFileSync(ready, '');
  await eventually(async () => (await service.run(id)).waiting_for === 'approval', 'the question');
  const page = await stage.open(`?page=run&id=${id}`, { hasAxe: true });
  const panel = page.getByRole('tabpanel', { name: 'Overview' });
  await panel.getByText('1 crash').waitFor();
  check((await panel.locator('.fall-track').first().evaluate((track) => getComputedStyle(track).backgroundImage)).includes('linear-gradient'), 'the crash is no line through the run');
  // While it waits the gap grows, until it is worth folding.
  await panel.getByText(/^⟨approval \d/).waitFor();
  check(await panel.locator('.fall-gap[title^="waited for approval for"]').count() > 0, 'the gap doesn’t say what was waited for');
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  // Whatever happens, the stations stay above it.
  const isAbove = () => panel.evaluate((whole) => Boolean(whole.querySelector('.rows').compareDocumentPosition(whole.querySelector('.fall')) & Node.DOCUMENT_POSITION_FOLLOWING));
  await stage.turn(page, '?page=nothing', 'no such page');
  await stage.turn(page, `?page=run&id=${id}`, 'survives a crash');
  check(await isAbove(), 'the stations are below the waterfall');
  await service.call('run.pause', { run_id: id });
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
  await stage.whole(page);
  check(await isAbove(), 'the stations have moved below the waterfall');
}
