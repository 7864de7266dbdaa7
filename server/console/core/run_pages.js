/**
 * The runs that match a filter, page by page as they are needed, and kept up to date: what changed is
 * asked for again by the pages that have it, however many there are.
 */
import { useLayoutEffect, useRef, useState } from '../vendor/htm-preact.js';
import { moment } from './past.js';
import { LiveAnswer } from './query.js';
import { call } from './rpc.js';
import { useSignal } from './use_signal.js';

const PAGE_ROWS = 500;
/** More than a window shows: they are there sooner, and asked for again more cheaply. */
const FIRST_ROWS = 100;
/** The service looks at so many runs for a page and no more: of a filter that few match, pages may be empty. So many of them are passed at a time. */
const EMPTY_PAGES_MAX = 5;

/**
 * Asks for the next page of runs that has any. Its position is that of the first page that was looked at.
 * @param {Record<string, any>} params of run.list @param {AbortSignal} [abort]
 * @returns {Promise<{runs: any[], next_cursor: string | null, position: number}>}
 */
export async function nextRuns(params, abort) {
  let page = await call('run.list', params, abort);
  const { position } = page;
  for (let passed = 0; page.runs.length === 0 && page.next_cursor !== null && passed < EMPTY_PAGES_MAX; ++passed) {
    page = await call('run.list', { ...params, cursor: page.next_cursor }, abort);
  }
  return { ...page, position };
}

/**
 * @typedef {{cursor: number | null, rows: any[], next: number | null, position: number}} Page the runs that
 *   started before the position `cursor` (null: all) and not before `next` (null: the first one), as of `position`
 */

export class RunPages {
  /** @param {Record<string, any>} filter params of run.list @param {number} [pageRows] */
  constructor(filter, pageRows = PAGE_ROWS) {
    this.filter = filter;
    this.pageRows = pageRows;
    this.firstRows = Math.min(FIRST_ROWS, pageRows);
    this.pages = /** @type {Page[]} */ ([]);
    this.changed = /** @type {Set<string>} */ (new Set());
    this.notedTo = 0;
    this.isAllOld = false;
    this.isAdding = false;
  }

  /** Notes that an event may have changed a run. @param {LogEvent} event */
  note(event) {
    this.notedTo = Math.max(this.notedTo, event.position);
    if (event.stream === 'server') this.isAllOld = true;
    else if (event.stream.startsWith('run/')) this.changed.add(event.stream.slice(4));
    else return false;
    // Any run, also of a page that doesn't have it yet, may begin to match.
    if (['status', 'waiting_for', 'station', 'code'].some((name) => this.filter[name])) this.isAllOld = true;
    return true;
  }

  /** @param {number | null} cursor @returns {Promise<Page>} */
  async ask(cursor) {
    const { runs, next_cursor: next, position } = await nextRuns({ ...this.filter, limit: cursor === null ? this.firstRows : this.pageRows, ...(cursor === null ? {} : { cursor: String(cursor) }) });
    return { cursor, rows: runs, next: next === null ? null : Number(next), position };
  }

  /** Asks for a page's runs again, of which there may be more or fewer now. @param {Page} page */
  async askAgain({ cursor, next }) {
    const rows = [];
    let from = cursor;
    let position = Infinity;
    for (;;) {
      const page = await this.ask(from);
      position = Math.min(position, page.position);
      rows.push(...page.rows);
      if (page.next === null || (next !== null && page.next <= next)) break;
      from = page.next;
    }
    return { cursor, next, position, rows: next === null ? rows : rows.filter((run) => run.started_position >= next) };
  }

  /**
   * Loads the first page, or brings all pages up to date. What was noted before is in the result, and what
   * happened up to its `position`; of pages that weren't asked for again that is no more than what was noted.
   */
  async load() {
    const { changed, isAllOld, notedTo } = this;
    this.changed = new Set();
    this.isAllOld = false;
    if (this.pages.length === 0) {
      this.pages = [await this.ask(null)];
      return { ...this.result(), position: this.pages[0].position };
    }
    let position = Infinity;
    try {
      for (let index = 0; index < this.pages.length; ++index) {
        const page = this.pages[index];
        const isOld = index === 0 || isAllOld || page.rows.some(({ run_id: id }) => changed.has(id));
        if (isOld) this.pages[index] = await this.askAgain(page);
        position = Math.min(position, isOld ? this.pages[index].position : notedTo);
      }
    } catch (error) {
      this.isAllOld = true;
      throw error;
    }
    this.split();
    return { ...this.result(), position };
  }

  /** New runs make the first page grow, until it has another page's runs too. */
  split() {
    const [{ cursor, rows, next, position }] = this.pages;
    if (rows.length < this.firstRows + this.pageRows) return;
    const border = rows[this.firstRows - 1].started_position;
    this.pages.splice(0, 1, { cursor, rows: rows.slice(0, this.firstRows), next: border, position }, { cursor: border, rows: rows.slice(this.firstRows), next, position });
  }

  /** Adds the next page. Returns whether there was one. */
  async more() {
    const last = this.pages.at(-1);
    if (!last || last.next === null || this.isAdding) return false;
    this.isAdding = true;
    try {
      this.pages.push(await this.ask(last.next));
      return true;
    } finally {
      this.isAdding = false;
    }
  }

  result() {
    return { rows: this.pages.flatMap(({ rows }) => rows), isWhole: this.pages.at(-1)?.next === null };
  }
}

/**
 * Returns the runs of as many pages as were wanted. `more` wants another one. Of another moment the runs
 * before stay until the new ones are there: that is `isOld`.
 * @param {Record<string, string>} filter params of run.list
 * @returns {{rows?: any[], isWhole: boolean, isOld: boolean, error?: any, more: () => void}}
 */
export function useRunPages(filter) {
  const at = useSignal(moment);
  const asked = at === null ? filter : { ...filter, at };
  const key = JSON.stringify(asked);
  const present = useRef(/** @type {RunPages | null} */ (null));
  const question = JSON.stringify(filter);
  const [state, setState] = useState({ key, question, answer: /** @type {any} */ ({}) });
  useLayoutEffect(() => {
    const pages = new RunPages(asked);
    present.current = pages;
    const live = new LiveAnswer(() => pages.load(), (event) => at === null && pages.note(event), (answer) => setState({ key, question, answer }), at !== null);
    live.onBack = () => { pages.isAllOld = true; };
    return () => live.stop();
  }, [key]);
  const { data, error } = state.question === question ? state.answer : {};
  const more = () => {
    const pages = present.current;
    pages?.more().then((isMore) => isMore && present.current === pages && setState({ key, question, answer: { data: pages.result() } }), () => {});
  };
  return { rows: data?.rows, isWhole: data?.isWhole ?? false, isOld: state.key !== key, error, more };
}
