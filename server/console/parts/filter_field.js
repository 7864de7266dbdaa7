/** By what a page is filtered: a text, or one of some values that the address has. */
import { html, useState } from '../vendor/htm-preact.js';
import { change } from '../core/route.js';

/**
 * A text. It counts once Enter is pressed, or the field is left.
 * @param {{name: string, label?: string, hint: string, value?: string, isWide?: boolean, lengthMax?: number, isNumber?: boolean}} props
 */
export function FilterField({ name, label = name, hint, value = '', isWide, lengthMax, isNumber }) {
  // What is being typed: events draw the page again meanwhile, and would put the former text back.
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  return html`<input type="search" class="filter ${isWide ? 'wide' : ''}" aria-label=${label} placeholder=${hint} value=${draft ?? value}
    maxlength=${lengthMax} inputmode=${isNumber ? 'numeric' : undefined} onInput=${(event) => setDraft(event.target.value)}
    onChange=${(event) => {
      setDraft(null);
      const text = event.target.value.trim();
      change({ [name]: isNumber ? text.replace(/\D/g, '') : text });
    }} />`;
}

/**
 * A row of values.
 * @param {{name: string, values: string[], chosen?: string, isOptional?: boolean, others?: Record<string, undefined>}} props
 * `isOptional`: the chosen one can be taken back; `others`: what else in the address ends with another choice
 */
export function Choice({ name, values, chosen, isOptional, others }) {
  return html`<span class="choice" role="group" aria-label=${name}>${values.map((value) => html`<button class="chip" key=${value} aria-pressed=${value === chosen}
    onClick=${() => change({ ...others, [name]: isOptional && value === chosen ? undefined : value })}>${value}</button>`)}</span>`;
}
