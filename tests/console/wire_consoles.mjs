// So many consoles without their browsers: fork wire_consoles.mjs ADDRESS SECRET COUNT
//
// Each reads the stream of events, as a browser does, and asks what a page with all runs asks, as often as
// that while events go on. What comes is counted and thrown away. Says "ready" once all streams are open and
// each question was answered once, as in pages that have been open for a while; to "end" it answers with what
// it counted.
import http from 'node:http';
import { PAUSE_MS_MAX, waitMs } from '../../server/console/core/freshness.js';

/** The page of all runs, and what is on every page (parts/shell.js, pages/runs.js). */
const QUESTIONS = [
  ['run.list', { limit: 100 }],
  ['run.list', { totals: true, limit: 1 }],
  ['attention.list', { limit: 1 }],
];
/** The way to the service and back. */
const WAY_MS = 1;
const counted = { asked: 0, bytes: 0, positions: [] };
const [address, secret, count] = process.argv.slice(2);
const [host, port] = address.split(':');
const headers = { Authorization: `Bearer ${secret}`, 'Accept-Encoding': 'gzip' };

function follow(number) {
  let rest = '';
  return new Promise((resolve, reject) => {
    http.get({ host, port, path: '/v1/events?fields=summary&per_second_max=2000', headers, agent: false }, (response) => {
      response.on('data', (bytes) => {
        counted.bytes += bytes.length;
        rest = (rest + bytes.toString('latin1', Math.max(0, bytes.length - 4096))).slice(-8192);
        counted.positions[number] = Number([...rest.matchAll(/^id: (\d+)\n/gm)].at(-1)?.[1] ?? counted.positions[number] ?? 0);
      });
      resolve();
    }).on('error', reject);
  });
}

/** Asks a question again and again: something has changed all the time for a while. Calls `answered` each time. */
async function keepAsking(agent, [method, params], answered) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  await new Promise((resolve) => setTimeout(resolve, Math.random() * PAUSE_MS_MAX));
  for (let quickestMs = Infinity; ;) {
    const began = performance.now();
    await new Promise((resolve, reject) => {
      const request = http.request({ host, port, agent, path: '/rpc', method: 'POST', headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': body.length } },
        (response) => response.resume().on('end', resolve));
      request.on('error', reject).end(body);
    });
    counted.asked += 1;
    answered();
    const tookMs = performance.now() - began;
    quickestMs = Math.min(quickestMs, tookMs, WAY_MS);
    await new Promise((resolve) => setTimeout(resolve, waitMs(PAUSE_MS_MAX, 0, tookMs - quickestMs, params)));
  }
}

const firstAnswers = [];
for (let number = 0; number < Number(count); ++number) {
  await follow(number);
  const agent = new http.Agent({ keepAlive: true });
  for (const question of QUESTIONS) {
    firstAnswers.push(new Promise((answered, failed) => { keepAsking(agent, question, answered).catch(failed); }));
  }
}
await Promise.all(firstAnswers);
process.on('message', () => process.send({ ...counted, oldest: Math.min(...counted.positions) }, () => process.exit(0)));
process.send('ready');
