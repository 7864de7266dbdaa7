/** The runs that match a filter, page by page as they are needed, and kept up to date. */
import { useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { LiveAnswer } from './query.js';
import { call } from './rpc.js';

const PAGE_ROWS = 500;

/**
 * Returns the runs of as many pages as were wanted. `more` wants another one.
 * @param {Record<string, string>} filter params of run.list
 * @returns {{rows?: any[], isWhole: boolean, error?: any, more: () => void}}
 */
export function useRunPages(filter) {
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
        const { runs, next_cursor: next } = await call('run.list', { ...filter, limit: PAGE_ROWS, ...(cursor ? { cursor } : {}) });
        rows.push(...runs);
        cursor = next;
      }
      return { rows, isWhole: cursor === null, pages: wanted.current };
    };
    const asked = new LiveAnswer(ask, (event) => event.stream.startsWith('run/'), (answer) => setState({ key, answer }));
    live.current = asked;
    return () => asked.stop();
  }, [key]);
  const { data, error } = state.key === key ? state.answer : {};
  const more = () => {
    if (!data || data.isWhole || data.pages < wanted.current) return;
    wanted.current += 1;
    live.current?.refresh();
  };
  return { rows: data?.rows, isWhole: data?.isWhole ?? false, error, more };
}
