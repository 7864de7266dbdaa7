// The list of runs: what is searched for, and what is counted.
import { check, hadNoComplaint } from '../stage.mjs';

const rows = (page) => page.locator('.virtual-row');

/** A text is looked for in all runs, also one that could be the end of an id; and such an end finds its run. */
export async function runs_by_their_text(stage) {
  const { service } = stage;
  const id = await service.startRun('a decade of logs', [['review']]);
  for (const goal of ['first', 'second', 'third']) await service.startRun(goal, [['review']]);
  const visitor = await stage.visitor();
  // Pages of two runs instead of 500.
  await visitor.route(/\/rpc$/, (route) => {
    const body = route.request().postDataJSON();
    if (body.method !== 'run.list' || body.params.limit !== 500) return route.continue();
    return route.continue({ postData: JSON.stringify({ ...body, params: { ...body.params, limit: 2 } }) });
  });
  const page = await stage.open('?page=runs&status=running', { visitor });
  await page.locator('.kinds').getByText('4 running').waitFor();
  const search = page.getByRole('searchbox', { name: 'text' });
  await search.fill('DECADE');
  await search.press('Enter');
  await rows(page).getByText('a decade of logs').waitFor();
  check(await rows(page).count() === 1, 'other runs match');
  check(new URL(page.url()).searchParams.get('text') === 'DECADE', 'the address hasn’t got the text');
  await search.fill(id.slice(-6));
  await search.press('Enter');
  await page.getByText('No run matches.').waitFor();
  await page.getByText(`ends with ${id.slice(-6)}`).getByRole('link').click();
  await page.getByRole('heading', { name: 'a decade of logs' }).waitFor();
  // What is typed can't be longer than a goal is shown, and what the address has is cut.
  await stage.turn(page, `?page=runs&text=${'x'.repeat(5000)}`, 'No run matches.');
  check(Number(await page.getByRole('searchbox', { name: 'text' }).getAttribute('maxlength')) === 256, 'a text of any length is taken');
  hadNoComplaint(page);
}
