/** What changed of one thing between two moments: its fields, before and after. */
import { html } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { usePresentQuery } from '../core/query.js';
import { Answer } from './notice.js';
import { Rows } from './rows.js';

/** Returns whether the service compares what a stream is about: a plan is part of its run. @param {string} stream */
export const hasFields = (stream) => has('state.diff') && !stream.startsWith('plan/');

export function Fields(/** @type {{stream: string, from: number, to: number}} */ { stream, from, to }) {
  const answer = usePresentQuery('state.diff', { stream, from: String(from), to: String(to) });
  return html`<${Answer} answer=${answer}>${({ change, fields }) => (change === null ? html`<p class="faint">Nothing that is remembered of it.</p>`
    : html`<${Rows} label="Fields of ${stream}, from #${from} to #${to}" heads=${['field', 'before', 'after']}><tbody>${fields.map((/** @type {any} */ each) => html`<tr key=${each.field}>
        <th scope="row">${each.field}</th><td class="changed">${each.from ?? ''}</td><td class="changed">${each.to ?? ''}</td></tr>`)}</tbody><//>`)}<//>`;
}
