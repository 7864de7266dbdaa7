// The badge says `proven` only of what is proven; whatever is forged, missing or unknown has its own word.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { repository } from '../night.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

const NAME = 'example.com/scene';

/** Sockets aren't copied. */
const copy = (from, to) => fs.cpSync(from, to, { recursive: true, filter: (name) => !name.endsWith('.sock') });

class SignedLog {
  constructor(stage) {
    this.stage = stage;
    this.service = stage.service;
    this.key = path.join(path.dirname(this.service.data), 'audit.key');
  }

  tool(...words) {
    return execFileSync(this.service.binary, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, SIGNALBOX_DATA: this.service.data } }).trim();
  }

  /** Starts the service again, with the key of this file. */
  async restart({ key = this.key, change = () => {} } = {}) {
    await this.service.kill();
    change();
    fs.writeFileSync(path.join(this.service.data, 'signalbox.toml'), key ? `audit_key = "${key}"\n` : '');
    await this.service.start();
  }

  /** Signs from now on. Returns the verifier key. */
  async sign() {
    const verifier = this.tool('audit', 'keygen', '-o', this.key, '--name', NAME);
    await this.service.call('audit.adopt_key', { verifier_key: verifier });
    await this.restart();
    return verifier;
  }

  async grow(runs = 3) {
    for (let number = 0; number < runs; ++number) await this.service.startRun(`grow ${number}`, [['review']]);
  }
}

/** Returns what the badge says, once it is this. */
const badgeIs = (page, text) => page.locator('.proof-badge', { hasText: text }).waitFor();

async function alarms(page) {
  await page.getByRole('alert').filter({ hasText: 'This log can’t be trusted' }).waitFor();
  check(await page.evaluate(() => document.documentElement.classList.contains('forged')), 'the page isn’t red');
  check(await page.locator('.proof-badge', { hasText: 'proven' }).count() === 0, 'the badge says proven');
}

/** A first visit knows only the service’s word; the next one knows what it has seen; then the key is lost. */
export async function the_log_is_proven(stage) {  // C4
  if (!await stage.has('audit.checkpoint')) return;
  const log = new SignedLog(stage);
  const visitor = await stage.visitor({ hasAxe: true });
  const page = await stage.open('?page=audit', { visitor });
  await badgeIs(page, 'no audit key');
  await page.goto('about:blank');  // it would complain about the restart
  const verifier = await log.sign();
  await page.goto(stage.address('?page=audit'));
  await badgeIs(page, 'key is new here');
  await page.getByText(verifier).first().waitFor();
  await page.getByRole('button', { name: 'It is the key that I was given' }).click();
  await badgeIs(page, 'proven to #');
  await log.grow();
  await page.reload();
  await page.getByText('unchanged since you looked').first().waitFor();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  if (stage.pictures) await page.screenshot({ path: path.join(stage.pictures, 'audit.png') });
  // An event on screen is one of the log.
  await page.goto(stage.address('?page=events&from=1'));
  await badgeIs(page, 'proven to #');
  await page.locator('.events button', { hasText: '#2' }).first().click();
  await page.getByText('are as recorded').waitFor();
  // So is one in the history of a card, whose command has an id.
  await stage.service.call('project.put', { name: 'proven', repository: repository(path.dirname(stage.service.data)) });
  const { card_id: card } = await stage.service.call('card.submit', { project: 'proven', title: 'proven, too', command_id: 'proven-card' });
  await log.grow();
  await page.goto(stage.address(`?page=card&id=${card}`));
  await badgeIs(page, 'proven to #');
  await page.locator('.events button', { hasText: '#' }).first().click();
  await page.getByText('are as recorded').waitFor();
  hadNoComplaint(page);
  await log.restart({ key: '' });
  await page.reload();
  await badgeIs(page, 'not signed any more');
}

/** What is forged between the service and the page turns the page red; what is missing proves nothing. */
export async function forged_proofs(stage) {  // C4
  if (!await stage.has('audit.checkpoint')) return;
  const log = new SignedLog(stage);
  await log.sign();
  const page = await stage.open('?page=events&from=1');
  await badgeIs(page, 'key is new here');
  await log.grow();
  const answerWith = async (route, change) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.body()) });
  };
  const isCall = (route, method) => (route.request().postData() ?? '').includes(`"${method}"`);
  const forge = async (glob, handler, word) => {
    await page.route(glob, handler);
    await page.reload();
    await badgeIs(page, word);
    await alarms(page);
    await page.unroute(glob);
  };
  // Of a tile that the proof needs, another byte.
  await forge('**/audit/tile/0/**', (route) => answerWith(route, (bytes) => {
    bytes[40] ^= 1;
    return bytes;
  }), 'doesn’t verify');
  // Of the checkpoint, another size, and another signature.
  for (const [from, to] of [[/^(.*?checkpoint":"[^\\]+\\n\d+)/, '$10'], [/(\\n\\n— \S+ \S{20})(.)/, (_, begin, letter) => begin + (letter === 'A' ? 'B' : 'A')]]) {
    await forge('**/rpc', (route) => (isCall(route, 'audit.checkpoint')
      ? answerWith(route, (bytes) => bytes.toString().replace(from, to)) : route.continue()), 'doesn’t verify');
  }
  await page.reload();
  await badgeIs(page, 'proven to #');
  // An event that the service shows otherwise.
  await page.route('**/rpc', (route) => (isCall(route, 'events.read')
    ? answerWith(route, (bytes) => bytes.toString().replace('"actor":"signalbox"', '"actor":"somebody"')) : route.continue()));
  await page.reload();
  await badgeIs(page, 'proven to #');
  await page.locator('.events li', { hasText: 'somebody' }).getByRole('button').click();
  await page.getByText('The record has another actor').waitFor();
  await alarms(page);
  await page.unroute('**/rpc');
  // No tile, no proof, but no forgery either.
  await page.route('**/audit/tile/**', (route) => route.fulfill({ status: 404, contentType: 'application/problem+json', body: '{"code":"POSITION_NOT_FOUND","detail":"gone","details":{},"next_commands":[]}' }));
  await page.reload();
  await badgeIs(page, 'can’t be checked');
  check(await page.locator('.forgery').count() === 0, 'what is missing is called forged');
}

/** A log that was rewritten and signed anew with the same key, one that was set back, and another key. */
export async function a_rewritten_log(stage) {  // C4
  if (!await stage.has('audit.checkpoint')) return;
  const log = new SignedLog(stage);
  const { service } = stage;
  await log.sign();
  await stage.token('operator');
  const before = `${service.data}.before`;
  await log.restart({ change: () => copy(service.data, before) });
  await log.grow(10);
  const visitor = await stage.visitor({ hasAxe: true });
  const page = await stage.open('?page=runs', { visitor });
  await badgeIs(page, 'key is new here');
  const seen = await page.evaluate(() => JSON.parse(localStorage.getItem('signalbox.proof')).size);
  const setBack = () => {
    fs.rmSync(service.data, { recursive: true });
    copy(before, service.data);
  };
  await log.restart({ change: setBack });
  await page.reload();
  await badgeIs(page, 'ends at #');
  await alarms(page);
  // It grows past what the browser has seen: another log, whatever its key says.
  await eventually(async () => {
    await log.grow(5);
    return (await service.call('server.status')).durable_position > seen;
  }, 'a longer log');
  await page.reload();
  await badgeIs(page, 'another log');
  await alarms(page);
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  if (stage.pictures) await page.screenshot({ path: path.join(stage.pictures, 'another-log.png') });
  // Who knows why may begin anew, in a dialog; then another key signs.
  await page.goto(stage.address('?page=audit'));
  await page.getByRole('button', { name: 'Forget what this browser has seen' }).click();
  await page.getByRole('button', { name: 'Forget it' }).click();
  await badgeIs(page, 'key is new here');
  const other = path.join(path.dirname(service.data), 'other.key');
  const verifier = log.tool('audit', 'keygen', '-o', other, '--name', NAME);
  await log.restart({ key: other });
  await page.reload();
  await badgeIs(page, 'signed by another key');
  await page.getByText(verifier).first().waitFor();
  check(await page.locator('.forgery').count() === 0, 'another key is called a forgery');
  await page.getByRole('button', { name: /^Trust example/ }).click();
  await badgeIs(page, 'proven to #');
}

/** Files of an audit are verified in the browser, and not if a byte of them is another one. */
export async function files_of_an_audit(stage) {
  if (!await stage.has('audit.checkpoint')) return;
  const log = new SignedLog(stage);
  const { service } = stage;
  await log.sign();
  const run = await service.startRun('a run to carry away', [['only', 'true']]);
  await service.runIs(run, 'succeeded');
  const place = (name) => path.join(path.dirname(service.data), name);
  log.tool('audit', 'checkpoint', '--signing-key', log.key, '-o', place('then.checkpoint'));
  log.tool('audit', 'prove', '2', '--signing-key', log.key, '-o', place('2.tlog-proof'));
  log.tool('run', 'export', run, '--signing-key', log.key, '-o', place('run.capsule'));
  await log.grow();
  const page = await stage.open('?page=audit');
  await badgeIs(page, 'key is new here');
  const input = page.locator('input[type=file]');
  const verdict = (name, text) => page.locator('.verified li', { hasText: name }).filter({ hasText: text }).first().waitFor();
  const words = { 'then.checkpoint': 'goes on from it unchanged', '2.tlog-proof': 'is in the log', 'run.capsule': 'all as they were recorded' };
  for (const [name, text] of Object.entries(words)) {
    await input.setInputFiles(place(name));
    await verdict(`✔ ${name}`, text);
    const bytes = fs.readFileSync(place(name));
    const forged = place(`forged-${name}`);
    const at = bytes.lastIndexOf(name === '2.tlog-proof' ? 'index' : '=') - 4;
    bytes[at] = bytes[at] === 65 ? 66 : 65;
    fs.writeFileSync(forged, bytes);
    await input.setInputFiles(forged);
    await verdict('✖ forged', name);
  }
  hadNoComplaint(page);
}
