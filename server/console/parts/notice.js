/** Errors, empty states, and commands to copy. */
import { html, useState } from '../vendor/htm-preact.js';

const COPIED_MS = 1500;
const REFUSED_MS = 5000;

/** A command of the command line with a button that copies it. @param {{command: string}} props */
export function Command({ command }) {
  const [shown, setShown] = useState('copy');
  const show = (/** @type {string} */ text, /** @type {number} */ ms) => {
    setShown(text);
    setTimeout(() => setShown('copy'), ms);
  };
  // A browser may be set, or its window be in a state, so that it isn't permitted.
  const copy = () => navigator.clipboard.writeText(command)
    .then(() => show('copied', COPIED_MS), () => show('the browser doesn\u2019t permit it: select the text', REFUSED_MS));
  return html`<span class="command"><code>${command}</code>
    ${navigator.clipboard && html`<button class="quiet" onClick=${copy} aria-label="Copy ${command}">${shown}</button>`}</span>`;
}

export function Commands(/** @type {{commands?: string[]}} */ { commands = [] }) {
  if (commands.length === 0) return null;
  return html`<ul class="commands">${commands.map((command) => html`<li><${Command} command=${command} /></li>`)}</ul>`;
}

/** A refusal: its code, its sentence and what to do next. @param {{error?: any}} props */
export function Problem({ error }) {
  if (!error) return null;
  return html`<div class="problem" role="alert"><b>${error.code}</b> ${error.message}
    <${Commands} commands=${error.nextCommands} /></div>`;
}

/** Says that there is nothing, and what would fill it. @param {{text: string, command?: string}} props */
export const Empty = ({ text, command }) => html`<div class="empty"><p>${text}</p>${command && html`<${Command} command=${command} />`}</div>`;

/** Stands where an answer will be. */
export const Asking = () => html`<p class="loading" aria-busy="true">asking …</p>`;

/**
 * The answer of a query: `children` gets it once it is there; a later failure is shown above it.
 * @param {{answer: {data?: any, error?: any}, children: (data: any) => any}} props
 */
export function Answer({ answer, children }) {
  const { data, error } = answer;
  return html`<${Problem} error=${error} />
    ${data === undefined && !error && html`<${Asking} />`}
    ${data !== undefined && children(data)}`;
}
