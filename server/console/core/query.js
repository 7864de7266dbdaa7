/**
 * Queries that keep themselves up to date: an answer is asked for again when an event arrives that
 * may have changed it, when the connection is back, and when the page becomes visible. The last
 * answer stays on screen meanwhile, also while the service is away.
 */
import { useLayoutEffect, useState } from '../vendor/htm-preact.js';
import { concernsOf } from './concerns.js';
import { connection, onEvents } from './live.js';
import { moment } from './past.js';
import { call } from './rpc.js';
import { useSignal } from './use_signal.js';

/** @typedef {import('./event_stream.js').LogEvent} LogEvent */

const PAUSE_MS_MIN = 250;
/** A query that takes long is asked again more rarely: at most this part of the time is spent on it. */
const LOAD_MAX = 0.2;

/** An answer that is asked for again and again, until stop(). */
export class LiveAnswer {
  /**
   * @param {() => Promise<any>} ask
   * @param {(event: LogEvent) => boolean} concerns whether an event may change the answer
   * @param {(answer: {data?: any, error?: any}) => void} onAnswer
   */
  constructor(ask, concerns, onAnswer) {
    this.ask = ask;
    this.onAnswer = onAnswer;
    /** @type {{data?: any, error?: any}} */
    this.answer = {};
    /** Called before the answer is asked for again because events may have been missed. */
    this.onBack = () => {};
    this.isAsking = false;
    this.isDue = false;
    this.isStopped = false;
    this.pauseMs = PAUSE_MS_MIN;
    this.endEvents = onEvents((events) => {
      // Each is looked at: an answer in parts notes which of them are concerned.
      if (events.filter(concerns).length > 0) this.refresh();
    });
    let { state, missed } = connection.peek();
    this.endConnection = connection.subscribe((now) => {
      const isBack = now.state === 'live' && (state !== 'live' || now.missed !== missed);
      ({ state, missed } = now);
      if (!isBack) return;
      this.onBack();
      this.refresh();
    });
    this.onVisible = () => {
      if (!document.hidden && this.isDue) this.run();
    };
    document.addEventListener('visibilitychange', this.onVisible);
    this.run();
  }

  /** Asks again soon, once for all reasons that come together. */
  refresh() {
    if (this.isDue || this.isStopped) return;
    this.isDue = true;
    if (!this.isAsking) setTimeout(() => this.run(), this.pauseMs);
  }

  async run() {
    if (this.isStopped || this.isAsking || (document.hidden && this.answer.data)) return;
    this.isAsking = true;
    this.isDue = false;
    const began = performance.now();
    try {
      this.answer = { data: await this.ask() };
    } catch (error) {
      this.answer = { data: this.answer.data, error };
    }
    this.isAsking = false;
    this.pauseMs = Math.max(PAUSE_MS_MIN, (performance.now() - began) / LOAD_MAX);
    if (this.isStopped) return;
    this.onAnswer(this.answer);
    if (this.isDue) setTimeout(() => this.run(), this.pauseMs);
  }

  stop() {
    this.isStopped = true;
    this.endEvents();
    this.endConnection();
    document.removeEventListener('visibilitychange', this.onVisible);
  }
}

const never = () => false;
/** They have no past: `at` is refused. */
const OF_THE_PRESENT = ['run.diff', 'run.log'];

/**
 * Returns the present answer to a query: `data` is undefined until there is one, `error` is why the
 * latest attempt failed. A null method asks nothing.
 * @param {string | null} method
 * @param {Record<string, any>} params
 * @param {string | null} [at] the moment that is asked about, instead of the present
 * @returns {{data?: any, error?: import('./rpc.js').Refusal, refresh: () => void}}
 */
export function usePresentQuery(method, params = {}, at = null) {
  const question = `${method} ${JSON.stringify(params)}`;
  const [state, setState] = useState({ question, answer: {}, refresh: () => {} });
  // At once, not after the next picture.
  useLayoutEffect(() => {
    if (method === null) return undefined;
    const live = new LiveAnswer(
      () => call(method, at === null ? params : { ...params, at }),
      at === null ? concernsOf(method, params) : never,
      (answer) => setState({ question, answer, refresh: () => live.refresh() }),
    );
    return () => live.stop();
  }, [question, at]);
  // Of another moment the answer before stays until the new one is there.
  return state.question === question ? { ...state.answer, refresh: state.refresh } : { refresh: () => {} };
}

/**
 * The same as of the moment on screen.
 * @param {string | null} method
 * @param {Record<string, any>} params
 */
export function useQuery(method, params = {}) {
  const at = useSignal(moment);
  return usePresentQuery(method, params, method && OF_THE_PRESENT.includes(method) ? null : at);
}
