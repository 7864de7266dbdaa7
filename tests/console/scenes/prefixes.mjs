// What the console shows of a recorded log at each position.
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { playEvening } from '../evening.mjs';
import { eventually } from '../service.mjs';
import { check, hadNoComplaint } from '../stage.mjs';
import { StoppedLog } from '../stopped_log.mjs';
import { hasTurn, inTurn, triesAll } from '../turns.mjs';

const PREFIXES = fileURLToPath(new URL('../prefixes.mjs', import.meta.url));
const SEEDS = [7, 19];  // in turns: half a minute each
const MOMENTS = 5;

/** Tries every prefix of a log, without a browser. */
const tryPrefixes = (binary, data) => promisify(execFile)(process.execPath, [PREFIXES, binary, data]).catch(({ stdout, message }) => {
  throw new Error(stdout || message);
});

/** Two runs in three try a simulated log, the others that of the evening. */
const PREFIX_TURNS = 3;

/** What the simulator recorded, with its crashes, quotas, locks, lost jobs and full disks. */
export async function each_prefix_of_simulated_logs(stage) {  // C7
  const simulate = path.join(path.dirname(stage.service.binary), 'simulate');
  for (const seed of inTurn(SEEDS, SEEDS.length)) {
    const data = path.join(path.dirname(stage.service.data), `seed${seed}`);
    execFileSync(simulate, ['--seed', seed, '--seeds', '1', '--steps', '4000', '--log', data], { stdio: 'pipe' });
    await tryPrefixes(stage.service.binary, data);
  }
}

each_prefix_of_simulated_logs.isLong = true;
each_prefix_of_simulated_logs.hasTurn = !hasTurn(PREFIX_TURNS) || triesAll;

/** What a real server recorded; and some moments of it in the browser. */
export async function each_prefix_of_an_evening(stage) {  // C7
  const { service } = stage;
  await playEvening(stage, path.dirname(service.data));
  await service.kill();
  await tryPrefixes(service.binary, service.data);
  const log = new StoppedLog(service.binary, service.data);
  await log.open();
  try {
    const digests = log.digests();
    const page = await (await stage.visitor()).newPage();
    await page.goto(`${log.address}#t=${log.secret}`);
    await page.getByText('■ stopped log').waitFor();
    for (let moment = 1; moment <= MOMENTS; ++moment) {
      const at = Math.ceil((moment * log.tail) / MOMENTS);
      await stage.turn(page, `?page=server&at=${at}`, digests.get(at).slice(0, 16));
      const printed = execFileSync(service.binary, ['--data', service.data, '--json', 'run', 'list', '--at', at], { encoding: 'utf8' });
      const runs = JSON.parse(printed).result.runs.map(({ goal, status }) => `${status} ${goal}`);
      await stage.turn(page, `?page=runs&at=${at}`, 'Runs');
      await eventually(async () => {
        const rows = await page.locator('.virtual-row').evaluateAll((all) => all.map((row) =>
          `${row.querySelector('.c-status').lastChild.lastChild.textContent.trim()} ${row.querySelector('.c-goal').textContent}`));
        return JSON.stringify(rows) === JSON.stringify(runs);
      }, `the runs at ${at}: ${runs}`);
    }
    hadNoComplaint(page);
  } finally {
    await log.close();
    fs.rmSync(path.join(path.dirname(service.data), 'site'), { recursive: true });
  }
}
each_prefix_of_an_evening.hasTurn = hasTurn(PREFIX_TURNS);
each_prefix_of_an_evening.isLong = true;
