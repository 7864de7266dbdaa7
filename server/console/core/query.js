/**
 * Queries that keep themselves up to date: an answer is asked for again when an event that may have
 * changed it happened after the answer's position, when the connection is back, and when the page
 * becomes visible. The last answer stays on screen meanwhile, also while the service is away.
 */
import { useLayoutEffect, useState } from '../vendor/htm-preact.js';
import { concernsOf, isOfItsPosition } from './concerns.js';
import { Freshness, nextPause, PAUSE_MS_MIN, RETRY_MS_MAX, waitMs } from './freshness.js';
import { connection, onEvents } from './live.js';
import { moment } from './past.js';
import { answeredPosition, call, ownCommand, quickest } from './rpc.js';
import { useSignal } from './use_signal.js';

/** After a command of the user's own its effect is about to come. */
const OWN_COMMAND_MS = 3000;

/**
 * The service answers questions about the past one after the other. A moment that was left again
 * before its turn isn't asked about: who drags along the bar waits for the last one only.
 */
let pastTurn = Promise.resolve();

function askInTurn(/** @type {LiveAnswer} */ live) {
  const turn = pastTurn.then(() => (live.isStopped ? undefined : live.ask()));
  pastTurn = turn.then(() => {}, () => {});
  return turn;
}

/** Refusals that are of the moment, and say nothing about the question. */
const OF_THE_MOMENT = ['UNREACHABLE', 'STORAGE_AWAY', 'OVERLOADED', 'SHUTTING_DOWN', 'UNKNOWN_OUTCOME', 'READ_MODELS_REBUILDING'];

/** An answer that is asked for again and again, until stop(). */
export class LiveAnswer {
  /**
   * @param {() => Promise<any>} ask returns an answer; one without `position` has what happened before it was asked for
   * @param {(event: LogEvent) => boolean} concerns whether an event may change the answer
   * @param {(answer: {data?: any, error?: any}) => void} onAnswer @param {boolean} [isPast] whether it is as of a moment of the past
   * @param {Record<string, any>} [params] of the question
   */
  constructor(ask, concerns, onAnswer, isPast = false, params = {}) {
    this.ask = ask;
    this.isPast = isPast;
    this.params = params;
    this.onAnswer = onAnswer;
    this.answer = /** @type {{data?: any, error?: any}} */ ({});
    /** Called before the answer is asked for again because events may have been missed. */
    this.onBack = () => {};
    this.isAsking = false;
    this.isDue = false;
    this.isStopped = false;
    this.isOfItsPosition = true;
    this.freshness = new Freshness();
    this.pauseMs = PAUSE_MS_MIN;
    this.retryMs = PAUSE_MS_MIN;
    this.costMs = 0;
    this.answeredAt = -Infinity;
    this.endEvents = onEvents((events) => {
      // Each is looked at: an answer in parts notes which of them are concerned.
      const newest = events.filter(concerns).at(-1);
      if (newest) this.changed(Number(newest.position));
    });
    let before = connection.peek();
    this.endConnection = connection.subscribe((now) => {
      this.follow(before, now);
      before = now;
    });
    this.onVisible = () => {
      if (!document.hidden && this.isDue) this.run();
    };
    document.addEventListener('visibilitychange', this.onVisible);
    this.run();
  }

  /** Asks again if the service was away, or if events that the answer doesn't have weren't told. @param {Connection} before @param {Connection} now */
  follow(before, now) {
    if (now.state !== 'live') return;
    const isFirst = before.state === 'connecting';
    const isBack = before.state !== 'live' && (!isFirst || Boolean(this.answer.error));
    const isBehind = !this.isPast && (isFirst || now.missed !== before.missed);
    if (!isBack && !isBehind) return;
    // Who joins a stream, or missed some of it, wasn't told what happened up to its position.
    if (!isBack && now.position > 0 && now.position <= this.freshness.coveredTo) return;
    this.onBack();
    if (isBack || now.position === 0) this.refresh();
    else this.changed(now.position);
  }

  /** Asks again if that isn't in the answer. @param {number} position */
  changed(position) {
    this.freshness.change(position);
    // While a question is under way, its answer decides.
    if (!this.isAsking && this.freshness.isOld) this.refresh();
  }

  /** Asks again soon, once for all reasons that come together. */
  refresh() {
    if (this.isDue || this.isStopped) return;
    this.isDue = true;
    if (!this.isAsking) this.runSoon();
  }

  runSoon() {
    const at = performance.now();
    const quietMs = at - this.answeredAt;
    const isOwn = at - ownCommand.at < OWN_COMMAND_MS;
    this.pauseMs = isOwn ? PAUSE_MS_MIN : nextPause(this.pauseMs, quietMs);
    setTimeout(() => this.run(), isOwn ? this.pauseMs : waitMs(this.pauseMs, quietMs, this.costMs, this.params));
  }

  async run() {
    if (this.isStopped || this.isAsking || (document.hidden && this.answer.data)) return;
    this.isAsking = true;
    this.isDue = false;
    this.freshness.ask(Math.max(answeredPosition.peek(), connection.peek().position));
    const began = performance.now();
    try {
      this.answer = { data: await (this.isPast ? askInTurn(this) : this.ask()) };
    } catch (error) {
      this.answer = { data: this.answer.data, error };
    }
    this.isAsking = false;
    if (this.answer.error) this.freshness.answer(0);
    else this.freshness.answer(this.isOfItsPosition ? this.answer.data?.position : undefined);
    this.isDue ||= this.freshness.isOld;
    this.answeredAt = performance.now();
    this.costMs = Math.max(0, this.answeredAt - began - quickest.ms);
    if (this.isStopped) return;
    this.onAnswer(this.answer);
    if (this.isToBeRetried()) this.retry();
    else if (this.isDue) this.runSoon();
  }

  /** While the stream is away, its return has the question asked again. */
  isToBeRetried() {
    if (OF_THE_MOMENT.includes(this.answer.error?.code) && connection.peek().state === 'live') return true;
    this.retryMs = PAUSE_MS_MIN;
    return false;
  }

  retry() {
    this.isDue = true;
    setTimeout(() => this.run(), Math.max(this.retryMs, this.answer.error.details.retry_after_ms ?? 0));
    this.retryMs = Math.min(2 * this.retryMs, RETRY_MS_MAX);
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
 * @param {string | null} method @param {Record<string, any>} params
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
      at !== null,
      params,
    );
    live.isOfItsPosition = isOfItsPosition(method);
    return () => live.stop();
  }, [question, at]);
  // Of another moment the answer before stays until the new one is there.
  return state.question === question ? { ...state.answer, refresh: state.refresh } : { refresh: () => {} };
}

/** The same as of the moment on screen. @param {string | null} method @param {Record<string, any>} params */
export function useQuery(method, params = {}) {
  const at = useSignal(moment);
  return usePresentQuery(method, params, method && OF_THE_PRESENT.includes(method) ? null : at);
}
