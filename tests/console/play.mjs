// Plays the scenes: node play.mjs BINARY NODE_MODULES DIRECTORY [SCENE] [PICTURES]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Browsers, Stage } from './stage.mjs';

const [binary, modules, directory, only, pictures] = process.argv.slice(2);
const folder = new URL('./scenes/', import.meta.url);

const browsers = new Browsers(modules);
let good = true;
for (const file of fs.readdirSync(folder).sort()) {
  const scenes = Object.values(await import(new URL(file, folder)));
  for (const scene of scenes) {
    if (only && scene.name !== only) continue;
    const place = path.join(directory, scene.name);
    fs.mkdirSync(place);
    const stage = new Stage(binary, browsers, place);
    stage.pictures = pictures;
    const began = Date.now();
    try {
      await stage.begin();
      await scene(stage);
      console.log(`ok     ${scene.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
    } catch (error) {
      good = false;
      console.log(`FAILED ${scene.name}: ${error.stack}`);
      for (const [number, page] of (stage.browser?.contexts() ?? []).flatMap((each) => each.pages()).entries()) {
        const picture = path.join(os.tmpdir(), `console-${scene.name}-${number}.png`);
        await page.screenshot({ path: picture }).then(() => console.log(`       ${page.url()}: ${picture}`), () => {});
      }
    } finally {
      await stage.end();
    }
  }
}
await browsers.close();
process.exit(good ? 0 : 1);
