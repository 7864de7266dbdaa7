// Every page for those who see it otherwise than most: magnified, on a small screen, without motion, in the system's own colours.
import path from 'node:path';
import { look, openEyes } from '../eyes.mjs';
import { allPages, fillLog } from '../night.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** Stands in every text of the log: also a word that no narrow window has room for. */
const LONG = `of the part that is ${'far-too-long-for-a-phone-'.repeat(3)}`;
const SHOWN = 6;
/** Of a picture, for who looks at it: all of the page. */
const PICTURE_PX = 1800;

/** Shows every page to a visitor, and fails with all that `faultsOf` finds on any. */
async function visitAll(stage, condition, options, faultsOf) {
  const ids = await fillLog(stage, path.dirname(stage.service.data), LONG);
  const visitor = await stage.visitor(options);
  await openEyes(visitor);
  const page = await stage.open('', { visitor });
  const found = [];
  const pages = await allPages(stage, ids);
  const { position } = await stage.service.call('server.status');
  for (const [query, text] of [...pages, [`?page=board&at=${position}`, 'Board']]) {
    await stage.turn(page, query, text);
    const faults = await faultsOf(page);
    if (faults.length > 0) found.push(`${query}: ${faults.slice(0, SHOWN).join('; ')}`);
    if (stage.pictures) await picture(stage, page, `${query.replace(/\W+/g, '-').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'id')}-${condition}.png`);
  }
  check(found.length === 0, found.join('\n'));
  hadNoComplaint(page);
}

async function picture(stage, page, name) {
  const size = page.viewportSize();
  await page.screenshot({ path: path.join(stage.pictures, name) });
  await page.setViewportSize({ width: size.width, height: PICTURE_PX });
  await page.screenshot({ path: path.join(stage.pictures, `all-${name}`) });
  await page.setViewportSize(size);
}

const WIDE = { width: 1280, height: 800 };

/** All that a wide window has is there, can be reached, and isn't covered by anything else. */
async function isReadable(page) {
  const size = page.viewportSize();
  await page.setViewportSize(WIDE);
  await look(page, 'noteControls');
  await page.setViewportSize(size);
  return look(page, 'gone', 'narrow', 'unreachable', 'covered');
}

/** A window of 1280 by 800 at 200 % has as many pixels of the page as one of half its size, and draws each with four. */
export async function every_page_at_200_percent(stage) {  // C2
  await visitAll(stage, '200', { width: 640, height: 400, deviceScaleFactor: 2 }, isReadable);
}

/** As wide as a page has to fit without scrolling to both sides (WCAG 1.4.10), also that of 1280 px at 400 %. */
export async function every_page_320_px_wide(stage) {  // C2
  await visitAll(stage, '320', { width: 320, height: 640 }, isReadable);
}

/** Who asks for less motion gets none, also where something changes under the pointer or a key. */
export async function every_page_without_motion(stage) {  // C2
  await visitAll(stage, 'still', { reducedMotion: 'reduce' }, async (page) => {
    await page.locator('main').hover({ position: { x: 200, y: 150 } });
    await page.keyboard.press('j');
    return look(page, 'moving');
  });
}

/** Where the system has its own colours, what is drawn is still seen, and what is chosen still looks so. */
export async function every_page_in_forced_colours(stage) {  // C2
  await visitAll(stage, 'forced', { forcedColors: 'active' }, async (page) => {
    await page.emulateMedia({ forcedColors: 'none' });
    await look(page, 'noteDrawings');
    await page.emulateMedia({ forcedColors: 'active' });
    return look(page, 'drawnAlike', 'chosenAlike', 'colourless');
  });
}
