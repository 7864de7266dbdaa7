// An evening with a project and a board, a crash and runs of all kinds, for the pictures of the guide.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { eventually } from './service.mjs';

const POLICY = `# How agents work here

## Constraints
- maxConcurrentAgents: 2
- maxConcurrentAgentsPerProject: 2
- maxAttempts: 1

## Builder
- [x] processBacklog

## Synthesizer
- [x] mergeVerified
`;

/** Stands in for a coding agent: does what the card's title says, and works on some until the scene ends. */
const agentOf = (/** @type {string} */ directory) => `#!/bin/sh
echo "reading the brief: $SIGNALBOX_GOAL"
sleep 1
case $SIGNALBOX_GOAL in
  Translate*) printf 'Bonjour\\n' >greeting.txt ;;
  Shout*) printf 'HELLO\\n' >greeting.txt ;;
  Document*) printf '# Site\\n\\nIt says hello.\\n\\n## Running it\\n\\n    cat greeting.txt\\n' >README.md ;;
  Draw* | Record*) echo 'this will take a while'; while [ -d '${directory}' ]; do sleep 0.2; done ;;
  *) echo "error: nobody here can sing" >&2; exit 1 ;;
esac
echo done
`;

/** Makes the project's repository, with a bare remote. Returns its path. */
function site(/** @type {string} */ directory) {
  const place = path.join(directory, 'site');
  fs.mkdirSync(place);
  fs.writeFileSync(path.join(place, 'greeting.txt'), 'Hello\n');
  fs.writeFileSync(path.join(place, 'README.md'), '# Site\n');
  fs.writeFileSync(path.join(place, 'HEARTBEAT.md'), POLICY);
  const git = (/** @type {string[]} */ ...words) => execFileSync('git', ['-C', place, ...words], { stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Site');
  git('config', 'user.email', 'site@localhost');
  git('add', '.');
  git('commit', '-q', '-m', 'A greeting');
  git('clone', '-q', '--bare', place, path.join(directory, 'site.git'));
  git('remote', 'add', 'origin', path.join(directory, 'site.git'));
  return place;
}

async function submit(/** @type {any} */ service, /** @type {string} */ title, brief = '') {
  return (await service.call('card.submit', { project: 'site', title, ...(brief && { brief }) })).card_id;
}

/** Ticks both loops of the board until no card is at work or can begin. */
async function playBoard(/** @type {any} */ service, /** @type {string[]} */ cards) {
  const ended = ['merged', 'blocked', 'failed'];
  await eventually(async () => {
    const found = await Promise.all(cards.map((card_id) => service.call('card.get', { card_id })));
    if (found.every(({ card }) => ended.includes(card.status))) return true;
    for (const loop of ['heartbeat', 'synthesizer']) await service.call('loop.trigger', { loop });
    await new Promise((resolve) => setTimeout(resolve, 250));
    return false;
  }, 'the end of the cards');
}

/** Plays the evening. Returns the ids of what the pages are about. */
export async function playEvening(/** @type {any} */ stage, /** @type {string} */ directory) {
  const { service } = stage;
  const agent = path.join(directory, 'agent');
  fs.writeFileSync(agent, agentOf(directory), { mode: 0o755 });
  const once = { retry: { max_retries: 0 } };
  await service.call('project.put', {
    name: 'site', repository: site(directory), remote: 'origin',
    pipeline: { name: 'card', station: [
      { name: 'intake', executor: 'builtin' }, { name: 'implement', executor: 'process', command: [agent], ...once },
      { name: 'verify', executor: 'checks', checks: [{ name: 'it greets', command: ['test', '-s', 'greeting.txt'] }] },
      { name: 'create_pr', executor: 'builtin' },
    ] },
  });
  const cards = [
    await submit(service, 'Translate the greeting', 'Our guests speak French.'),
    await submit(service, 'Shout the greeting'),
    await submit(service, 'Document the greeting', 'Say in the README what the site is and how it is run.'),
    await submit(service, 'Sing the greeting', 'In C major.'),
  ];
  await service.startRun('Update the TLS library', [['build', 'sleep 0.4; echo built'], ['test', 'sleep 0.8; echo "212 tests passed"']], { project: 'infra' });
  const failed = await service.startRun('Import the address book', [
    ['fetch', 'sleep 0.3; echo "8,211 rows"'],
    ['load', 'echo "connecting to the database"; sleep 0.5; echo "error: row 4,117: the postcode has 6 digits" >&2; exit 3',
      { retry: { max_retries: 1 } }],
  ], { project: 'data' });
  await playBoard(service, cards);

  // The server is killed under a job, which goes on; the next server adopts it.
  const begun = path.join(directory, 'begun');
  const adopted = await service.startRun('Rebuild the search index', [
    ['export', 'sleep 0.4; echo exported'], ['index', `touch '${begun}'; sleep 2.5; echo "31,200 documents"`], ['swap', 'echo swapped'],
  ], { project: 'search' });
  await eventually(() => fs.existsSync(begun), 'the job');
  await service.kill();
  await service.start();
  await service.runIs(adopted, 'succeeded');

  const asking = await service.startRun('Release 1.4', [['build', 'sleep 0.6; echo "built release 1.4"'], ['sign_off'], ['publish', 'true']], { project: 'site' });
  const paused = await service.startRun('Delete old accounts', [['review'], ['delete', 'true']], { project: 'data' });
  await service.call('run.pause', { run_id: paused, reason: 'legal looks at it' });
  await service.call('lock.acquire', { key: 'deploy/prod', owner: 'release bot', lease_ms: 600_000, reason: 'rolling out 1.3' });
  await service.call('tick.begin', { loop: 'nightly-report', lease_ms: 600_000, stage: 'collect', reason: 'cron' });
  const working = [await submit(service, 'Draw a banner'), await submit(service, 'Record the greeting'), await submit(service, 'Count the visitors')];
  await eventually(async () => {
    const found = await Promise.all(working.slice(0, 2).map((card_id) => service.call('card.get', { card_id })));
    return found.every(({ card }) => card.status === 'running');
  }, 'agents at work');
  await eventually(async () => (await service.run(asking)).waiting_for === 'approval', 'the question');

  const documented = (await service.call('card.get', { card_id: cards[2] })).card;
  return { adopted, failed, asking, card: cards[3], change: documented.run_id };
}
