/** The runs that match a filter, page by page as they are needed, and kept up to date. */
import { useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { moment } from './past.js';
import { LiveAnswer } from './query.js';
import { call } from './rpc.js';
import { useSignal } from './use_signal.js';

const PAGE_ROWS = 500;

/**
 * Returns the runs of as many pages as were wanted. `more` wants another one.
 * @param {Record<string, string>} filter params of run.list
 * @returns {{rows?: any[], isWhole: boolean, error?: any, more: () => void}}
 */
export function useRunPages(filter) {
  const at = useSignal(moment);
  const asked = at === null ? filter : { ...filter, at };
  const key = JSON.stringify(filter);
  const wanted = useRef(1);
  const live = useRef(/** @type {LiveAnswer | null} */ (null));
  const [state, setState] = useState({ key, answer: /** @type {any} */ ({}) });
  useEffect(() => {
    wanted.current = 1;
    const ask = async () => {
      const rows = [];
      let cursor;
      for (let page = 0; page < wanted.current && cursor !== null; ++page) {
        const { runs, next_cursor: next } = await call('run.list', { ...asked, limit: PAGE_ROWS, ...(cursor ? { cursor } : {}) });
        rows.push(...runs);
        cursor = next;
      }
      return { rows, isWhole: cursor === null, pages: wanted.current };
    };
    const answered = new LiveAnswer(ask, (event) => at === null && event.stream.startsWith('run/'), (answer) => setState({ key, answer }));
    live.current = answered;
    return () => answered.stop();
  }, [key, at]);
  const { data, error } = state.key === key ? state.answer : {};
  const more = () => {
    if (!data || data.isWhole || data.pages < wanted.current) return;
    wanted.current += 1;
    live.current?.refresh();
  };
  return { rows: data?.rows, isWhole: data?.isWhole ?? false, error, more };
}
