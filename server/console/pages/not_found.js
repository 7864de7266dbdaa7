import { html } from '../vendor/htm-preact.js';
import { hrefOf } from '../core/route.js';

export function NotFound() {
  return html`<div class="empty"><p>The console has no such page.</p><a href=${hrefOf('inbox')}>What needs you</a></div>`;
}
