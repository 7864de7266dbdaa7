// Plays the scenes: node play.mjs BINARY NODE_MODULES DIRECTORY [SCENE] [PICTURES]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Stage, startBrowser } from './stage.mjs';

/** Most of a scene is waiting for the server, a job or the next picture. */
const AT_ONCE = 3;

const [binary, modules, directory, only, pictures] = process.argv.slice(2);
const folder = new URL('./scenes/', import.meta.url);

const scenes = [];
for (const file of fs.readdirSync(folder).sort()) {
  const found = Object.values(await import(new URL(file, folder)));
  scenes.push(...found.filter(({ name }) => !only || name === only));
}
let good = scenes.length > 0;
if (!good) console.log(`FAILED there is no scene ${only}`);
const browser = await startBrowser(modules);

async function play(scene) {
  const place = path.join(directory, scene.name);
  fs.mkdirSync(place);
  const stage = new Stage(browser, binary, modules, place);
  stage.pictures = pictures;
  const began = Date.now();
  try {
    await stage.begin();
    await scene(stage);
    console.log(`ok     ${scene.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    good = false;
    console.log(`FAILED ${scene.name}: ${error.stack}`);
    for (const [number, page] of stage.visitors.flatMap((each) => each.pages()).entries()) {
      const picture = path.join(os.tmpdir(), `console-${scene.name}-${number}.png`);
      await page.screenshot({ path: picture }).then(() => console.log(`       ${page.url()}: ${picture}`), () => {});
    }
  } finally {
    await stage.end();
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let scene = scenes.shift(); scene; scene = scenes.shift()) await play(scene);
}));
await browser.close();
process.exit(good ? 0 : 1);
