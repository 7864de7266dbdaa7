/** The one dialog that may be open. */
import { html, useLayoutEffect, useRef } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';
import { useSignal } from '../core/use_signal.js';

/** What the dialog shows: a component without props; null: it is closed. */
const shown = signal(/** @type {(() => any) | null} */ (null));
/** @type {Element | null} */
let opener = null;

export function openDialog(/** @type {() => any} */ content) {
  opener = document.activeElement;
  shown.value = content;
}

export function closeDialog() {
  shown.value = null;
  if (opener instanceof HTMLElement) opener.focus();
}

/** Stands once in the shell. */
export function DialogPlace() {
  const content = useSignal(shown);
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // Before the next key: what is typed at once belongs into the dialog.
  useLayoutEffect(() => {
    if (content) element.current?.showModal();
    else element.current?.close();
  }, [content]);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === element.current && closeDialog();
  return html`<dialog ref=${element} onCancel=${closeDialog} onClick=${onClick} aria-labelledby="dialog-title">
    ${content && html`<${content} />`}</dialog>`;
}
