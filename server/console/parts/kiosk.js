/**
 * One page for a screen on the wall: no navigation, large type, dimmed at night. It never asks
 * anything and offers nothing to do; a viewer's token is enough.
 */
import { html, useEffect } from '../vendor/htm-preact.js';
import { connection } from '../core/live.js';
import { ageText, now } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { PauseNotice } from './pause_notice.js';

const NIGHT_ENDS = 7;
const NIGHT_BEGINS = 21;

export function Kiosk(/** @type {{children: any}} */ { children }) {
  const { state, since } = useSignal(connection);
  const present = useSignal(now);
  const hour = new Date(present).getHours();
  const isNight = hour < NIGHT_ENDS || hour >= NIGHT_BEGINS;
  useEffect(() => {
    document.documentElement.classList.add('kiosk');
    return () => document.documentElement.classList.remove('kiosk');
  }, []);
  return html`<div class="kiosk-page ${isNight ? 'dimmed' : ''} ${state === 'live' ? '' : 'stale'}">
    <p class="connection">${state === 'live' ? html`<span class="tone-good" role="status">● live</span>` : html`<span class="tone-bad" role="status">■ no connection</span> <span class="tone-bad">for ${ageText(present - since)}</span>`}</p>
    <main id="main"><${PauseNotice} isShownOnly=${true} />${children}</main></div>`;
}
