/** Whether an event on screen is in the proven log. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { alarmAbout, isAlarm, proof, proveEvent } from './proof.js';
import { useSignal } from '../core/use_signal.js';

const TEXTS = /** @type {Record<string, [string, (why?: string) => string]>} */ ({
  proven: ['tone-good', () => '✔ Position, type, time, stream, actor and cause are as recorded. The data below is as the service shows it.'],
  mixed: ['tone-bad', (why) => `✖ The record has another ${why}.`],
  tiles: ['tone-bad', () => '✖ The record isn’t in the tree that was signed.'],
  later: ['faint', () => '… Recorded after the newest checkpoint; the next one will have it.'],
  missing: ['faint', (why) => `○ Not proven: ${why}.`],
});

export function EventProof(/** @type {{event: any}} */ { event }) {
  const { verdict, size } = useSignal(proof);
  const [found, setFound] = useState(/** @type {EventVerdict | null} */ (null));
  useEffect(() => {
    let isShown = true;
    // What was found wrong stays.
    if (has('audit.checkpoint') && !(found && isAlarm(verdict))) {
      proveEvent(event).then((now) => {
        if (isShown) setFound(now);
        alarmAbout(event, now);
      });
    }
    return () => { isShown = false; };
  }, [event.position, verdict, size]);
  if (!found) return null;
  const [tone, text] = TEXTS[found.verdict];
  return html`<p class="event-proof ${tone}">${text(found.why)}</p>`;
}
