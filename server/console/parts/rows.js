/** A table that scrolls sideways where it is wider than the window. */
import { html } from '../vendor/htm-preact.js';

/**
 * @param {{label: string, heads: string[], isHeadUnseen?: boolean, kind?: string, children?: any}} props
 * `children` are its bodies
 */
export function Rows({ label, heads, isHeadUnseen, kind = '', children }) {
  return html`<div class="rows-box" role="region" aria-label=${label} tabindex="0"><table class="rows ${kind}">
    <thead class=${isHeadUnseen ? 'unseen' : ''}><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>${children}</table></div>`;
}
