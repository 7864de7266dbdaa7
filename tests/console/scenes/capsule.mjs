// A run's capsule in the console: the page of the run, what was proven of it, and nothing else.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

/** Writes the capsule of a run, and one without artifacts. Returns their paths, and that of the key that verifies them. */
function exported(stage, directory, id) {
  const [secret, key, file, bare] = ['audit.key', 'audit.vkey', 'run.capsule', 'bare.capsule'].map((name) => path.join(directory, name));
  const signalbox = (...words) => execFileSync(stage.service.binary, [...words, '--data', stage.service.data], { encoding: 'utf8' });
  fs.writeFileSync(key, signalbox('audit', 'keygen', '-o', secret, '--name', 'example.com/box'));
  signalbox('run', 'export', id, '--artifacts', '--signing-key', secret, '-o', file);
  signalbox('run', 'export', id, '--signing-key', secret, '-o', bare);
  return { file, bare, key };
}

/** Starts `signalbox console --capsule`. Returns its process and the address that it prints. */
async function serve(stage, directory, words) {
  const begun = spawn(stage.service.binary, ['console', '--no-open', '--data', path.join(directory, 'none'), '--capsule', ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
  let printed = '';
  begun.stdout.on('data', (bytes) => { printed += bytes; });
  const [address] = await eventually(() => /http:\/\/127\.0\.0\.1:\d+\/console\/#t=\S+/.exec(printed), 'the address of the capsule’s console');
  return { begun, address };
}

/** The run is there with what was proven; no other page, query or action is offered. */
export async function the_capsule_of_a_run(stage) {
  const directory = path.dirname(stage.service.data);
  const goal = 'upload <img src=x onerror="window.hacked=1">';
  const id = await stage.service.startRun(goal, [['build', `printf '{"a": 1}' > "$SIGNALBOX_ARTIFACTS_DIR/report.json"`], ['test', 'exit 3']], { project: 'web' });
  await stage.service.runIs(id, 'failed');
  const { file, bare, key } = exported(stage, directory, id);
  await stage.service.kill();
  const { begun, address } = await serve(stage, directory, [file, '--key', `@${key}`]);
  const unsigned = await serve(stage, directory, [file]);
  const without = await serve(stage, directory, [bare, '--key', `@${key}`]);
  try {
    const page = await (await stage.visitor({ hasAxe: true })).newPage();
    for (const { width, scheme } of [{ width: 1280, scheme: 'light' }, { width: 320, scheme: 'dark' }]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(address);
      await page.getByText('signed by a key that you trust').waitFor();
      await page.locator('h1').getByText(goal).waitFor();
      await page.getByRole('status').getByText('a capsule').first().waitFor();
      check((await page.getByRole('navigation').getByRole('link').count()) === 1, 'other pages are offered');
      check(await page.getByText('signalbox run export').count() === 0, 'a capsule of a capsule is offered');
      check((await page.getByRole('tab').allInnerTexts()).join() === 'Overview,Artifacts,Events', 'a tab shows what isn’t there');
      check(await page.getByRole('button', { name: 'Retry' }).count() === 0, 'an action is offered');
      check(!await page.evaluate(() => 'hacked' in window), 'the goal became an element');
      await page.keyboard.press('4');
      await page.getByRole('button', { name: 'show' }).first().click();
      await page.getByText('as recorded').waitFor();
      await page.keyboard.press('5');
      await page.getByText('RunFailed').waitFor();
      const found = await stage.violations(page);
      check(found.length === 0, found.join('; '));
      check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px: it scrolls sideways`);
      await page.goto(address.replace('#', '?page=board#'));
      await page.locator('h1').getByText(goal).waitFor();
      hadNoComplaint(page);
    }
    await page.goto(unsigned.address);
    await page.getByText('nobody vouches for that log').waitFor();
    // What a capsule doesn't have isn't offered, and it says so.
    await page.goto(without.address);
    await page.locator('h1').getByText(goal).waitFor();
    check(await page.locator('.figures').getByText('web').count() === 1, 'the project is missing');
    check(await page.locator('.figures').getByRole('link').count() === 0, 'a link leads to runs that aren’t there');
    await page.keyboard.press('4');
    await page.getByText('not their content').waitFor();
    await page.getByText('report.json').waitFor();
    check(await page.getByRole('button', { name: /^(show|save)$/ }).count() === 0, 'content that isn’t there is offered');
    hadNoComplaint(page);
  } finally {
    for (const each of [begun, unsigned.begun, without.begun]) {
      if (each.exitCode !== null || each.signalCode !== null) continue;
      each.kill('SIGTERM');
      await once(each, 'exit');
    }
  }
}

/** No method has a capsule, since the service doesn't have its log's secret key: the page of a run has the command that writes it. */
export async function a_capsule_is_a_command_away(stage) {  // C2
  const { service } = stage;
  const directory = path.dirname(service.data);
  const id = await service.startRun('proves itself', [['build', 'true']]);
  await service.runIs(id, 'succeeded');
  const key = execFileSync(service.binary, ['audit', 'keygen', '-o', path.join(directory, 'audit.key'), '--name', 'example.com/box'], { encoding: 'utf8' }).trim();
  const page = await stage.open(`?page=run&id=${id}`);
  const command = await page.locator('code', { hasText: 'signalbox run export' }).innerText();
  await page.getByRole('button', { name: `Copy ${command}` }).waitFor();
  const [program, ...words] = command.split(' ');
  check(program === 'signalbox' && words.includes(id), command);
  execFileSync(service.binary, [...words, '--data', service.data], { cwd: directory });
  const shown = execFileSync(service.binary, ['replay', path.join(directory, words.at(-1)), '--key', key], { encoding: 'utf8' });
  check(shown.includes('proves itself'), shown);
  hadNoComplaint(page);
}
