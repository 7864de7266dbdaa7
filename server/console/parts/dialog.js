/** The one dialog that may be open. */
import { html, useLayoutEffect, useRef, useState } from '../vendor/htm-preact.js';
import { signal } from '../vendor/signals-core.js';
import { useSignal } from '../core/use_signal.js';

/** What the dialog shows: a component without props; null: it is closed. */
const shown = signal(/** @type {(() => any) | null} */ (null));

export function openDialog(/** @type {() => any} */ content) {
  shown.value = () => content(); // another one each time
}

export function closeDialog() {
  shown.value = null;
}

/** Returns what asks and closes the dialog that the calling component is in, and no later one. */
export function useOwnDialog() {
  const [own] = useState(() => shown.peek());
  const isShown = () => shown.peek() === own;
  return { isShown, close: () => isShown() && closeDialog() };
}

const isOutside = (/** @type {MouseEvent} */ { clientX: x, clientY: y }, /** @type {DOMRect} */ { left, right, top, bottom }) =>
  x < left || x > right || y < top || y > bottom;

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
  // Text that is selected by dragging may end anywhere.
  const beganOutside = useRef(false);
  const isBeside = (/** @type {MouseEvent} */ event) =>
    element.current !== null && event.target === element.current && isOutside(event, element.current.getBoundingClientRect());
  const onPointerDown = (/** @type {MouseEvent} */ event) => { beganOutside.current = isBeside(event); };
  const onClick = (/** @type {MouseEvent} */ event) => beganOutside.current && isBeside(event) && closeDialog();
  return html`<dialog ref=${element} onCancel=${closeDialog} onPointerDown=${onPointerDown} onClick=${onClick} aria-labelledby="dialog-title">
    ${content && html`<${content} />`}</dialog>`;
}
