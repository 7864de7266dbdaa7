/** Lets the pointer choose a part of the time, across rows with a `.fall-track`. Keys have buttons beside it. */
import { html, useRef, useState } from '../vendor/htm-preact.js';

/** A pointer that moved by less has pressed what it is on. */
const DRAG_PX_MIN = 5;

/**
 * @param {{onChoose: (one: number, other: number) => void, children?: any, [prop: string]: any}} props
 * `onChoose` gets two places in any order, 0 to 1 across a track, or beyond its edges
 */
export function Brush({ onChoose, children, ...props }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [drawn, setDrawn] = useState(/** @type {{begin: number, end: number} | null} */ (null));
  const wasDrawn = useRef(false);
  const placeOf = (/** @type {number} */ x) => {
    const track = box.current?.querySelector('.fall-track')?.getBoundingClientRect();
    return track && track.width > 0 ? (x - track.left) / track.width : 0;
  };
  const onDown = (/** @type {PointerEvent} */ event) => {
    wasDrawn.current = false;
    const isOnTrack = /** @type {Element} */ (event.target).closest('.fall-track');
    if (event.button === 0 && event.pointerType === 'mouse' && isOnTrack) setDrawn({ begin: event.clientX, end: event.clientX });
  };
  const onMove = (/** @type {PointerEvent} */ event) => {
    if (!drawn) return;
    // From now on also beyond the edge. Not before: a click would no longer be one on the bar.
    if (Math.abs(event.clientX - drawn.begin) >= DRAG_PX_MIN) box.current?.setPointerCapture(event.pointerId);
    setDrawn({ ...drawn, end: event.clientX });
  };
  const onUp = (/** @type {PointerEvent} */ event) => {
    if (!drawn) return;
    setDrawn(null);
    wasDrawn.current = Math.abs(event.clientX - drawn.begin) >= DRAG_PX_MIN;
    if (wasDrawn.current) onChoose(placeOf(drawn.begin), placeOf(event.clientX));
  };
  // The end of a choice isn't a click on the bar where it ends.
  const onClick = (/** @type {MouseEvent} */ event) => wasDrawn.current && event.preventDefault();
  const left = box.current?.getBoundingClientRect().left ?? 0;
  return html`<div ...${props} ref=${box} onPointerDown=${onDown} onPointerMove=${onMove} onPointerUp=${onUp} onPointerLeave=${() => setDrawn(null)} onClick=${onClick}>${children}
    ${drawn && html`<i class="brush" style=${{ left: `${Math.min(drawn.begin, drawn.end) - left}px`, width: `${Math.abs(drawn.end - drawn.begin)}px` }}></i>`}</div>`;
}
