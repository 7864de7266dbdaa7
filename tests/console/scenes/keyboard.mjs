// Without a pointer: everything is a stop of the Tab key and shows its focus, and everything can be done.
import fs from 'node:fs';
import path from 'node:path';
import { allPages, fillLog } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { inTurn } from '../turns.mjs';

const EXTRA_STOPS = 3;
// Each brings the next rows of a long list.
const ROUNDS_MAX = 40;

/** Notes in the page what gets the focus, and whether that can be seen. */
function noteStops() {
  globalThis.stops = new Map();
  document.addEventListener('focusin', ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    const box = target.getBoundingClientRect();
    const isSeen = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    globalThis.stops.set(target, isSeen);
  });
}

/** Presses Tab so often, each as soon as the browser has the one before: to wait for each answer is slow. */
async function pressTabs(session, presses) {
  const key = { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 };
  await Promise.all(Array.from({ length: presses }).flatMap(() => ['rawKeyDown', 'keyUp'].map((type) => session.send('Input.dispatchKeyEvent', { type, ...key }))));
}

/** Returns what the user could press or fill in, as a description each, that is or isn't a stop. */
function lookAtStops() {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((each) =>
    each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.tabIndex >= 0);
  const name = (each) => `${each.tagName} ${each.className} ${(each.ariaLabel ?? each.textContent).trim().slice(0, 40)}`;
  return {
    missed: all.filter((each) => !globalThis.stops.has(each)).map(name),
    unseen: [...globalThis.stops].filter(([each, isSeen]) => !isSeen && each.isConnected && each.id !== 'main').map(([each]) => name(each)),
  };
}

/** On each page Tab comes to everything, and the focus is seen where it is. */
export async function every_stop_of_the_tab_key(stage) {  // C2
  const ids = await fillLog(stage, path.dirname(stage.service.data));
  const page = await stage.open('', { scheme: 'dark' });
  await page.evaluate(noteStops);
  const session = await page.context().newCDPSession(page);
  // Each page has its turn in two runs.
  for (const [query, text] of inTurn(await allPages(stage, ids), 2)) {
    await stage.turn(page, query, text);
    await page.evaluate(() => {
      document.activeElement?.blur();
      globalThis.stops.clear();
    });
    let { missed, unseen } = await page.evaluate(lookAtStops);
    // Meanwhile the page may have got more of them.
    for (let round = 0; round < ROUNDS_MAX && missed.length > 0; ++round) {
      await pressTabs(session, missed.length + EXTRA_STOPS);
      ({ missed, unseen } = await page.evaluate(lookAtStops));
    }
    check(missed.length === 0, `${query}: Tab misses ${missed.join(' | ')}`);
    check(unseen.length === 0, `${query}: no focus is seen on ${unseen.join(' | ')}`);
  }
  hadNoComplaint(page);
}

const focused = (page) => page.evaluate(() => {
  const { activeElement: element } = document;
  return { name: (element.ariaLabel ?? element.textContent).trim(), id: element.id, isInDialog: element.closest('dialog') !== null };
});

/** A dialog keeps the focus while it is open, and gives it back; what follows it takes it. */
export async function dialogs_hold_the_focus(stage) {  // C2
  const { service } = stage;
  const id = await service.startRun('ask me', [['review'], ['ship', 'true']]);
  const page = await stage.open(`?page=run&id=${id}`);
  const dialog = page.locator('dialog[open]');
  const pause = page.getByRole('button', { name: 'Pause', exact: true });
  await pause.focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Pause run' }).waitFor();
  for (const key of [...Array(8).fill('Tab'), ...Array(8).fill('Shift+Tab')]) {
    await page.keyboard.press(key);
    const { isInDialog, name } = await focused(page);
    // Between the last control and the first one a browser may go through its own.
    check(isInDialog || await page.evaluate(() => document.activeElement === document.body), `the focus left the dialog for ${name}`);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  check((await focused(page)).name === 'Pause', `the focus is on ${(await focused(page)).name}`);
  // From the search into the dialog that it opens: what is typed is the reason.
  await page.keyboard.press('Control+k');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('approve this');
  await page.getByRole('option', { name: 'Approve this run' }).waitFor();
  await page.keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Approve run' }).waitFor();
  await page.keyboard.type('looks good');
  await page.keyboard.press('Enter');
  await service.runIs(id, 'succeeded');
  check((await service.run(id)).stations[0].decided.reason === 'looks good', 'the reason went elsewhere');
  // Where the button is gone that opened the dialog, the page has the focus.
  const other = await service.startRun('fails', [['go', 'exit 3']]);
  await service.runIs(other, 'failed');
  await stage.turn(page, `?page=run&id=${other}`, 'fails');
  await page.getByRole('button', { name: 'Retry' }).focus();
  await page.keyboard.press('Enter');
  await dialog.getByRole('heading', { name: 'Retry run' }).waitFor();
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await eventually(async () => (await focused(page)).id === 'main' || (await focused(page)).name === 'Retry', 'a focus in the page');
  hadNoComplaint(page);
}

/** What is done takes its button away: the focus stays near, and what was done is said. */
export async function the_focus_after_an_action(stage) {  // C2
  const { service } = stage;
  const page = await stage.open('?page=inbox');
  const dialog = page.locator('dialog[open]');
  const act = async (button, heading) => {
    await button.focus();
    await page.keyboard.press('Enter');
    await dialog.getByRole('heading', { name: heading }).waitFor();
    await dialog.locator('button[type=submit]:not([aria-disabled])').waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
  };
  const comesTo = (id) => eventually(async () => (await focused(page)).id === id, `the focus in ${id}`);
  const asking = await service.startRun('approved by hand', [['review'], ['ship', 'true']]);
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await act(approve, 'Approve run');
  await page.locator('#said').getByText('Approve: done, approved by hand').waitFor();
  await service.runIs(asking, 'succeeded');
  await approve.waitFor({ state: 'detached' });
  await comesTo('main');
  const waiting = await service.startRun('canceled by hand', [['review']]);
  await stage.turn(page, `?page=run&id=${waiting}`, 'canceled by hand');
  const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
  await act(cancel, 'Cancel run');
  await cancel.waitFor({ state: 'detached' });
  await comesTo('main');
  await page.locator('#said').getByText('Cancel: done').waitFor();
  const failed = await service.startRun('retried by hand', [['go', 'test -f "$SIGNALBOX_RUN_ROOT/there" || exit 3; sleep 600']]);
  const { run_root: root } = await service.runIs(failed, 'failed');
  await stage.turn(page, '?page=runs', 'retried by hand');
  await page.getByRole('checkbox').first().focus();
  await page.keyboard.press('Space');
  const retry = page.getByRole('button', { name: 'Retry', exact: true });
  fs.writeFileSync(path.join(root, 'there'), '');
  await act(retry, 'Retry run');
  await retry.waitFor({ state: 'detached' });
  await comesTo('main');
  // Who leaves a control isn't brought back.
  await page.evaluate(() => document.activeElement.blur());
  await service.call('run.cancel', { run_id: failed });
  await service.runIs(failed, 'canceled');
  await page.locator('.virtual-row', { hasText: 'retried by hand' }).getByText('canceled').waitFor();
  check((await focused(page)).id === '', `the focus is on ${JSON.stringify(await focused(page))}`);
  hadNoComplaint(page);
}

/** Retry, pause, resume and cancel, from the lists and from the search. */
export async function runs_by_keyboard(stage) {  // C2
  const { service } = stage;
  const failed = await service.startRun('fails at first', [['go', 'test -f "$SIGNALBOX_RUN_ROOT/there" || exit 3']]);
  await service.runIs(failed, 'failed');
  const waiting = await service.startRun('waits for long', [['review']]);
  const page = await stage.open('?page=runs');
  const dialog = page.locator('dialog[open]');
  const confirm = async (heading) => {
    await dialog.getByRole('heading', { name: heading }).waitFor();
    await page.keyboard.type('by hand');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
  };
  await page.locator('.virtual-row').getByText('waits for long').waitFor();
  await page.keyboard.press('p');
  await confirm('Pause run');
  await service.runIs(waiting, 'paused');
  await page.locator('.virtual-row', { hasText: 'waits for long' }).getByText('paused').first().waitFor();
  await page.keyboard.press('u');
  await confirm('Resume run');
  await eventually(async () => (await service.run(waiting)).status !== 'paused', 'a resumed run');
  await page.keyboard.press('j');
  await page.keyboard.press('R');
  await confirm('Retry run');
  await eventually(async () => (await service.call('events.read', { types: ['RunRetried'] })).events.length === 1, 'a retry');
  await service.runIs(failed, 'failed');
  // A link that has the focus is what Enter opens, not the row that is selected.
  await page.keyboard.press('k');
  await page.locator('.virtual-row', { hasText: 'fails at first' }).locator('.c-goal a').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'fails at first' }).waitFor();
  check((await focused(page)).id === 'main', 'the focus isn’t in the page');
  // Tabs, with the arrows.
  await page.getByRole('tab', { name: 'Overview' }).focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('[role=tab][aria-selected=true]', { hasText: 'Why' }).waitFor();
  check((await focused(page)).name === 'Why', 'the focus isn’t on the tab');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.locator('[role=tab][aria-selected=true]', { hasText: 'Output' }).waitFor();
  // A page, a run and an action from the search.
  await page.keyboard.press('/');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('waits for');
  await page.getByRole('option', { name: 'waits for long' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'waits for long' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).waitFor();
  await page.keyboard.press('/');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('cancel this');
  await page.getByRole('option', { name: 'Cancel this run' }).waitFor();
  await page.keyboard.press('Enter');
  await confirm('Cancel run');
  await service.runIs(waiting, 'canceled');
  // The first page: the item that is open is opened, and from the sign the content is one key away.
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.locator('.item').getByText('fails at first').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'fails at first' }).waitFor();
  hadNoComplaint(page);
}
