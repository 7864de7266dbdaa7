// What a page doesn't ask for, so that ten of them cost a service little.
import { check, hadNoComplaint } from '../stage.mjs';

/** The stream has what lists show; the data of an event is asked for when somebody opens it. */
export async function an_event_has_its_data_when_it_is_opened(stage) {  // C6
  const page = await stage.open('?page=events');
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
