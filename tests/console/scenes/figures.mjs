// Numbers on the pages: what they say is what the service has said, no more and no less.
import { moneyText } from '../../../server/console/core/figures.js';
import { workOutside } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** Changes each answer of a method on its way to the page. @param {(result: any) => void} change */
const answers = (page, method, change) => page.route(/\/rpc$/, async (route) => {
  if (route.request().postDataJSON().method !== method) return route.fallback();
  const response = await route.fetch();
  const answer = await response.json();
  change(answer.result);
  return route.fulfill({ response, json: answer });
});

/** An amount is never shown as more than it is, and below a cent with all its digits. */
export async function amounts_of_money() {
  const wanted = [[0, '$0.00'], [1, '$0.000001'], [400, '$0.0004'], [10_000, '$0.01'], [187_999, '$0.187'], [500_000, '$0.50'], [1_999_999, '$1.99'], [12_340_000, '$12.34']];
  for (const [microusd, text] of wanted) check(moneyText(microusd) === text, `${microusd} is ${moneyText(microusd)}, not ${text}`);
}

/** What is at work now isn't the most of the last span. */
export async function a_night_says_what_is_there_now(stage) {  // C1
  const id = await stage.service.startRun('worked at night', [['go', 'true']]);
  await stage.service.runIs(id, 'succeeded');
  const page = await stage.open('');
  await answers(page, 'report.get', ({ over_time: series }) => {
    if (!series) return;
    series.at_work[series.at_work.length - 1] = 3;
    series.at_work_now = 2;
  });
  await stage.turn(page, '?page=night&since=1h');
  await page.locator('.night-charts').getByText('attempts at work at most 3, now 2').waitFor();
  hadNoComplaint(page);
}

/** More runs failed than are counted. */
export async function more_than_is_counted(stage) {  // O1
  const page = await stage.open('');
  const capped = (waiting) => Object.assign(waiting, { total: 1000, capped: true });
  await answers(page, 'attention.list', capped);
  await answers(page, 'report.get', ({ waiting }) => capped(waiting));
  await page.goto(stage.address('?page=night'));
  await page.getByRole('navigation').getByText('1000+', { exact: true }).waitFor();
  await page.getByText('1000+ wait for you').waitFor();
  await eventually(async () => await page.title() === '(1000+) Signalbox', 'the title');
  hadNoComplaint(page);
}

/** A page of events may end before it is full. */
export async function a_comparison_of_a_part_says_so(stage) {  // C1
  await stage.service.startRun('the first', [['review']]);
  const { position } = await stage.service.call('server.status');
  await stage.service.startRun('the second', [['review']]);
  const page = await stage.open('');
  const isPart = page.getByText('events are looked at for what follows');
  await stage.turn(page, `?page=compare&vs=${position}`);
  await page.getByRole('region', { name: 'Runs' }).waitFor();
  check(await isPart.count() === 0, 'all is said to be a part');
  await answers(page, 'events.read', (read) => {
    if (read.events.length < 2) return;
    read.events.length = 1;
    Object.assign(read, { more: true, next_from: read.events[0].position - 1 });
  });
  await page.reload();
  await isPart.waitFor();
  hadNoComplaint(page);
}

/** Each report of a stall changes the run, and is no progress. */
export async function a_run_is_stalled_since_its_latest_progress(stage) {  // W5
  await stage.service.startRun('goes nowhere', [['review']]);
  const page = await stage.open('');
  await page.route(/\/rpc$/, async (route) => {
    const { method, params, ...call } = route.request().postDataJSON();
    if (method !== 'run.list' || params?.waiting_for !== 'stalled') return route.fallback();
    const response = await route.fetch({ postData: JSON.stringify({ ...call, method, params: { ...params, waiting_for: undefined } }) });
    const answer = await response.json();
    for (const run of answer.result.runs) run.last_progress_at = new Date(Date.parse(run.updated_at) - 7_200_000).toISOString();
    return route.fulfill({ response, json: answer });
  });
  await page.reload();
  await page.getByRole('region', { name: 'Wedged' }).getByText(/stalled for 2 h/).waitFor();
  hadNoComplaint(page);
}

/** While the log is away its numbers aren't known, which isn't 0. */
export async function a_figure_that_is_not_known(stage) {  // R7
  const page = await stage.open('');
  await answers(page, 'server.metrics', (metrics) => {
    metrics.text = metrics.text.replaceAll(/^signalbox_ready_stations.*\n/gm, '');
  });
  await stage.turn(page, '?page=server');
  const figures = page.getByRole('region', { name: 'Figures of the last minutes' });
  await figures.getByText(/attempts at work \d/).waitFor();
  await figures.getByText('stations that wait …').waitFor();
  hadNoComplaint(page);
}

/** One of them is told as one. */
export async function one_is_no_plural(stage) {  // O10
  await workOutside(stage.service, ['first']);
  const page = await stage.open('');
  await answers(page, 'what_if.run', (answer) => {
    Object.assign(answer.what_if, { attempts_drawn: 1, attempts_unknown: 1, attempts_kept: 1 });
    answer.runs_before = 1;
  });
  await stage.turn(page, '?page=whatif&workers=2&from=24h');
  await page.getByText('1 attempt wasn’t recorded: it was drawn').waitFor();
  await page.getByText('1 attempt was at a station').waitFor();
  await page.getByText('1 attempt keeps the lease that it lost').waitFor();
  await page.getByText('1 run that was open at the beginning is left out.').waitFor();
  hadNoComplaint(page);
}
