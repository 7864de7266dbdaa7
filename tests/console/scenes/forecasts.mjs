// The what-if page: recorded, replayed and forecast side by side, of now and of a moment.
import { workOutside } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** Returns the cells of one measure: recorded, replayed, error, forecast. */
async function measure(page, name) {
  const row = page.getByRole('row', { name: new RegExp(`^${name}`) });
  await row.waitFor();
  return row.getByRole('cell').allInnerTexts();
}

/** By keyboard alone: to the page, a number, and the forecast; the address leads there again. */
export async function a_forecast_by_keyboard(stage) {  // O10
  await workOutside(stage.service, ['first', 'second']);
  const page = await stage.open('', { role: 'viewer', hasAxe: true });
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await page.getByText('Would two more workers have helped').waitFor();
  check((await stage.violations(page)).length === 0, 'the empty page has a violation');
  await page.getByLabel('Outside workers').focus();
  await page.keyboard.type('2');
  await page.keyboard.press('Enter');
  check((await measure(page, 'runs')).join() === '2,2,0 %,2', `the runs: ${await measure(page, 'runs')}`);
  check((await measure(page, 'at once, at most')).join() === '1,1,0 %,2', `at once: ${await measure(page, 'at once, at most')}`);
  await page.getByText('at most: recorded 1, replayed 1, forecast 2').waitFor();
  await page.locator('.chart canvas').nth(1).waitFor();
  await page.getByText('as far may a forecast be off').waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  const address = new URL(page.url());
  check(address.searchParams.get('workers') === '2' && address.searchParams.get('from') === '24h', `the address: ${address}`);
  await page.reload();
  check(await page.getByLabel('Outside workers').inputValue() === '2', 'the number is forgotten');
  await measure(page, 'runs');
  await page.getByText('The policy as a file').click();
  await page.getByText('[limits]\nworkers = 2').waitFor();
  const denied = await stage.service.call('events.read', { types: ['AccessDenied'] });
  check(denied.events.length === 0, 'a viewer asked for what it may not');
  hadNoComplaint(page);
}

/** A moment of the past has the work up to then, and a wrong policy or an empty log say what they are. */
export async function a_forecast_of_a_moment(stage) {  // O4, O10
  const position = await workOutside(stage.service, ['first']);
  await workOutside(stage.service, ['second']);
  const page = await stage.open(`?page=whatif&from=24h&at=${position}`);
  check((await measure(page, 'runs')).join() === '1,1,0 %,1', 'the moment has later runs');
  await page.keyboard.press('L');
  await page.getByRole('button', { name: 'Make it of this moment' }).click();
  await eventually(async () => (await measure(page, 'runs'))[0] === '2', 'the runs of the present');
  await page.getByLabel('Lease of a claim').fill('never');
  await page.getByRole('button', { name: 'Forecast' }).click();
  await page.getByRole('alert').getByText('heartbeat_timeout must be a duration').waitFor();
  check(await page.getByRole('row').count() === 0, 'a refused policy has a forecast');
  await page.goto(stage.address('?page=whatif&from=24h&at=1'));
  await page.getByText('No run arrived in this part of the log.').waitFor();
  hadNoComplaint(page);
}

/** What is on the screen and in the form stays, whatever the log and the connection do, until somebody asks again. */
export async function a_forecast_stays_as_it_was_asked(stage) {  // O10
  const { service } = stage;
  await workOutside(service, ['first', 'second']);
  const page = await stage.open('?page=whatif&from=24h');
  await measure(page, 'runs');
  const asked = [];
  page.on('request', (request) => request.method() === 'POST' && request.postDataJSON()?.method === 'what_if.run' && asked.push(request));
  await page.getByLabel('Local jobs').fill('7');
  await page.clock.install();
  await workOutside(service, ['third']);
  await service.kill();
  await page.getByText('the service is away').waitFor();
  await service.start();
  await page.getByText('● live').waitFor();
  await page.clock.fastForward('10:00');  // whatever the page means to ask again, it asks now
  check((await measure(page, 'runs')).join() === '2,2,0 %,2', `the forecast is another one: ${await measure(page, 'runs')}`);
  check(await page.getByLabel('Local jobs').inputValue() === '7', 'what was typed is gone');
  check(asked.length === 0, `${asked.length} forecasts that nobody asked for`);
  await page.getByRole('button', { name: 'Again' }).click();
  await eventually(async () => (await measure(page, 'runs'))[0] === '3', 'the third run');
  check(await page.getByLabel('Local jobs').inputValue() === '7', 'what was typed is gone with the next forecast');
  check(asked.length === 1, `${asked.length} forecasts for one`);
}

/** From a phone to a second screen, light and dark; hostile text in the address stays text. */
export async function forecasts_of_any_size(stage) {  // O10, C3
  await workOutside(stage.service, ['first', 'second']);
  const hostile = encodeURIComponent('<img src=x onerror="window.hacked=1">"]\n[limits');
  const page = await stage.open('', { hasAxe: true });
  for (const { width, height, scheme } of [{ width: 320, height: 640, scheme: 'light' }, { width: 2560, height: 1300, scheme: 'dark' }]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(stage.address('?page=whatif&workers=2&from=24h'));
    await measure(page, 'runs');
    await page.locator('.chart canvas').first().waitFor();
    const found = await stage.violations(page);
    check(found.length === 0, `${width}: ${found.join('; ')}`);
    check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px: it scrolls sideways`);
    await page.goto(stage.address(`?page=whatif&from=24h&station=${hostile}`));
    check((await measure(page, 'runs')).join() === '2,2,0 %,2', 'a station of no pipeline changes something');
    check(!await page.evaluate(() => 'hacked' in window || document.querySelector('#app img[src="x"]')), 'the text became an element');
    hadNoComplaint(page);
  }
}
