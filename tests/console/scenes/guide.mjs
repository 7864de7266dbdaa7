// The guide to the console, and its pictures.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { playEvening } from '../evening.mjs';
import { workOutside } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { hasTurn } from '../turns.mjs';

const CONSOLE = fileURLToPath(new URL('../../../server/console/', import.meta.url));
const WIDTH = 1180;
const HEIGHT_MIN = 360;
const HEIGHT_MAX = 560;
const PICTURE_BYTES_MAX = 64 * 1024;

/** Returns the age of the whole log, in which the night's bars are long. */
async function wholeAge(service) {
  const { events } = await service.call('events.read', { from: 1, limit: 1 });
  return `${Math.ceil((Date.now() - Date.parse(events[0].recorded_at)) / 1000)}s`;
}

/** Returns each picture's name, its page's address, and a text that stands on it. */
async function picturesOf(stage, ids) {
  const { position } = (await stage.service.call('events.read', { run_id: ids.adopted, types: ['RunStarted'], limit: 1 })).events[0];
  return [
    ['inbox', '?page=inbox', 'Release 1.4'],
    ['board', '?page=board', 'Draw a banner'],
    ['runs', '?page=runs', 'Import the address book'],
    ['run', `?page=run&id=${ids.adopted}`, 'swap'],
    ['output', `?page=run&id=${ids.failed}&tab=output&stream=stderr`, 'postcode'],
    ['change', `?page=run&id=${ids.change}&tab=change`, 'Running it'],
    ['why', `?page=run&id=${ids.asking}&tab=why`, 'caused by'],
    ['card', `?page=card&id=${ids.card}`, 'History'],
    ['night', `?page=night&since=${await wholeAge(stage.service)}`, 'Rebuild the search index'],
    ['loops', '?page=loops', 'release bot'],
    ['events', '?page=events', 'RunStarted'],
    ['projects', '?page=projects&name=site', 'Policy in force'],
    ['server', '?page=server', 'state digest'],
    ['audit', '?page=audit', 'Refused, erased, adopted'],
    ['compare', `?page=compare&vs=${position}`, 'Draw a banner'],
    ['past', `?page=board&at=${position}`, 'Sing the greeting'],
  ];
}

/** Gives the page the height of what it shows, so that a picture has no empty half. */
async function fit(page) {
  await page.setViewportSize({ width: WIDTH, height: HEIGHT_MAX });
  const bottom = await page.evaluate(() => Math.max(...[...document.querySelectorAll('main *')]
    .filter((each) => each.childElementCount === 0 && each.textContent.trim())
    .map((each) => each.getBoundingClientRect().bottom)));
  const height = Math.min(HEIGHT_MAX, Math.max(HEIGHT_MIN, Math.ceil(bottom) + 56));
  await page.setViewportSize({ width: WIDTH, height });
}

/** Opens the page of a picture, which the guide has, and makes the picture if they are made. */
async function take(stage, page, guide, [name, query, text]) {
  await page.goto(stage.address(query));
  await page.locator('main').getByText(text).first().waitFor();
  await page.getByText(query.includes('at=') ? 'as of' : '● live').first().waitFor();
  await eventually(async () => (await page.locator('[aria-busy]').count()) === 0, `all of ${query}`);
  check(guide.includes(`(pictures/${name}.png)`), `the guide has no picture of ${query}`);
  check(fs.existsSync(path.join(CONSOLE, 'pictures', `${name}.png`)), `there is no picture ${name}`);
  if (!stage.pictures) return;
  await fit(page);
  fs.mkdirSync(path.join(stage.pictures, 'guide'), { recursive: true });
  await page.screenshot({ path: path.join(stage.pictures, 'guide', `${name}.png`) });
}

const guideText = () => fs.readFileSync(path.join(CONSOLE, 'GUIDE.md'), 'utf8');

/** The guide has a chapter of each page, and no picture is too large or shown nowhere. */
export async function each_page_has_a_chapter(stage) {
  const guide = guideText();
  const page = await stage.open();
  for (const name of await page.getByRole('navigation').getByRole('link').allInnerTexts()) {
    const title = name.split('\n').find((line) => /\w{3}/.test(line))?.trim() ?? name;
    check(guide.includes(`\n## ${title}\n`), `the guide has no chapter “${title}”`);
  }
  for (const file of fs.readdirSync(path.join(CONSOLE, 'pictures'))) {
    check(guide.includes(`(pictures/${file})`), `the guide doesn’t show ${file}`);
    check(fs.statSync(path.join(CONSOLE, 'pictures', file)).size <= PICTURE_BYTES_MAX, `the picture ${file} is too large`);
  }
  hadNoComplaint(page);
}

/**
 * The guide has each picture that is made here. With --pictures the pictures are made anew:
 * DIRECTORY/guide/ then has what server/console/pictures/ should have.
 */
export async function the_pictures_of_the_guide(stage) {
  const guide = guideText();
  // Before the evening, some of which goes on: a forecast is of work that ended.
  await workOutside(stage.service, ['Check the links', 'Sort the photos', 'Read the invoices', 'Tidy the changelog', 'Compare the prices'], 300);
  const early = await stage.open('', { width: WIDTH, height: HEIGHT_MAX });
  await take(stage, early, guide, ['whatif', '?page=whatif&workers=3&from=24h', 'nine tenths']);
  hadNoComplaint(early);
  await early.context().close();
  const ids = await playEvening(stage, path.dirname(stage.service.data));
  const page = await stage.open('', { width: WIDTH, height: HEIGHT_MAX });
  const pictures = await picturesOf(stage, ids);
  for (const picture of pictures) await take(stage, page, guide, picture);
  hadNoComplaint(page);
}
// An evening is played here and for its prefixes (prefixes.mjs), which have their turn in other runs.
the_pictures_of_the_guide.hasTurn = hasTurn(3, 1);
the_pictures_of_the_guide.isLong = true;
