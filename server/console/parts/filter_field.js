/** A text by which a page is filtered. It counts once Enter is pressed, or the field is left. */
import { html, useState } from '../vendor/htm-preact.js';

/**
 * @param {{label: string, hint: string, value?: string, isWide?: boolean, lengthMax?: number, isNumber?: boolean,
 *   onChange: (text: string) => void}} props
 */
export function FilterField({ label, hint, value = '', isWide, lengthMax, isNumber, onChange }) {
  // What is being typed: events draw the page again meanwhile, and would put the former text back.
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  return html`<input type="search" class="filter ${isWide ? 'wide' : ''}" aria-label=${label} placeholder=${hint} value=${draft ?? value}
    maxlength=${lengthMax} inputmode=${isNumber ? 'numeric' : undefined} onInput=${(/** @type {any} */ event) => setDraft(event.target.value)}
    onChange=${(/** @type {any} */ event) => {
      setDraft(null);
      onChange(event.target.value.trim());
    }} />`;
}
