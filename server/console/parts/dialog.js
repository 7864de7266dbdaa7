/** The one dialog that may be open. */
import { html, useLayoutEffect, useRef } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';
import { useSignal } from '../core/use_signal.js';

/** What the dialog shows: a component without props; null: it is closed. */
const shown = signal(/** @type {(() => any) | null} */ (null));

export function openDialog(/** @type {() => any} */ content) {
  shown.value = content;
}

export function closeDialog() {
  shown.value = null;
}

/** Stands once in the shell. */
export function DialogPlace() {
  const content = useSignal(shown);
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const wasShown = useRef(false);
  // Before the next key: what is typed at once belongs into the dialog.
  useLayoutEffect(() => {
    // Only a dialog that opens takes the focus, so one that follows another is opened anew. One that closes
    // gives the focus back, if what had it is still there.
    element.current?.close();
    if (content) element.current?.showModal();
    else if (wasShown.current && document.activeElement === document.body) document.getElementById('main')?.focus();
    wasShown.current = content !== null;
  }, [content]);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === element.current && closeDialog();
  return html`<dialog ref=${element} onCancel=${closeDialog} onClick=${onClick} aria-labelledby="dialog-title">
    ${content && html`<${content} />`}</dialog>`;
}
