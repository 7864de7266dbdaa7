/** The service's metrics, of which the last minutes are kept while the console is open. */
import { call } from './rpc.js';
import { signal } from '../vendor/signals-core.js';

const PERIOD_MS = 5000;
const KEPT = 180;

/** @typedef {{at: number, values: Map<string, number>}} Sample values by the metric's name, summed over its labels */

export const samples = signal(/** @type {Sample[]} */ ([]));
let isStarted = false;

/** Reads the Prometheus text format. @param {string} text @returns {Map<string, number>} */
export function readMetrics(text) {
  const values = new Map();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/.exec(line);
    if (match) values.set(match[1], (values.get(match[1]) ?? 0) + Number(match[2]));
  }
  return values;
}

async function sample() {
  if (document.hidden) return;
  const { text } = await call('server.metrics');
  samples.value = [...samples.peek(), { at: Date.now() / 1000, values: readMetrics(text) }].slice(-KEPT);
}

/** Begins to keep samples, as long as the console is open. */
export function keepSamples() {
  if (isStarted) return;
  isStarted = true;
  const quietly = () => sample().catch(() => {});  // the connection's state says what is wrong
  setInterval(quietly, PERIOD_MS);
  quietly();
}
