// Runs in lists: what is at work, what is searched for, and what is counted.
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

const rows = (page) => page.locator('.virtual-row');

/** The first page has the latest line of what is at work, and what makes no progress. */
export async function what_is_at_work(stage) {
  const { service } = stage;
  const printing = await service.startRun('prints its progress', [['go', `printf '\\033[32mcompiling\\033[0m 12 of 90\\n'; sleep 600`]]);
  const speaking = await service.startRun('speaks as an agent', [['go', `printf '%s\\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"I read \\u202ethe tests\\u0007 first"}]}}'; sleep 600`]]);
  const pipeline = { name: 'outside', station: [{ name: 'work', heartbeat_timeout: '10m', stall_after: '1s', stall_actions: ['nudge'] }] };
  const { run_id: wedged } = await service.call('run.start', { goal: 'goes in circles', pipeline });
  const { token } = (await service.call('station.claim', { worker: 'me', run_id: wedged })).claim;
  const page = await stage.open('?page=inbox', { hasAxe: true });
  const atWork = page.getByRole('region', { name: 'At work' });
  await atWork.getByText('compiling 12 of 90').waitFor();
  await atWork.getByText('I read \ufffdthe tests first').waitFor();
  const region = page.getByRole('region', { name: 'Wedged', exact: true });
  const attempt = { run_id: wedged, station: 'work', token };
  await eventually(async () => (await service.call('station.heartbeat', { ...attempt, progress_digest: 'the same' })).stalled, 'a stall');
  await region.getByRole('link', { name: 'goes in circles' }).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await service.call('station.complete', { ...attempt, outcome: 'succeeded' });
  await region.waitFor({ state: 'detached' });
  for (const id of [printing, speaking]) {
    await service.call('run.cancel', { run_id: id });
    await service.runIs(id, 'canceled');  // jobs outlive their server
  }
  hadNoComplaint(page);
}

/** A report of less than was asked for says so. */
export async function a_report_that_is_cut(stage) {  // O3
  const visitor = await stage.visitor();
  await visitor.route(/\/rpc$/, async (route) => {
    if (route.request().postDataJSON().method !== 'report.get') return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    answer.result.cut = true;
    return route.fulfill({ response, json: answer });
  });
  const page = await stage.open('?page=night', { visitor });
  await page.getByText(/counted since [^ ]+.* only, before is too much/).waitFor();
  hadNoComplaint(page);
}

/** Events draw the page again while somebody types. */
export async function what_is_typed_stays(stage) {
  const { service } = stage;
  await service.startRun('first', [['review']]);
  const page = await stage.open('?page=runs');
  const search = page.getByRole('searchbox', { name: 'text' });
  await search.pressSequentially('fir');
  await service.startRun('second', [['review']]);
  await rows(page).getByText('second').waitFor();
  check(await search.inputValue() === 'fir', `what was typed is now: ${await search.inputValue()}`);
  await search.press('Enter');
  await rows(page).getByText('second').waitFor({ state: 'detached' });
  check(await search.inputValue() === 'fir', 'the text that counts isn’t shown');
  await search.fill('');
  await search.press('Enter');
  await rows(page).getByText('second').waitFor();
  hadNoComplaint(page);
}

/** A text is looked for in all runs, also one that could be the end of an id; and such an end finds its run. */
export async function runs_by_their_text(stage) {
  const { service } = stage;
  const id = await service.startRun('a decade of logs', [['review']]);
  for (const goal of ['first', 'second', 'third']) await service.startRun(goal, [['review']]);
  const visitor = await stage.visitor();
  // Pages of two runs instead of a hundred and more.
  await visitor.route(/\/rpc$/, (route) => {
    const body = route.request().postDataJSON();
    if (body.method !== 'run.list' || !(body.params.limit >= 100)) return route.continue();
    return route.continue({ postData: JSON.stringify({ ...body, params: { ...body.params, limit: 2 } }) });
  });
  const page = await stage.open('?page=runs&status=queued', { visitor });
  await page.locator('.kinds').getByText('4 queued').waitFor();
  const search = page.getByRole('searchbox', { name: 'text' });
  await search.fill('DECADE');
  await search.press('Enter');
  await rows(page).getByText('second').waitFor({ state: 'detached' });
  await rows(page).getByText('a decade of logs').waitFor();
  check(await rows(page).count() === 1, 'other runs match');
  check(new URL(page.url()).searchParams.get('text') === 'DECADE', 'the address hasn’t got the text');
  await search.fill(id.slice(-6));
  await search.press('Enter');
  await page.getByText('No run matches.').waitFor();
  await page.getByText(`ends with ${id.slice(-6)}`).getByRole('link').click();
  await page.getByRole('heading', { name: 'a decade of logs' }).waitFor();
  // The search box as well: of all runs, not of the latest ones.
  await page.route(/\/rpc$/, (route) => {
    const body = route.request().postDataJSON();
    if (body.method !== 'run.list' || body.params.limit !== 500) return route.fallback();
    return route.fulfill({ json: { jsonrpc: '2.0', id: 1, result: { runs: [], next_cursor: null, position: 1 } } });
  });
  await page.keyboard.press('/');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('decade');
  // Not what can be done with the run of this page, which is offered once the page has it.
  await page.getByRole('option', { name: 'a decade of logs' }).filter({ hasNotText: 'this run' }).waitFor();
  await page.keyboard.press('Escape');
  await page.unrouteAll({ behavior: 'wait' });
  // The service looks at so many runs for a page: those that match may be on a later one, or on none of many.
  for (const pages of [3, 1000]) {
    let asked = 0;
    await page.route(/\/rpc$/, (route) => {
      const { method, params } = route.request().postDataJSON();
      if (method !== 'run.list' || params.text !== 'decade' || params.totals) return route.fallback();
      asked += 1;
      if (asked > pages) return route.fallback();
      return route.fulfill({ json: { jsonrpc: '2.0', id: 1, result: { runs: [], next_cursor: '1000000', position: 1 } } });
    });
    await stage.turn(page, '?page=projects');
    await stage.turn(page, '?page=runs&text=decade');
    if (pages === 3) {
      await rows(page).getByText('a decade of logs').waitFor();
    } else {
      await page.getByText('not all runs were looked at').waitFor();
      check(asked < 30, `${asked} pages were asked for`);
    }
    asked = 0;
    await page.keyboard.press('/');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('decade');
    if (pages === 3) await page.getByRole('option', { name: 'a decade of logs' }).waitFor();
    await page.keyboard.press('Escape');
    await page.unrouteAll({ behavior: 'wait' });
  }
  // What is typed can't be longer than a goal is shown, and what the address has is cut.
  await stage.turn(page, `?page=runs&text=${'x'.repeat(5000)}`, 'No run matches.');
  check(Number(await page.getByRole('searchbox', { name: 'text' }).getAttribute('maxlength')) === 256, 'a text of any length is taken');
  hadNoComplaint(page);
}

/** Keys act on the run that was selected, wherever the list has put it. */
export async function the_selected_run_stays_selected(stage) {  // C5
  const { service } = stage;
  for (const goal of ['the oldest', 'in the middle', 'the newest']) await service.startRun(`held: ${goal}`, [['review']]);
  const page = await stage.open('?page=runs&text=held:');
  await rows(page).getByText('held: the newest').waitFor();
  await page.keyboard.press('j');
  await page.locator('.virtual-row.selected').getByText('held: in the middle').waitFor();
  await service.startRun('held: just started', [['review']]);
  await rows(page).getByText('held: just started').waitFor();
  await page.locator('.virtual-row.selected').getByText('held: in the middle').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'held: in the middle' }).waitFor();
  // An age counts from the moment on screen, and is the same question all the time.
  const asked = [];
  await page.route(/\/rpc$/, (route) => {
    const { method, params } = route.request().postDataJSON();
    if (method === 'run.list' && params.since) asked.push(params.since);
    return route.fallback();
  });
  await stage.turn(page, '?page=runs&since=12 h&text=held:', 'held: the newest');
  check(asked.length > 0 && asked.every((since) => since === '12h'), `it asked since ${asked}`);
}

/** Who leaves a dialog wants no more of what it was doing. */
export async function leaving_a_dialog_ends_its_work(stage) {  // C5
  const { service } = stage;
  const ids = [];
  for (const number of [1, 2, 3]) ids.push(await service.startRun(`left: ${number}`, [['review']]));
  const page = await stage.open('?page=runs&text=left:');
  await rows(page).getByText('left: 3').waitFor();
  await page.getByRole('button', { name: 'select all' }).click();
  let letGo;
  const held = new Promise((resolve) => { letGo = resolve; });
  await page.route(/\/rpc$/, async (route) => {
    if (route.request().postDataJSON().method === 'run.cancel') await held;
    return route.fallback();
  });
  await page.locator('.bulk').getByRole('button', { name: 'Cancel' }).click();
  const dialog = page.getByRole('dialog');
  // The edge of the dialog is a part of it.
  const box = await dialog.boundingBox();
  await page.mouse.click(box.x + 4, box.y + 4);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  letGo();
  await page.getByText('stopped, not done for 2 of 3').waitFor();
  const left = [];
  for (const id of ids) left.push((await service.call('run.get', { run_id: id })).run.status);
  check(left.filter((status) => status === 'canceled').length === 1, `${left}`);
}
