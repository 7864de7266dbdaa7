// Plays the scenes: node play.mjs BINARY NODE_MODULES DIRECTORY SECONDS [SCENE] [PICTURES]
//
// DIRECTORY/failed then has a line for each scene that failed, with what is wrong in short.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Stage, startBrowser } from './stage.mjs';

/** Most of a scene is waiting for the server, a job or the next picture. */
const AT_ONCE = 3;
const SHORT = 300;
const TEXT_SHOWN = 600;

const [binary, modules, directory, seconds, only, pictures] = process.argv.slice(2);
const folder = new URL('./scenes/', import.meta.url);

const scenes = [];
for (const file of fs.readdirSync(folder).sort()) {
  const found = Object.values(await import(new URL(file, folder)));
  // Some are played in turns (turns.mjs), and whenever they are asked for.
  scenes.push(...found.filter(({ name, hasTurn = true }) => (only ? name === only : hasTurn || pictures)));
}
// The longest begin first, so that none is left alone at the end.
scenes.sort((one, other) => Number(other.isLong ?? false) - Number(one.isLong ?? false));
/** @type {Map<string, Stage>} those that are played now, by the scenes' names */
const stages = new Map();
let good = true;

/** Returns a text without colours and tokens. */
const plain = (text) => text.replace(/\x1b\[[0-9;]*m/g, '').replace(/sbx_[0-9a-f]+/g, 'sbx_…');
const lineOf = (text) => plain(text).replace(/\s+/g, ' ').trim();

function fail(name, error) {
  good = false;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const [place = ''] = /\w+\.mjs:\d+(?=:\d+\)?$)/m.exec(stack.split('\n').filter((line) => line.includes('/scenes/')).join('\n')) ?? [];
  console.log(`FAILED ${name}: ${plain(stack)}`);
  fs.appendFileSync(path.join(directory, 'failed'), `${name}: ${lineOf(message).slice(0, SHORT)}${place && ` (${place})`}\n`);
}

/** Prints what a page has on the screen, for who can't see its picture. */
async function describe(page, name, number) {
  const picture = path.join(os.tmpdir(), `console-${name}-${number}.png`);
  const text = await page.evaluate(() => document.body.innerText);
  await page.screenshot({ path: picture });
  console.log(`       ${page.url()}: ${picture}\n       ${lineOf(text).slice(0, TEXT_SHOWN)}`);
}

if (scenes.length === 0) fail(only, new Error('there is no such scene'));
let browser = await startBrowser(modules);

async function play(scene) {
  const place = path.join(directory, scene.name);
  fs.mkdirSync(place);
  if (!browser.isConnected()) browser = await startBrowser(modules);
  const stage = new Stage(browser, binary, modules, place);
  stages.set(scene.name, stage);
  stage.pictures = pictures;
  const began = Date.now();
  try {
    await stage.begin();
    await scene(stage);
    console.log(`ok     ${scene.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    fail(scene.name, error);
    for (const [number, page] of stage.visitors.flatMap((each) => each.pages()).entries()) await describe(page, scene.name, number).catch(() => {});
  } finally {
    await stage.end().catch((error) => fail(scene.name, error));
    stages.delete(scene.name);
  }
}

// Of something that a scene left under way.
process.on('unhandledRejection', (error) => fail([...stages.keys()].join(' or '), error));
setTimeout(() => {
  for (const [name, { service }] of stages) {
    fail(name, new Error(`not over when all scenes had taken ${seconds} s; ${scenes.length} had not begun`));
    service.process?.kill('SIGKILL');
  }
  process.exit(1);
}, 1000 * Number(seconds)).unref();

await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let scene = scenes.shift(); scene; scene = scenes.shift()) await play(scene);
}));
await browser.close();
process.exit(good ? 0 : 1);
