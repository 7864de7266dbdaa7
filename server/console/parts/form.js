/** What the user fills in before something is done, and the command line that does the same. */
import { html, useState } from '../vendor/htm-preact.js';
import { shellWord } from '../core/figures.js';
import { commandId } from '../core/rpc.js';
import { closeDialog, useOwnDialog } from './dialog.js';
import { Command, Problem } from './notice.js';

const textOf = (/** @type {Field} */ { param, value = '' }, /** @type {Given} */ given) => given[param] ?? value;

/** Whether nothing was given for any of the fields. @param {Field[]} fields @param {Given} given */
export const isEmpty = (fields, given) => fields.every((field) => !textOf(field, given));

/** Returns the params that were given. @param {Field[]} fields @param {Given} given */
export const paramsOf = (fields, given) =>
  Object.fromEntries(fields.filter((field) => textOf(field, given)).map((field) => [field.param, (field.of ?? String)(textOf(field, given))]));

/** Returns a command line with the fields that were given, or have to be. @param {string} command @param {Field[]} fields @param {Given} given */
export function commandOf(command, fields, given) {
  const words = fields.filter((field) => field.option !== undefined && (field.isRequired || textOf(field, given)))
    .map((field) => `${field.option} ${(textOf(field, given) ? shellWord(textOf(field, given)) : field.word ?? field.param.toUpperCase())}`.trim());
  return [command, ...words].join(' ');
}

/** @param {{fields: Field[], given: Given, set: (next: (given: Given) => Given) => void}} props */
export const Fields = ({ fields, given, set }) => html`${fields.map((field) => {
  const { label, param, option, word, value, of, isRequired, tag = 'input', choices, none, ...attributes } = field;
  const text = textOf(field, given);
  const onInput = (/** @type {any} */ { target }) => set((before) => ({ ...before, [param]: target.value }));
  const shared = { ...attributes, required: isRequired, value: text, onInput };
  return html`<label key=${param}>${label}${choices ? html`<select ...${shared}>${none && html`<option value="">${none}</option>`}
      ${choices.map((each) => html`<option key=${each} value=${each} selected=${each === text}>${each}</option>`)}</select>` : html`<${tag} ...${shared} />`}</label>`;
})}`;

/** @param {{command: string, where?: any}} props */
export const FromTerminal = ({ command, where }) => html`<p class="faint">The same from a terminal${where}: <${Command} command=${command} /></p>`;

/**
 * A form that makes one thing.
 * @param {{title: string, verb: string, fields: Field[], budget?: Field[], command: string, where?: any, send: (given: Given, id: string, dialog: {isShown: () => boolean, close: () => void}) => Promise<any>}} props `send`
 *   gets an id that stays the same when it is tried again, and the dialog that the form is in
 */
export function Form({ title, verb, fields, budget = [], command, where, send }) {
  const [given, set] = useState(/** @type {Given} */ ({}));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [id] = useState(() => commandId(verb.toLowerCase()));
  const dialog = useOwnDialog();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send(given, id, dialog).catch(setError);
  };
  return html`<form class="action" onSubmit=${submit}><h2 id="dialog-title">${title}</h2>
    <${Fields} fields=${fields} given=${given} set=${set} />
    ${budget.length > 0 && html`<fieldset class="budget"><legend>Budget (optional)</legend><${Fields} fields=${budget} given=${given} set=${set} /></fieldset>`}
    <${Problem} error=${error} />
    <${FromTerminal} command=${commandOf(command, [...fields, ...budget], given)} where=${where} />
    <div class="buttons"><button type="button" onClick=${closeDialog}>Leave it</button><button class="primary">${verb}</button></div></form>`;
}
