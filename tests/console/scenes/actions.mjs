// What the user does in the console, and what the log has of it.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { repository } from '../night.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { eventually } from '../service.mjs';

/** A dialog about what a list shows reads first what the work changes. */
const canBeSubmitted = (page) => page.locator('dialog[open] button[type=submit]:not([aria-disabled])').waitFor();

/** An approval from the list to its end with keys alone; the decision names its question. */
export async function approvals_by_keyboard(stage) {  // C2
  const { service } = stage;
  const id = await service.startRun('look at this', [['review'], ['ship', 'true']]);
  const page = await stage.open('?page=inbox');
  await page.getByText('look at this').first().waitFor();
  await page.keyboard.press('a');
  await page.getByRole('heading', { name: 'Approve run' }).waitFor();
  await page.keyboard.type('seen');
  await canBeSubmitted(page);
  await page.keyboard.press('Enter');
  await service.runIs(id, 'succeeded');
  const { decided } = (await service.run(id)).stations[0];
  check(decided.decision === 'approve' && decided.reason === 'seen' && decided.actor.startsWith('token:'), JSON.stringify(decided));
  await page.getByText('Nothing needs you.').waitFor();
  await page.locator('dialog[open]').waitFor({ state: 'detached' });  // it would take the keys
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  hadNoComplaint(page);
}

/** Wherever a run is approved: the page shows which checks its work changes, and the decision names its question. */
export async function a_decision_with_what_the_work_changes(stage) {  // A7, C2
  const { service } = stage;
  const id = await service.startRun('changes its checks', [['review'], ['ship', 'true']]);
  await eventually(async () => (await service.run(id)).waiting_for === 'approval', 'the question');
  const visitor = await stage.visitor();
  await visitor.route(/\/rpc$/, async (route) => {
    if (route.request().postDataJSON().method !== 'run.get') return route.continue();
    const response = await route.fetch();
    const answer = await response.json();
    answer.result.run.checks_changed = ['AGENTS.md'];
    answer.result.run.left_out = ['build.log is ignored'];
    return route.fulfill({ response, json: answer });
  });
  const page = await stage.open(`?page=run&id=${id}&tab=change`, { visitor });
  const dialog = page.locator('dialog[open]');
  const isShownIn = async (place) => {
    await place.getByText('Changes what checks it: AGENTS.md').waitFor();
    await place.getByText('build.log is ignored').waitFor();
  };
  await isShownIn(page.getByRole('tabpanel'));
  await page.getByRole('button', { name: 'Approve', exact: true }).first().click();
  await isShownIn(dialog);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  const { asked } = (await service.run(id)).stations[0];
  const sent = [];
  page.on('request', (request) => {
    const body = request.method() === 'POST' && request.postDataJSON();
    if (body?.method === 'run.resume') sent.push(body.params.asked);
  });
  await stage.turn(page, '?page=runs', 'changes its checks');
  await page.getByRole('checkbox').first().check();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await isShownIn(dialog);
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await service.runIs(id, 'succeeded');
  check(sent.length === 1 && sent[0] === asked, `${sent} instead of ${asked}`);
}

/** Wherever a run is approved or rejected, its question is beside the decision: a list has only the goal. */
export async function a_decision_with_its_question(stage) {  // C2
  const { service } = stage;
  const id = await service.startRun('ships on Friday', [['review']]);
  await eventually(async () => (await service.run(id)).waiting_for === 'approval', 'the question');
  const { waiting_note: question } = (await service.run(id)).stations[0];
  check(question, 'the station asks nothing');
  const dialog = (/** @type {any} */ page) => page.locator('dialog[open]');
  const fromList = await stage.open('?page=runs');
  await fromList.getByText('ships on Friday').first().waitFor();
  await fromList.getByRole('checkbox').first().check();
  await fromList.getByRole('button', { name: 'Reject', exact: true }).click();
  await dialog(fromList).getByText(question).waitFor();
  const own = await stage.open(`?page=run&id=${id}`);
  await own.getByRole('button', { name: 'Approve', exact: true }).first().click();
  await dialog(own).getByText(question).waitFor();
  hadNoComplaint(own);
}

/** Several runs at once: what the dialog lists, and nothing that comes later. */
export async function many_runs_from_a_frozen_list(stage) {
  const { service } = stage;
  const ids = [];
  for (const goal of ['first', 'second']) ids.push(await service.startRun(`${goal} of the list`, [['review']]));
  const page = await stage.open('?page=runs');
  await page.getByText('second of the list').waitFor();
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('2 runs selected').waitFor();
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByRole('heading', { name: 'Pause 2 runs' }).waitFor();
  const late = await service.startRun('too late for the list', [['review']]);
  await page.locator('.virtual').getByText('too late for the list').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  for (const id of ids) await service.runIs(id, 'paused');
  check((await service.run(late)).status !== 'paused', 'a run that wasn’t on the list is paused');
  hadNoComplaint(page);
}

/** A refusal stays on the screen with its code, and the rest of the list is done. */
export async function a_refusal_is_shown(stage) {
  const { service } = stage;
  const id = await service.startRun('somebody else is faster', [['review'], ['ship', 'true']]);
  const page = await stage.open(`?page=run&id=${id}`);
  await page.getByRole('button', { name: 'Reject', exact: true }).first().click();
  const dialog = page.locator('dialog');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('no');
  await service.call('run.resume', { run_id: id, decision: 'approve' });
  await service.runIs(id, 'succeeded');
  await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
  await dialog.getByRole('alert').getByText('RUN_TERMINAL').waitFor();
  check((await service.run(id)).status === 'succeeded', 'it was rejected');
}

/** What the server didn't answer is sent again as the same command. */
export async function an_action_after_a_kill(stage) {
  const { service } = stage;
  const id = await service.startRun('the server is gone', [['review']]);
  const page = await stage.open(`?page=run&id=${id}`);
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  const sent = [];
  page.on('request', (request) => {
    const body = request.method() === 'POST' && request.postDataJSON();
    if (body?.method === 'run.pause') sent.push(body.params.command_id);
  });
  await service.kill();
  const dialog = page.locator('dialog');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await dialog.getByRole('alert').getByText('UNREACHABLE').waitFor();
  await service.start();
  await dialog.getByRole('button', { name: 'Try 1 again' }).click();
  await service.runIs(id, 'paused');
  check(sent.length === 2 && sent[0] === sent[1], `sent with ${sent}`);
}

/** A proxy that gives up waiting doesn't know what became of the command: the next try is the same one. */
export async function an_action_whose_proxy_gave_up(stage) {
  const { service } = stage;
  const id = await service.startRun('behind a proxy', [['review']]);
  const visitor = await stage.visitor();
  const sent = [];
  await visitor.route(/\/rpc$/, async (route) => {
    const { method, params } = route.request().postDataJSON();
    if (method !== 'run.pause') return route.continue();
    sent.push(params.command_id);
    if (sent.length > 2) return route.continue();
    const body = sent.length === 1 ? '<h1>504 Gateway Time-out</h1>' : '{"message":"no healthy upstream"}';
    return route.fulfill({ status: sent.length === 1 ? 504 : 502, contentType: sent.length === 1 ? 'text/html' : 'application/json', body });
  });
  const page = await stage.open(`?page=run&id=${id}`, { visitor });
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  const dialog = page.locator('dialog');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  for (const status of [504, 502]) {
    await dialog.getByRole('alert').getByText(`HTTP ${status}`).waitFor();
    await dialog.getByRole('button', { name: 'Try 1 again' }).click();
  }
  await service.runIs(id, 'paused');
  check(sent.length === 3 && new Set(sent).size === 1, `sent with ${sent}`);
}

/** The search finds a run by its goal and shows the command that does the same. */
export async function the_search_finds_runs_and_commands(stage) {
  const id = await stage.service.startRun('a needle in the hay', [['review']]);
  await stage.service.call('lock.acquire', { key: 'deploy/the site', owner: 'bot', lease_ms: 600_000 });
  await stage.service.call('project.put', { name: 'orchard', repository: repository(path.dirname(stage.service.data)) });
  const page = await stage.open('?page=inbox');
  await page.keyboard.press('/');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('needle');
  await page.getByRole('option').getByText(`signalbox run get ${id}`).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'a needle in the hay' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.getByRole('option').getByText(`signalbox run pause ${id}`).waitFor();
  await page.keyboard.type('orch');
  await page.getByRole('option').getByText('signalbox project get orchard').waitFor();
  await page.getByRole('combobox').fill('the site');
  await page.getByRole('option').getByText("signalbox lock get 'deploy/the site'").waitFor();
  await page.keyboard.press('Escape');
  await eventually(async () => (await page.locator('dialog[open]').count()) === 0, 'the dialog closes');
  hadNoComplaint(page);
}

/** A halted loop is recovered where it waits, with a reason. */
export async function a_halted_loop_is_recovered(stage) {
  const { service } = stage;
  await service.call('tick.begin', { loop: 'nightly', lease_ms: 1000, stage: 'collect', reason: 'a scene' });
  await eventually(() => service.call('tick.begin', { loop: 'nightly' }).then(() => false, ({ code }) => code === 'PREVIOUS_TICK_INCOMPLETE'), 'a halt');
  const { open: [{ token }] } = await service.call('tick.list', { loop: 'nightly' });
  const loops = await stage.open('?page=loops');
  await loops.getByText(`signalbox tick recover nightly --token ${token} --reason REASON`).waitFor();
  const page = await stage.open('?page=inbox');
  await page.getByRole('button', { name: 'Recover', exact: true }).click();
  await page.getByText(`signalbox tick recover nightly --token ${token} --reason REASON`).waitFor();
  await page.getByRole('textbox', { name: 'Reason' }).fill('looked at it');
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.postDataJSON().method === 'tick.recover');
  await page.locator('dialog').getByRole('button', { name: 'Recover', exact: true }).click();
  check((await sent).postDataJSON().params.token === token, 'the dialog doesn’t say which tick it recovers');
  await page.getByText('Nothing needs you.').waitFor();
  const { open } = await service.call('tick.list', { loop: 'nightly' });
  check(open.length === 0, JSON.stringify(open));
  hadNoComplaint(page);
}

/** Who decides about work that changes what checks it sees that where the question is, and on the card's page. */
export async function changed_checks_are_seen_before_a_decision(stage) {  // A7, O1
  const { service } = stage;
  const place = repository(path.dirname(service.data));
  fs.writeFileSync(path.join(place, 'AGENTS.md'), '## Checks\n\n```sh\ntest -f README.md\n```\n');
  execFileSync('git', ['-C', place, 'add', '.']);
  execFileSync('git', ['-C', place, 'commit', '-q', '-m', 'checks']);
  const station = [
    { name: 'intake', executor: 'builtin' }, { name: 'implement', executor: 'process', command: ['sh', '-c', 'echo more >>AGENTS.md'] },
    { name: 'verify', executor: 'checks' }, { name: 'create_pr', executor: 'builtin' },
  ];
  await service.call('project.put', { name: 'web', repository: place, pipeline: { name: 'card', station } });
  const { card_id: card } = await service.call('card.submit', { project: 'web', title: 'extend the checks' });
  const page = await stage.open('?page=inbox', { hasAxe: true });
  const item = page.getByRole('listitem').filter({ hasText: 'extend the checks' });
  await item.getByText('Changes what checks it: AGENTS.md').waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await stage.turn(page, `?page=card&id=${card}`, 'extend the checks');
  await page.getByRole('region', { name: 'Changed checks' }).getByText('AGENTS.md').waitFor();
  hadNoComplaint(page);
}

/** A card is started before others: on the board, and on its page with keys alone; a viewer is told why not. */
export async function a_card_gets_a_priority(stage) {  // C2, O5
  const { service } = stage;
  const place = path.join(path.dirname(service.data), 'web');
  fs.mkdirSync(place);
  await service.call('server.pause', { reason: 'no card is started' });
  await service.call('project.put', { name: 'web', repository: repository(place) });
  const ids = [];
  for (const title of ['first', 'second']) ids.push((await service.call('card.submit', { project: 'web', title: `the ${title} card`, immediate: false })).card_id);
  const priorityOf = async (id) => (await service.call('card.get', { card_id: id })).card.priority;
  const page = await stage.open('?page=board', { hasAxe: true });
  const dialog = page.locator('dialog[open]');
  const cards = page.getByRole('region', { name: 'backlog' }).getByRole('listitem');
  await cards.filter({ hasText: 'the second card' }).getByRole('button', { name: 'Prioritize' }).click();
  const priority = dialog.getByRole('spinbutton', { name: 'Priority' });
  check(await priority.inputValue() === '0', 'the dialog doesn’t begin with the priority that the card has');
  await dialog.getByText(`signalbox card priority ${ids[1]}`).waitFor();
  await priority.fill('1000001');
  await dialog.getByRole('button', { name: 'Prioritize' }).click();
  check(await priority.evaluate((input) => input.matches(':invalid')) && await dialog.count() === 1, 'a priority has no bounds');
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.postDataJSON().method === 'card.set_priority');
  await priority.fill('-7');
  await dialog.getByRole('button', { name: 'Prioritize' }).click();
  const { params } = (await sent).postDataJSON();
  check(params.card_id === ids[1] && params.priority === -7 && params.command_id, JSON.stringify(params));
  await cards.filter({ hasText: 'priority -7' }).getByText('the second card').waitFor();

  await stage.turn(page, `?page=card&id=${ids[1]}`, 'the second card');
  await page.getByRole('button', { name: 'Prioritize' }).focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Prioritize card' }).waitFor();
  check(await priority.inputValue() === '-7', 'the dialog has another priority');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('5');
  await page.keyboard.press('Tab');
  await page.keyboard.type('the release waits for it');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.locator('#said').getByText('Prioritize: done, the second card').waitFor();
  check(await priorityOf(ids[1]) === 5 && await priorityOf(ids[0]) === 0, 'another priority is set');
  await page.getByRole('definition').filter({ hasText: /^5$/ }).waitFor();
  await stage.turn(page, '?page=board');
  await cards.first().getByText('the second card').waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));

  const reader = await stage.open('?page=board', { role: 'viewer' });
  const refused = reader.getByRole('button', { name: 'Prioritize' }).first();
  await refused.waitFor();
  check(await refused.getAttribute('aria-disabled') === 'true' && (await refused.getAttribute('title')).includes('may not call card.set_priority'), 'a viewer isn’t told why');
  hadNoComplaint(page, reader);
}

/** The whole service is paused on its page and resumed from the notice that each page has. */
export async function the_service_is_paused_and_resumed(stage) {  // O2
  const { service } = stage;
  const page = await stage.open('?page=server');
  await page.getByRole('button', { name: 'Pause everything', exact: true }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('an upgrade');
  await page.locator('dialog').getByRole('button', { name: 'Pause everything', exact: true }).click();
  const notice = page.locator('.announcement.paused');
  await notice.getByText('The service is paused').waitFor();
  const { paused } = await service.call('server.status', {});
  check(paused.reason === 'an upgrade' && paused.by.startsWith('token:'), JSON.stringify(paused));
  await page.locator('dialog[open]').waitFor({ state: 'detached' });  // it would take the keys
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.locator('.items').getByText('nothing new begins').first().waitFor();
  for (const query of ['?page=board', '?page=runs', '?page=night', '?page=loops', '?page=events', '?page=projects', '?page=whatif', '?page=audit', '?page=nothing']) {
    await stage.turn(page, query);
    await notice.getByText(': an upgrade').waitFor();
  }
  check(await notice.locator('time').count() === 1, 'the notice doesn’t say since when');
  check(await page.locator('[role="status"] time').count() === 0, 'screen readers say an age each second');
  const reader = await stage.open('?page=runs', { role: 'viewer' });
  await reader.locator('.announcement.paused').getByText('You can’t resume it: token:').waitFor();
  check(await reader.getByRole('button', { name: 'Resume everything' }).getAttribute('aria-disabled') === 'true', 'a viewer is offered to resume it');
  await reader.goto(stage.address('?kiosk=board'));
  await reader.getByText('The service is paused').waitFor();
  check(await reader.getByRole('button', { name: 'Resume everything' }).count() === 0, 'a screen on the wall offers something');
  await stage.turn(page, '?page=inbox');
  await notice.getByRole('button', { name: 'Resume everything', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Resume everything', exact: true }).click();
  await page.getByText('Nothing needs you.').waitFor();
  await eventually(async () => (await notice.count()) === 0, 'the notice is gone');
  hadNoComplaint(page, reader);
}

/** A run is saved as a trace that other tools open. */
export async function a_run_is_saved_as_a_trace(stage) {
  const id = await stage.service.startRun('traced', [['first', 'true'], ['second', 'true']]);
  await stage.service.runIs(id, 'succeeded');
  const page = await stage.open(`?page=run&id=${id}`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as a trace for Perfetto' }).click()]);
  const { traceEvents } = JSON.parse(fs.readFileSync(await download.path(), 'utf8'));
  const slices = traceEvents.filter(({ ph }) => ph === 'X').map(({ name }) => name);
  check(JSON.stringify(slices) === JSON.stringify(['run scene', 'first', 'second']), JSON.stringify(slices));
  check(download.suggestedFilename() === `run-${id}.json`, download.suggestedFilename());
}

/** A run is started with a form, and watched to its end. */
export async function a_run_is_started(stage) {
  const page = await stage.open('?page=runs', { hasAxe: true });
  await page.getByRole('button', { name: 'Start a run', exact: true }).click();
  await page.getByRole('textbox', { name: 'Goal' }).fill('made in the console');
  const pipeline = page.getByRole('textbox', { name: 'Pipeline' });
  await pipeline.fill('name = "mine"');
  await page.getByRole('spinbutton', { name: 'Turns in all' }).fill('7');
  await page.getByRole('spinbutton', { name: 'Cost in all' }).fill('1.5');
  const start = page.locator('dialog').getByRole('button', { name: 'Start', exact: true });
  await start.click();
  await page.locator('dialog').getByRole('alert').getByText('it isn’t JSON').waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.getByText("signalbox run start 'made in the console' --max-cost-usd 1.5 --max-turns 7", { exact: true }).waitFor();
  await pipeline.fill('{"name": "mine", "station": [{"name": "only"}]}');
  await start.click();
  await page.getByRole('heading', { name: 'made in the console' }).waitFor();
  const { runs } = await stage.service.call('run.list');
  check(runs.length === 1 && runs[0].goal === 'made in the console', JSON.stringify(runs));
  const run = await stage.service.run(runs[0].run_id);
  check(run.pipeline === 'mine' && run.budget.turns === 7 && run.budget.cost_microusd === 1_500_000, JSON.stringify(run));
  // Without these it is the service's own pipeline, and no budget.
  await stage.turn(page, '?page=runs');
  await page.getByRole('button', { name: 'Start a run', exact: true }).click();
  await page.getByRole('textbox', { name: 'Goal' }).fill('as ever');
  await start.click();
  await page.getByRole('heading', { name: 'as ever' }).waitFor();
  hadNoComplaint(page);
}

/** Somebody who tries a run again alone says how: with which strategy, and how often. The command line for it is beside. */
export async function a_run_is_retried_in_another_way(stage) {  // C2
  const { service } = stage;
  const id = await service.startRun('needs another way', [['first', 'true'], ['go', 'exit 3', { retry: { max_retries: 0, strategies: ['original', 'simplified'] } }]]);
  const plain = await service.startRun('has one way', [['go', 'exit 3']]);
  for (const each of [id, plain]) await service.runIs(each, 'failed');
  const page = await stage.open(`?page=run&id=${id}`, { hasAxe: true });
  const dialog = page.locator('dialog[open]');
  await page.getByRole('button', { name: 'Retry', exact: true }).first().click();
  const strategy = dialog.getByRole('combobox', { name: 'Strategy' });
  await strategy.waitFor();
  check((await strategy.getByRole('option').allInnerTexts()).join() === 'the first of the station,original,simplified', 'other strategies than those of the station');
  await dialog.getByText(`signalbox run retry ${id}`, { exact: true }).waitFor();
  await strategy.selectOption('simplified');
  await dialog.getByRole('spinbutton', { name: 'Retries of each station' }).fill('0');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('too much at once');
  await dialog.getByText(`signalbox run retry ${id} --reason 'too much at once' --strategy simplified --max-retries 0`, { exact: true }).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const run = await eventually(async () => {
    const each = await service.run(id);
    return each.status === 'failed' && each.retries && each;
  }, 'the end of the retried run');
  check(run.retries[0].strategy === 'simplified' && run.retries[0].reason === 'too much at once' && run.max_retries === 0, JSON.stringify(run.retries));
  check(run.stations[1].attempts.map((each) => each.strategy).join() === 'original,simplified', JSON.stringify(run.stations[1].attempts));
  // Several runs together have no strategy in common, and one with a single strategy has nothing to choose.
  await stage.turn(page, '?page=runs', 'has one way');
  await page.getByRole('button', { name: 'select all' }).click();
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await dialog.getByRole('heading', { name: 'Retry 2 runs' }).waitFor();
  await dialog.getByRole('spinbutton', { name: 'Retries of each station' }).waitFor();
  await stage.whole(page);
  check(await strategy.count() === 0, 'a strategy for several runs');
  hadNoComplaint(page);
}

/** The form of a card has the command line that submits the same one. */
export async function a_card_is_submitted(stage) {  // C2
  const { service } = stage;
  await service.call('server.pause', { reason: 'no card is started' });
  await service.call('project.put', { name: 'web', repository: repository(path.dirname(service.data)) });
  const page = await stage.open('?page=board', { hasAxe: true });
  await page.keyboard.press('n');
  const dialog = page.locator('dialog[open]');
  await dialog.getByText('signalbox card submit --project web TITLE', { exact: true }).waitFor();
  await dialog.getByRole('textbox', { name: 'Title' }).fill('a way in');
  await dialog.getByRole('spinbutton', { name: 'Priority' }).fill('3');
  await dialog.getByText("signalbox card submit --project web 'a way in' --priority 3", { exact: true }).waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await dialog.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('listitem').filter({ hasText: 'a way in' }).getByText('priority 3').waitFor();
  hadNoComplaint(page);
}

/** A browser may be set so that pages put nothing on its clipboard. */
export async function a_command_that_cant_be_copied(stage) {  // C1
  await stage.service.startRun('this waits', [['review']]);
  const page = await stage.open('?page=inbox', { permissions: [] });
  await page.getByRole('button', { name: /^Copy / }).first().click();
  await page.getByText('select the text').waitFor();
  hadNoComplaint(page);
}
