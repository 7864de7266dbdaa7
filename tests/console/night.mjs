// A log with something of everything, for scenes that look at all pages.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { eventually } from './service.mjs';

/** Makes a repository with one commit. Returns its path. */
export function repository(directory) {
  const place = path.join(directory, 'repository');
  fs.mkdirSync(place);
  fs.writeFileSync(path.join(place, 'README.md'), 'a project\n');
  const git = (...words) => execFileSync('git', ['-C', place, ...words]);
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'a');  // whoever runs the tests may have none
  git('config', 'user.email', 'a@localhost');
  git('add', '.');
  git('commit', '-q', '-m', 'begin');
  return place;
}

/**
 * Fills the log of a stage. `text` stands in every field that others can write.
 * Returns the ids of what the pages are about.
 */
export async function fillLog(stage, directory, text = '') {
  const { service } = stage;
  const word = text.slice(0, 40);
  const more = { project: `web ${word}`.trim(), labels: { team: `core ${word}`.trim() } };
  const succeeded = await service.startRun(`bump the library ${text}`, [
    ['implement', `cat <<'END'\n\x1b[31merror\x1b[0m in ${text}\nEND\nprintf '%s' '{"a": 1}' > "$SIGNALBOX_ARTIFACTS_DIR/report.json"`],
    ['verify', 'echo fine'],
  ], more);
  // One after the other, so that the log has everything in this order whenever it is made.
  await service.runIs(succeeded, 'succeeded');
  const failed = await service.startRun(`upload the files ${text}`, [['implement', `cat >&2 <<'END'\n${text}\nEND\nexit 3`]], more);
  await service.runIs(failed, 'failed');
  const asking = await service.startRun(`rewrite the parser ${text}`, [['implement', 'echo done'], ['review'], ['ship', 'true']], more);
  await eventually(async () => (await service.run(asking)).waiting_for === 'approval', 'the question');
  const paused = await service.startRun(`write the notes ${text}`, [['review']], more);
  await service.call('lock.acquire', { key: 'deploy/prod', owner: `bot ${word}`, lease_ms: 600_000, reason: `rolling out ${text}`.slice(0, 1000) });
  await service.call('tick.begin', { loop: 'nightly', lease_ms: 600_000, stage: 'collect', reason: `cron ${word}` });
  await service.call('project.put', { name: 'parser', repository: repository(directory) });
  const { card_id: card } = await service.call('card.submit', {
    project: 'parser', title: `nested quotes ${word}`, brief: `they break ${text}`, immediate: false,
  });
  await service.call('card.block', { card_id: card, reason: `not yet ${text}`.slice(0, 1000) });
  await service.call('run.pause', { run_id: paused, reason: `legal looks at it ${text}`.slice(0, 1000) });
  return { succeeded, failed, asking, paused, card };
}

/**
 * An outside worker does the runs one after the other, each for as long as all needed to arrive, or `eachMs`, however
 * slow the machine is: a second worker would have had work at once. Returns the log's position.
 */
export async function workOutside(service, goals, eachMs = 0) {
  const pipeline = { name: 'outside', station: [{ name: 'work' }] };
  const ids = [];
  const began = Date.now();
  let [token, position] = [0, 0];
  for (const goal of goals) {
    ids.push((await service.call('run.start', { goal, pipeline })).run_id);
    if (ids.length === 1) token = (await service.call('station.claim', { worker: 'me', run_id: ids[0] })).claim.token;
  }
  const workMs = Math.max(eachMs, Date.now() - began + 20);
  for (const [number, id] of ids.entries()) {
    if (number > 0) token = (await service.call('station.claim', { worker: 'me', run_id: id })).claim.token;
    await new Promise((resolve) => setTimeout(resolve, workMs));
    ({ position } = await service.call('station.complete', { run_id: id, station: 'work', token, outcome: 'succeeded' }));
  }
  return position;
}

/** Returns the addresses of all pages, with a text that stands on each. */
export async function allPages(stage, { succeeded, failed, asking, card }) {
  const ofTheNight = await stage.has('timeline.get') ? [['?page=night', 'upload the files'], ['?page=night&group=lock', 'deploy/prod']] : [];
  const ofTheForecast = await stage.has('what_if.run') ? [['?page=whatif&workers=4&from=24h', 'first arrival to last end']] : [];
  const ofTheAudit = await stage.has('audit.checkpoint') ? [['?page=audit', 'Verify a file']] : [];
  return [
    ...ofTheNight, ...ofTheForecast, ...ofTheAudit,
    ['?page=inbox', 'Needs you'], ['?page=compare&vs=2', 'What changed'], ['?page=board', 'Board'], ['?page=runs', 'Runs'], ['?page=loops', 'Loops of the service'],
    ['?page=events', 'RunStarted'], ['?page=events&from=1', 'ServerStarted'], ['?page=projects', 'parser'],
    ['?page=projects&name=parser', 'Policy in force'], ['?page=server', 'state digest'], [`?page=card&id=${card}`, 'History'],
    [`?page=run&id=${succeeded}`, 'implement'], [`?page=run&id=${failed}&tab=output&stream=stderr`, 'first error'], [`?page=run&id=${asking}&tab=change`, 'waits for your decision'],
    [`?page=run&id=${succeeded}&tab=artifacts`, 'report.json'], [`?page=run&id=${succeeded}&tab=events`, 'RunSucceeded'],
    [`?page=run&id=${failed}&tab=why`, 'caused by'],
  ];
}
