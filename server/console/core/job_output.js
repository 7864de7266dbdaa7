/**
 * The output of an attempt, in ranges of run.log: its end first, earlier parts when they are wanted,
 * and what is added while the job runs. Output isn't of the log, so no event says that there is more
 * of it: it is asked for, once a second, while somebody looks.
 */
import { useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { call } from './rpc.js';

const RANGE_BYTES = 262_144;
/** What a job goes on printing for days isn't kept all here. */
const KEPT_CHARACTERS_MAX = 16_000_000;
const POLL_MS = 1000;

const LINE_BYTES_MAX = 8192;

/**
 * Returns the last line that a run's job has printed so far; an empty one if none is at work.
 * @param {string} runId @param {AbortSignal} abort @returns {Promise<string>}
 */
export async function lastLine(runId, abort) {
  const { end, running } = await call('run.log', { run_id: runId, offset: 0, bytes: 1 }, abort);
  if (!running || end === 0) return '';
  const { text } = await call('run.log', { run_id: runId, offset: Math.max(0, end - LINE_BYTES_MAX), bytes: LINE_BYTES_MAX }, abort);
  return text.trimEnd().split('\n').at(-1) ?? '';
}

/** Stands for bytes that the service doesn't keep. @param {number} bytes */
const gapOf = (bytes) => (bytes > 0 ? `\n… ${bytes} bytes aren't kept …\n` : '');

/** @param {Output} output @param {any} more the answer for the bytes after it @returns {Output} */
function appended(output, more) {
  const text = output.text + gapOf(more.offset - output.next) + more.text;
  const kept = text.length > KEPT_CHARACTERS_MAX ? { from: more.offset, text: more.text } : { from: output.from, text };
  return { ...output, ...kept, next: more.next_offset, end: more.end, running: more.running };
}

/**
 * Returns the output so far; `whole` asks for all before it that the service keeps, which is little, and returns the text then.
 * @param {{run_id: string, station?: string, attempt?: number, stream: string}} which
 * @returns {{output?: Output, error?: any, whole: () => Promise<string>}}
 */
export function useJobOutput(which) {
  const key = JSON.stringify(which);
  const [state, setState] = useState({ key, output: /** @type {Output | undefined} */ (undefined), error: /** @type {any} */ (undefined) });
  const latest = useRef(/** @type {Output | undefined} */ (undefined));
  const set = (/** @type {Output | undefined} */ output, /** @type {any} */ error = undefined) => {
    latest.current = output;
    setState({ key, output, error });
  };
  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    const follow = async () => {
      try {
        const output = latest.current;
        if (!output) {
          const { end } = await call('run.log', { ...which, offset: 0, bytes: 1 }, ended.signal);
          const first = await call('run.log', { ...which, offset: Math.max(0, end - RANGE_BYTES), bytes: RANGE_BYTES }, ended.signal);
          set({ from: first.offset, next: first.next_offset, end: first.end, text: first.text, running: first.running, station: first.station, attempt: first.attempt });
        } else if (!document.hidden) {
          const more = await call('run.log', { ...which, offset: output.next, bytes: RANGE_BYTES }, ended.signal);
          if (more.bytes > 0 || more.running !== output.running) set(appended(output, more));
        }
      } catch (error) {
        if (ended.signal.aborted) return;
        set(latest.current, error);
      }
      const { current } = latest;
      if (!current || current.running || current.next < current.end) timer = setTimeout(follow, POLL_MS);
    };
    latest.current = undefined;
    follow();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [key]);
  const before = async (/** @type {number} */ end) => {
    let text = '';
    for (let offset = 0; offset < end;) {
      const part = await call('run.log', { ...which, offset, bytes: Math.min(RANGE_BYTES, end - offset) });
      text += gapOf(Math.min(part.offset, end) - offset);
      // Of what isn't kept the answer goes on behind it; of half a character there is none.
      if (part.offset >= end || part.next_offset <= offset) break;
      text += part.text;
      offset = part.next_offset;
    }
    return text;
  };
  const whole = async () => {
    const { from = 0 } = latest.current ?? {};
    try {
      const text = from > 0 ? await before(from) : '';
      const { current } = latest;
      // Meanwhile more was added, or somebody else has asked for it, too.
      if (current && from > 0 && current.from === from) set({ ...current, from: 0, text: text + current.text });
    } catch (error) {
      set(latest.current, error);
    }
    return latest.current?.text ?? '';
  };
  return { ...(state.key === key ? { output: state.output, error: state.error } : {}), whole };
}
