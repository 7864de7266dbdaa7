/** A row of values, of which the address has at most one. */
import { html } from '../vendor/htm-preact.js';
import { change } from '../core/route.js';

/**
 * @param {{name: string, values: string[], chosen?: string, isOptional?: boolean, others?: Record<string, undefined>}} props
 * `isOptional`: the chosen one can be taken back; `others`: what else in the address ends with another choice
 */
export function Choice({ name, values, chosen, isOptional, others }) {
  return html`<span class="choice" role="group" aria-label=${name}>${values.map((value) => html`<button class="chip" key=${value} aria-pressed=${value === chosen ? 'true' : 'false'}
    onClick=${() => change({ ...others, [name]: isOptional && value === chosen ? undefined : value })}>${value}</button>`)}</span>`;
}
