/** Tables that scroll sideways where they are wider than the window, and lists of facts. */
import { html } from '../vendor/htm-preact.js';

/** @param {{label: string, heads: string[], isHeadUnseen?: boolean, kind?: string, children?: any}} props `children` are its bodies */
export function Rows({ label, heads, isHeadUnseen, kind = '', children }) {
  return html`<div class="rows-box" role="region" aria-label=${label} tabindex="0"><table class="rows ${kind}">
    <thead class=${isHeadUnseen ? 'unseen' : ''}><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>${children}</table></div>`;
}

/** Names with what is known of each; those of which nothing is aren't shown. @param {{of: [string, any][]}} props */
export const Facts = ({ of }) => html`<dl class="figures">${of.map(([name, value]) => value !== undefined && value !== null && value !== '' && value !== false && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
