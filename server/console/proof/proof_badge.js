/** Whether the log is proven: on every page, and over all of it if it is found to be forged. */
import { html, useEffect } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { connection, connectionState } from '../core/live.js';
import { check, hasKept, isAlarm, proof } from './proof.js';
import { WORDS } from './proof_words.js';
import { hrefOf } from '../core/route.js';
import { useSignal } from '../core/use_signal.js';

const CHECK_MS = 30_000;

/** Checks now, every half a minute while somebody looks and the log grows, and when the service is back. */
function useChecks(/** @type {boolean} */ isWanted) {
  const state = useSignal(connectionState);
  useEffect(() => {
    if (!isWanted || state !== 'live') return undefined;
    check();
    const due = () => {
      const { verdict, size = 0 } = proof.peek();
      if (!document.hidden && (verdict !== 'proven' || connection.peek().position > size)) check();
    };
    const timer = setInterval(due, CHECK_MS);
    return () => clearInterval(timer);
  }, [state]);
}

export function ProofBadge() {
  const found = useSignal(proof);
  // A service that doesn’t offer it any more isn’t one that never did.
  const isWanted = has('audit.checkpoint') || hasKept();
  useChecks(isWanted);
  const words = WORDS[found.verdict];
  const sentence = words.sentence(found);
  const isForged = isAlarm(found.verdict);
  useEffect(() => { document.documentElement.classList.toggle('forged', isForged); }, [isForged]);
  if (!isWanted) return null;
  return html`<a class="proof-badge ${words.tone}" href=${hrefOf('audit')} title=${sentence}>${words.mark} <span>${words.short(found)}</span></a>
    ${isForged && html`<p class="forgery" role="alert"><b>${words.mark} This log can’t be trusted.</b> ${sentence} <a href=${hrefOf('audit')}>What to do</a></p>`}`;
}
